"""How a member or a learner is started. Pure."""

from importlib.resources import files
from typing import Final

from chaos.storage.runinfo import NodeInfo
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch
from cluster.systems.etcd.gateway import CLIENT_PORT, PEER_PORT
from cluster.systems.etcd.settings import FLAGS

MEMBER: Final = "member"
LEARNER: Final = "learner"
GOFAIL_PORT: Final = 22381
_JOIN: Final = "join.py"


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """One that has data goes on with it, whatever else it is told of the cluster; a new learner has itself added."""
    learns = node.role == LEARNER
    others = view.nodes if learns else view.of_role(MEMBER)
    own, peer = f"http://{node.address}:{CLIENT_PORT}", f"http://{node.address}:{PEER_PORT}"
    flags = {
        "name": node.name,
        "data-dir": f"{home}/data",
        "listen-client-urls": own,
        "advertise-client-urls": own,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": ",".join(f"{each.name}=http://{each.address}:{PEER_PORT}" for each in others),
        "initial-cluster-state": "existing" if learns else "new",
        "initial-cluster-token": view.mark,
        "logger": "zap",
        **{name: view.settings[name] for name in FLAGS},
    }
    argv = (f"{artefacts}/etcd", *(f"--{name}={value}" for name, value in flags.items()))
    if learns:
        asked = (f"http://{member.address}:{CLIENT_PORT}" for member in view.of_role(MEMBER))
        argv = ("python3", "-I", "-S", f"{home}/{_JOIN}", peer, f"{home}/data", *asked, "--", *argv)
    return Launch(
        argv=argv,
        env={"GOMAXPROCS": view.settings["process.GOMAXPROCS"], "HOME": home, **_failpoints(node, view)},
        files={_JOIN: files(__package__).joinpath(_JOIN).read_bytes()} if learns else {},
        ready_pattern="serving peer traffic",  # clients are served once there is a leader, which may need others
        logs=(STDOUT,),
        data=("data",),
    )


def _failpoints(node: NodeInfo, view: ClusterView) -> dict[str, str]:
    """The variables of a program with failpoints: where it serves them, and which are on from the start."""
    if view.settings["build.gofail"] != "true":
        return {}
    on = view.settings["gofail.failpoints"]
    return {"GOFAIL_HTTP": f"{node.address}:{GOFAIL_PORT}", **({"GOFAIL_FAILPOINTS": on} if on else {})}
