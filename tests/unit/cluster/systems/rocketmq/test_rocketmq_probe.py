"""Route, roles and readiness from answers of real nodes (5.5.0)."""

import pytest
from rocketmq_view import view_of

from chaos.core.client import Definite
from chaos.core.events import Claim
from chaos.storage.runinfo import Subject
from cluster.systems._shared.routing import Route, Served
from cluster.systems.rocketmq.dledger import parse_term
from cluster.systems.rocketmq.group import Group, parse_connected, parse_group
from cluster.systems.rocketmq.launch import subjects
from cluster.systems.rocketmq.leadership_claim import LeadershipClaim
from cluster.systems.rocketmq.probe import of_broker, of_controller
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


def test_route():
    assert parse(answer(ROUTE), NAMES) == Route((Served("b3", ("b2", "b1")),))


def test_route_without_a_master():
    assert parse(answer(ROUTE.replace(b'"0":', b'"4":')), NAMES) == Route((Served(None, ("b2", "b1", "b3")),))


def test_route_with_addresses_of_nobody():
    assert parse(answer(ROUTE), {"198.18.0.15:10911": "b2"}) == Route((Served(None, ("b2",)),))


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


@pytest.mark.parametrize(
    ("broker", "members", "claims"),
    [
        (LeadershipClaim(True, 5), None, (Claim(subject="g0", leader="b1", epoch=5),)),
        (LeadershipClaim(True, 1), ("b1", "b2"), (Claim(subject="g0", leader="b1", epoch=1, members=("b1", "b2")),)),
        (LeadershipClaim(False, 5), None, ()),
        (LeadershipClaim(False, 5, "b2"), None, (Claim(subject="g0", leader="b2"),)),
    ],
    ids=["master", "classic master", "slave", "slave that knows its leader"],
)
def test_what_a_broker_claims(broker, members, claims):
    assert of_broker("b1", broker, members) == claims


def test_what_a_leading_controller_says():
    own = Claim(subject="controller", leader="c1", epoch=4)
    assert of_controller("c1", 4, Group()) == (own,), "it could not be asked for the group"
    about = Claim(subject="g0", leader="b2", epoch=2, members=("b2", "b3"), members_epoch=9)
    assert of_controller("c1", 4, Group("b2", ("b2", "b3"), 9, 2)) == (own, about)


def test_subjects():
    assert subjects(view_of().settings) == (
        Subject(name="g0", nodes=("b1", "b2", "b3")),
        Subject(name="controller", kind="controller", nodes=("c1", "c2", "c3")),
    )
    assert [one.name for one in subjects(CLASSIC.settings)] == ["g0"]


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
