"""What each node is started with, against golden files (`GOLDEN=write` writes them anew); who is pinned where."""

import os

import pytest
from repository import DATA
from rocketmq_view import SYSTEM, view_of

from chaos.core.errors import UsageError
from chaos.storage.runinfo import NodeInfo
from cluster.systems._shared.routing import pinned_node
from cluster.systems.rocketmq import config
from cluster.systems.rocketmq.launch import properties

GOLDEN = DATA / "golden"


def launch(name, view):
    node = next(node for node in view.nodes if node.name == name)
    return SYSTEM.launch(node, f"/nodes/{name}", "/artefacts", view)


MODES = {
    "rocketmq": {},
    "rocketmq-jraft": {"cluster__controllerType": "jRaft"},
    "rocketmq-in-namesrv": {"cluster__controllerIn": "namesrv"},
    "rocketmq-jraft-in-namesrv": {"cluster__controllerType": "jRaft", "cluster__controllerIn": "namesrv"},
    "rocketmq-five": {"cluster__brokers": "5", "cluster__namesrvs": "2"},
    "rocketmq-master-slave": {"cluster__mode": "master-slave"},
    "rocketmq-master-slave-async": {"cluster__mode": "master-slave", "brokerRole": "ASYNC_MASTER"},
    "rocketmq-dledger": {"cluster__mode": "dledger"},
}


def golden(path, text):
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", ["n1", "c2", "b3"])
def test_golden(name):
    launched = launch(name, view_of())
    text = "\n".join(launched.argv) + "\n\n" + launched.files["node.conf"].decode()
    golden(GOLDEN / f"rocketmq-{name}.txt", text)


@pytest.mark.parametrize("mode", MODES)
def test_golden_modes(mode):
    """Of each mode what starts each node, when that is said, and what is in its file."""
    view = view_of(**MODES[mode])
    parts = []
    for node in view.nodes:
        launched = launch(node.name, view)
        main = launched.argv[launched.argv.index("-c") - 1]
        conf = launched.files["node.conf"].decode()
        parts.append(f"## {node.name} {node.role}: {main}, ready: {launched.ready_pattern}\n{conf}")
    golden(GOLDEN / f"{mode}-all.txt", "\n".join(parts))


def conf_of(name, view):
    return dict(line.split("=", 1) for line in launch(name, view).files["node.conf"].decode().splitlines())


def test_jraft_addresses_are_matched_by_position():
    view = view_of(cluster__controllerType="jRaft")
    for node in view.of_role("controller"):
        conf = conf_of(node.name, view)
        members = conf["jRaftInitConf"].split(",")
        rpc = conf["jRaftControllerRPCAddr"].split(",")[members.index(conf["jRaftServerId"])]
        assert rpc == f"{node.address}:{config.CONTROLLER_PORT}"


def test_one_master_and_its_slaves():
    view = view_of(cluster__mode="master-slave", brokerRole="ASYNC_MASTER")
    confs = [conf_of(node.name, view) for node in view.of_role("broker")]
    assert [(conf["brokerId"], conf["brokerRole"]) for conf in confs] == [
        ("0", "ASYNC_MASTER"),
        ("1", "SLAVE"),
        ("2", "SLAVE"),
    ]


def test_a_dledger_broker_makes_its_id_of_the_number_in_its_name():
    view = view_of(cluster__mode="dledger")
    for node in view.of_role("broker"):
        conf = conf_of(node.name, view)
        assert conf["dLegerSelfId"][1:].isdecimal()
        assert f"{conf['dLegerSelfId']}-{node.address}:{config.DLEDGER_PORT}" in conf["dLegerPeers"].split(";")
        assert not {"brokerId", "brokerRole", "enableControllerMode"} & set(conf)


def test_every_node_knows_every_name_server():
    view = view_of(cluster__controllerIn="namesrv")
    servers = ";".join(f"{node.address}:{config.NAMESRV_PORT}" for node in view.of_role("controller"))
    assert {conf_of(node.name, view)["namesrvAddr"] for node in view.of_role("broker")} == {servers}
    assert conf_of("n2", view_of(cluster__namesrvs="2"))["listenPort"] == str(config.NAMESRV_PORT)


def test_topology():
    assert [(spec.name, spec.role) for spec in SYSTEM.topology({})] == [
        ("n1", "namesrv"),
        ("c1", "controller"),
        ("c2", "controller"),
        ("c3", "controller"),
        ("b1", "broker"),
        ("b2", "broker"),
        ("b3", "broker"),
    ]


def test_settings_reach_their_component_only():
    view = view_of(minInSyncReplicas="2", enableElectUncleanMaster="true", jvm__broker__Xmx="300m")
    conf = {name: launch(name, view).files["node.conf"].decode().splitlines() for name in ("n1", "c1", "b1")}
    assert "minInSyncReplicas=2" in conf["b1"]
    assert "minInSyncReplicas=2" not in conf["n1"] + conf["c1"]
    assert "enableElectUncleanMaster=true" in conf["c1"]
    assert "-Xmx300m" in launch("b2", view).argv
    assert "-Xmx300m" not in launch("c1", view).argv


def test_properties_keep_backslashes():
    assert properties({"b": "C:\\x", "a": "1"}) == b"a=1\nb=C:\\\\x\n"


def test_every_node_writes_its_log_and_temporary_files_at_home():
    for node in view_of().nodes:
        launched = launch(node.name, view_of())
        assert f"-Duser.home=/nodes/{node.name}" in launched.argv
        assert b"${user.home}/node.log" in launched.files["logback.xml"]
        assert "tmp/.keep" in launched.files
        assert "node.log" in launched.logs
        assert launched.env["HOME"] == f"/nodes/{node.name}"


def test_a_role_that_is_not_there():
    with pytest.raises(UsageError, match="no role proxy"):
        SYSTEM.launch(NodeInfo(name="p1", role="proxy", address="198.18.0.99"), "/h", "/a", view_of())


def test_the_topic_is_not_the_cluster():
    """A broker keeps a topic of its own under the cluster's name and refuses to make another."""
    assert f"brokerClusterName={view_of().mark}\n" not in launch("b1", view_of()).files["node.conf"].decode()


@pytest.mark.parametrize(
    ("routing", "clients", "pinned"),
    [
        ("follow", 8, 0),
        ("pinned", 8, 8),
        ("mixed", 8, 3),
        ("mixed", 16, 6),
        ("mixed", 1, 0),
        ("mixed", 2, 1),
        ("mixed", 4, 2),
        ("mixed", 0, 0),
    ],
)
def test_how_many_are_pinned(routing, clients, pinned):
    flags = SYSTEM.pinned({"client.routing": routing}, clients)
    assert (len(flags), sum(flags)) == (clients, pinned)
    assert flags == sorted(flags)


def test_pinned_clients_take_the_brokers_in_turn():
    names = ["b1", "b2", "b3"]
    assert [pinned_node("mixed", n, 8, names) for n in range(8)] == [None] * 5 + names
    assert [pinned_node("pinned", n, 4, names) for n in range(4)] == [*names, "b1"]
    assert [pinned_node("follow", n, 4, names) for n in range(4)] == [None] * 4


@pytest.mark.parametrize("number", [-1, 8, 100])
@pytest.mark.parametrize("routing", ["mixed", "pinned"])
def test_whoever_is_no_client_follows_the_route(routing, number):
    assert pinned_node(routing, number, 8, ["b1", "b2", "b3"]) is None
