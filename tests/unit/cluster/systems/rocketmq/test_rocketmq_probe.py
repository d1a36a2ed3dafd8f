"""Route, roles and readiness from answers of real nodes (5.5.0)."""

import pytest
from rocketmq_view import view_of

from chaos.core.client import Definite
from chaos.core.events import Observation
from cluster.systems._shared.routing import Route
from cluster.systems.rocketmq.dledger import parse_term
from cluster.systems.rocketmq.group import Group, leadership, not_ready, parse_connected, parse_group
from cluster.systems.rocketmq.protocol import Answer, ProtocolError
from cluster.systems.rocketmq.route import parse

NAMES = {"198.18.0.14:10911": "b1", "198.18.0.15:10911": "b2", "198.18.0.16:10911": "b3"}
ROUTE = (
    b'{"brokerDatas":[{"brokerAddrs":{"0":"198.18.0.16:10911","2":"198.18.0.15:10911","3":"198.18.0.14:10911"},'
    b'"brokerName":"g0","cluster":"chaos-cluster","enableActingMaster":false}],"filterServerTable":{},"queueDatas":'
    b'[{"brokerName":"g0","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}'
)
GROUP = (
    b'{"replicasInfoTable":{"g0":{"inSyncReplicas":[{"alive":true,"brokerAddress":"198.18.0.16:10911","brokerId":1,'
    b'"brokerName":"g0"},{"alive":true,"brokerAddress":"198.18.0.14:10911","brokerId":3,"brokerName":"g0"}],'
    b'"masterAddress":"198.18.0.16:10911","masterBrokerId":1,"masterEpoch":1,"notInSyncReplicas":[{"alive":true,'
    b'"brokerAddress":"198.18.0.15:10911","brokerId":2,"brokerName":"g0"}],"syncStateSetEpoch":4}}}'
)


def answer(body=b"", code=0):
    return Answer(code, 1, True, "", {}, body)


def seen(name, **facts):
    return Observation(time_ns=2, asked_ns=1, node=name, **{"alive": True} | facts)


def test_route():
    assert parse(answer(ROUTE), NAMES) == Route("b3", ("b2", "b1"))


def test_route_without_a_master():
    assert parse(answer(ROUTE.replace(b'"0":', b'"4":')), NAMES) == Route(None, ("b2", "b1", "b3"))


def test_route_with_addresses_of_nobody():
    assert parse(answer(ROUTE), {"198.18.0.15:10911": "b2"}) == Route(None, ("b2",))


@pytest.mark.parametrize("bad", [answer(b"", 17), answer(b"{"), answer(b"{}")])
def test_no_route(bad):
    assert parse(bad, NAMES) is None


def test_sync_state_set_in_node_names():
    assert parse_group(answer(GROUP), NAMES) == Group("b3", ("b1", "b3"), 4, 1)


def test_a_group_without_master_or_not_registered_yet():
    assert parse_group(answer(GROUP.replace(b'"masterAddress":"198.18.0.16:10911",', b"")), NAMES).master is None
    assert parse_group(answer(b'{"replicasInfoTable":{}}'), NAMES) == Group()


def test_a_controller_that_does_not_lead_any_more():
    with pytest.raises(Definite, match="CONTROLLER_NOT_LEADER"):
        parse_group(answer(b"", 2007), NAMES)


def test_a_group_that_does_not_parse():
    with pytest.raises(ProtocolError):
        parse_group(answer(b"[]"), NAMES)


@pytest.mark.parametrize(
    ("body", "term"), [(b'{"code":403,"term":7}', 7), (b'{"code":200,"term":-1}', None), (b"", None)]
)
def test_term_in_the_refusal(body, term):
    assert parse_term(answer(body, 200)) == term


def test_leadership_by_the_active_controller():
    latest = {
        "c1": seen("c1", role="leader", epoch=3, master="b1", sync_state_set=("b1", "b2")),
        "c2": seen("c2", role="leader", epoch=4, master="b2", sync_state_set=("b2", "b3")),
        "c3": seen("c3", role="leader", epoch=9, master="b3", alive=False),
        "b1": seen("b1", role="master", epoch=1),
        "b2": seen("b2", role="master", epoch=2),
    }
    found = leadership(latest, view_of())
    assert (found.master, found.epoch, found.controller, found.term) == ("b2", 2, "c2", 4)
    assert found.sync_state_set == ("b2", "b3")


