"""What ties each node to its address, its folder and the others, by mode: pure.

The keys are those that a user may not set (``settings``); what a user sets comes on top. Does not start a node.
"""

from collections.abc import Sequence
from typing import Final

from chaos.storage.runinfo import NodeInfo
from cluster.system import ClusterView
from cluster.systems.rocketmq import topology

NAMESRV_PORT: Final = 9876
CONTROLLER_PORT: Final = 9877
BROKER_PORT: Final = 10911
HA_PORT: Final = 10912
DLEDGER_PORT: Final = 40911
"""Where the brokers of mode dledger replicate their log."""
JRAFT_PORT: Final = 9880
"""Where controllers of type jRaft agree; clients and brokers ask ``CONTROLLER_PORT``."""
GROUP: Final = "g0"
"""Name of the one replica group (RocketMQ's ``brokerName``)."""
CONTROLLER_GROUP: Final = "controllers"
CONTROLLERS: Final = "controller"
"""What the controllers are called in observations."""

PORTS: Final = {"namesrv": NAMESRV_PORT, "controller": CONTROLLER_PORT, "broker": BROKER_PORT}


def addresses(view: ClusterView, role: str) -> list[str]:
    """``address:port`` of every node of a role, in order."""
    return at(view.of_role(role), PORTS[role])


def at(nodes: Sequence[NodeInfo], port: int) -> list[str]:
    """``address:port`` of these nodes."""
    return [f"{node.address}:{port}" for node in nodes]


def name_servers(view: ClusterView) -> tuple[NodeInfo, ...]:
    """The nodes that answer as name servers: those that hold the controllers, if controllers run inside them."""
    return view.of_role("controller" if topology.of(view.settings).controllers_inside else "namesrv")


def wiring(node: NodeInfo, home: str, view: ClusterView) -> dict[str, str]:
    """The keys that tie one node to the cluster."""
    if node.role == "broker":
        return _broker(node, home, view)
    values = {"bindAddress": node.address}
    if node in name_servers(view):
        values["listenPort"] = str(NAMESRV_PORT)
    if node.role == "controller":
        values |= _controller(node, home, view)
    return values


def _broker(node: NodeInfo, home: str, view: ClusterView) -> dict[str, str]:
    wanted = topology.of(view.settings)
    values = {
        "bindAddress": node.address,
        "brokerClusterName": "chaos-cluster",  # every cluster's name is a topic of its own: not a run's
        "brokerIP1": node.address,
        "brokerIP2": node.address,
        "brokerName": GROUP,
        "haListenPort": str(HA_PORT),
        "listenPort": str(BROKER_PORT),
        "namesrvAddr": ";".join(at(name_servers(view), NAMESRV_PORT)),
        "storePathCommitLog": f"{home}/store/commitlog",
        "storePathRootDir": f"{home}/store",
    }
    brokers = view.of_role("broker")
    if wanted.mode == "controller":
        return values | {
            "brokerId": "-1",  # the controller gives it one
            "brokerRole": "SLAVE",
            "controllerAddr": ";".join(addresses(view, "controller")),
            "enableControllerMode": "true",
        }
    if wanted.mode == "master-slave":
        position = brokers.index(node)
        # The first is master for ever; its role may be set, so it comes with the settings.
        return values | {"brokerId": str(position)} | ({"brokerRole": "SLAVE"} if position else {})
    return values | {
        "dLegerGroup": GROUP,
        "dLegerPeers": _peers(brokers, DLEDGER_PORT),
        "dLegerSelfId": node.name,  # a letter and a number: a broker makes its id of the number
        "enableDLegerCommitLog": "true",
    }


def _peers(nodes: Sequence[NodeInfo], port: int) -> str:
    # Peer ids must not contain a dash: it separates id and address.
    return ";".join(f"{peer.name}-{peer.address}:{port}" for peer in nodes)


def _controller(node: NodeInfo, home: str, view: ClusterView) -> dict[str, str]:
    wanted, peers = topology.of(view.settings), view.of_role("controller")
    values = {
        "configStorePath": f"{home}/controller.properties",
        "controllerStorePath": f"{home}/store",
        "controllerType": wanted.controller_type,
    }
    if wanted.controllers_inside:
        values["enableControllerInNamesrv"] = "true"
    if wanted.controller_type == "DLedger":
        return values | {
            "controllerDLegerGroup": CONTROLLER_GROUP,
            "controllerDLegerPeers": _peers(peers, CONTROLLER_PORT),
            "controllerDLegerSelfId": node.name,
        }
    return values | {
        # Both lists in one order: they are matched by position.
        "jRaftControllerRPCAddr": ",".join(at(peers, CONTROLLER_PORT)),
        "jRaftGroupId": CONTROLLER_GROUP,
        "jRaftInitConf": ",".join(at(peers, JRAFT_PORT)),
        "jRaftServerId": f"{node.address}:{JRAFT_PORT}",
    }