def test_leadership_without_a_controller_is_the_newest_claim():
    latest = {"b1": seen("b1", role="master", epoch=5), "b2": seen("b2", role="master", epoch=2)}
    found = leadership(latest, view_of())
    assert (found.master, found.epoch, found.controller, found.term) == ("b1", 5, None, None)


def test_leadership_of_nobody():
    assert leadership({"b1": seen("b1", role="slave")}, view_of()).master is None


READY = {
    "n1": seen("n1"),
    "c1": seen("c1", role="leader", epoch=1, master="b3", sync_state_set=("b1", "b2", "b3")),
    "c2": seen("c2", role="follower", epoch=1),
    "c3": seen("c3", role="follower", epoch=1),
}


def test_ready():
    assert not_ready(READY, view_of()) is None


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"n1": seen("n1", alive=False, error="connect: refused")}, "n1 does not answer: connect: refused"),
        ({"c2": seen("c2", alive=False, error="x")}, "c2 does not answer: x"),
        ({"c1": seen("c1", role="follower")}, "0 controllers lead instead of one"),
        ({"c2": seen("c2", role="leader")}, "2 controllers lead instead of one"),
        ({"c1": seen("c1", role="leader")}, "c1 knows no master"),
        (
            {"c1": seen("c1", role="leader", master="b3", sync_state_set=("b3",))},
            "not in the SyncStateSet: b1, b2",
        ),
    ],
)
def testnot_ready(change, missing):
    assert not_ready({**READY, **change}, view_of()) == missing


CLASSIC, RAFT = view_of(cluster__mode="master-slave"), view_of(cluster__mode="dledger")
HA_STATUS = (
    b'{"haClientRuntimeInfo":{"lastReadTimestamp":0},"haConnectionInfo":[{"addr":"198.18.0.12:41234","diff":0,"inSync":'
    b'true,"slaveAckOffset":9},{"addr":"198.18.0.13:41236","diff":9,"inSync":false,"slaveAckOffset":0}],'
    b'"inSyncSlaveNums":1,"master":true,"masterCommitLogMaxOffset":9}'
)


def test_slaves_of_a_classic_master():
    assert parse_connected(answer(HA_STATUS), CLASSIC.of_role("broker")) == ("b2",)
    with pytest.raises(Definite):
        parse_connected(answer(b"", 1), ())
    with pytest.raises(ProtocolError):
        parse_connected(answer(b"[]"), ())


def test_a_classic_master_names_who_is_with_it():
    latest = {
        "b1": seen("b1", role="master", epoch=1, sync_state_set=("b1", "b3")),
        "b2": seen("b2", role="slave"),
        "b3": seen("b3", role="slave"),
    }
    found = leadership(latest, CLASSIC)
    assert (found.master, found.epoch, found.controller, found.sync_state_set) == ("b1", 1, None, ("b1", "b3"))
    assert not_ready({"n1": seen("n1"), **latest}, CLASSIC) == "not with master b1 yet: b2"


def test_brokers_of_a_dledger_group_say_whom_they_follow():
    latest = {
        "b1": seen("b1", role="slave", master="b2"),
        "b2": seen("b2", role="master", epoch=4, master="b2"),
        "b3": seen("b3", role="slave", master="b1"),
    }
    found = leadership(latest, RAFT)
    assert (found.master, found.epoch, found.sync_state_set) == ("b2", 4, ("b1", "b2"))
    assert not_ready(latest, RAFT) == "not with master b2 yet: b3"
    assert not_ready({**latest, "b3": seen("b3", role="slave", master="b2")}, RAFT) is None
    assert not_ready({**latest, "b2": seen("b2", role="slave")}, RAFT) == "0 brokers are master instead of one"
    assert not_ready({**latest, "n1": seen("n1", alive=False, error="x")}, RAFT) == "n1 does not answer: x"


def test_nobody_leads_a_dledger_group():
    assert leadership({"b1": seen("b1", role="slave", master="b2")}, RAFT).master is None
