"""What observers write down of a node's answers, the route in the metadata, and readiness against scripted nodes."""

import asyncio
import contextlib

import pytest
from minimq_view import view_of

from chaos.core.errors import DeployError
from chaos.core.events import Claim
from cluster.systems._shared.routing import Route, Served
from cluster.systems.minimq.clients.probe import MiniMQProbe, of_broker, of_controller
from cluster.systems.minimq.clients.route import route_of
from cluster.systems.minimq.clients.rpc import Link
from cluster.systems.minimq.protocol.broker_messages import ReplicaStatus
from cluster.systems.minimq.protocol.groups import ONE
from cluster.systems.minimq.protocol.messages import (
    Accepted,
    CreateTopic,
    GetStatus,
    Group,
    Indefinite,
    Metadata,
    Refused,
    Registered,
    Status,
)
from cluster.systems.minimq.protocol.wire import Back, Call, Frames, Hello, frame

BROKERS = ("b1", "b2", "b3")
TOPIC = view_of().mark
METADATA = Metadata(
    version=9,
    topics={TOPIC: 4},
    group=Group(
        brokers=tuple(Registered(broker=name, incarnation="1") for name in BROKERS),
        master="b2",
        epoch=3,
        sync_state_set=("b3", "b2"),
        sss_epoch=7,
    ),
)


def status(role="leader", metadata=METADATA, term=5):
    return Status(role=role, term=term, leader="c1", commit=9, last=9, metadata={ONE: metadata})


def replica(role, ends=(5, 6, 0, 1)):
    return ReplicaStatus(
        role=role,
        epoch=3,
        master="b2",
        sync_state_set=("b3", "b2", "b1"),
        sss_epoch=8,
        end=12,
        held=12,
        confirmed=11,
        queue_ends={TOPIC: ends} if ends else {},
    )


def test_a_master_speaks_for_its_group():
    seen = of_broker("b2", replica("master"), TOPIC, 1, 2)
    assert seen.role == "master"
    assert seen.claims == (Claim(subject="brokers", leader="b2", epoch=3, members=("b1", "b2", "b3"), members_epoch=8),)
    assert seen.max_offsets == {"0": 5, "1": 6, "2": 0, "3": 1}


@pytest.mark.parametrize(("role", "word"), [("follower", "slave"), ("none", "none")])
def test_who_is_not_master_claims_nothing(role, word):
    seen = of_broker("b1", replica(role), TOPIC, 1, 2)
    assert (seen.alive, seen.role, seen.claims) == (True, word, ())
    assert seen.max_offsets is not None


def test_a_broker_without_topics_has_no_offsets():
    assert of_broker("b1", replica("none", ends=()), TOPIC, 1, 2).max_offsets is None


def test_a_leading_controller_names_the_master():
    seen = of_controller("c1", status(), 1, 2)
    assert seen.role == "leader"
    assert seen.claims == (
        Claim(subject="controller", leader="c1", epoch=5),
        Claim(subject="brokers", leader="b2", members=("b2", "b3"), members_epoch=7),
    )


@pytest.mark.parametrize("role", ["follower", "candidate"])
def test_another_controller_claims_nothing(role):
    seen = of_controller("c2", status(role), 1, 2)
    assert (seen.role, seen.claims) == (role, ())


def test_a_broker_speaks_for_its_own_group_and_shows_its_own_queues():
    seen = of_broker("b5", replica("master"), TOPIC, 1, 2, "brokers-2", 2)
    assert [claim.subject for claim in seen.claims] == ["brokers-2"]
    assert seen.max_offsets == {"1": 6, "3": 1}


def test_routes():
    assert route_of([METADATA]) == Route((Served("b2", ("b1", "b3")),))
    assert route_of([Metadata()]) is None
    masterless = Metadata(group=Group(brokers=METADATA.group.brokers, epoch=3))
    assert route_of([masterless]) == Route((Served(None, BROKERS),))


def test_a_route_of_two_groups_leads_each_key_to_its_own():
    other = Group(brokers=(Registered(broker="b4", incarnation="1"),), master="b4", epoch=1)
    route = route_of([METADATA, Metadata(group=other)])
    assert [route.leader(key) for key in range(4)] == ["b2", "b4", "b2", "b4"]
    assert [route.followers(key) for key in range(2)] == [("b1", "b3"), ()]
    assert route_of([METADATA, Metadata()]) is None


# ---------------------------------------------------------------- scripted nodes


class Nodes:
    """Six nodes on the loopback, each a function from a request to an answer (None: silence)."""

    def __init__(self):
        self.answers = dict.fromkeys(("c2", "c3"), lambda _: status("follower"))
        self.answers["c1"] = lambda _: status()
        self.answers |= {name: lambda _: replica("follower") for name in BROKERS}
        self.answers["b2"] = lambda _: replica("master")

    async def serve(self, name, reader, writer):
        greeted, frames = False, Frames(Hello)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(65536):
                if not greeted:
                    size = len(frame(Hello()))
                    assert frames.feed(data[:size]) == [Hello()]
                    greeted, frames, data = True, Frames(Call), data[size:]
                for call in frames.feed(data):
                    answer = self.answers[name](call.body)
                    if answer is not None:
                        writer.write(frame(Back(call.number, answer)))
        writer.transport.abort()

    def probed(self, ask):
        async def body():
            probe = MiniMQProbe(view_of())
            async with contextlib.AsyncExitStack() as stack:
                for name in probe._links:
                    server = await asyncio.start_server(lambda r, w, name=name: self.serve(name, r, w), "127.0.0.1", 0)
                    stack.callback(server.close)
                    probe._links[name] = Link("127.0.0.1", server.sockets[0].getsockname()[1])
                try:
                    return await ask(probe)
                finally:
                    await probe.close()
                    await probe.close()

        return asyncio.run(body())


@pytest.fixture
def nodes():
    made = Nodes()
    complete = Group(brokers=METADATA.group.brokers, master="b2", epoch=3, sync_state_set=BROKERS, sss_epoch=8)
    made.answers["c1"] = lambda _: status(metadata=Metadata(version=10, topics={TOPIC: 4}, group=complete))
    return made


def readiness(probe):
    return probe.readiness()


async def prepared(probe):
    await probe.prepare()
    return await probe.readiness()


def created(request):
    return Accepted(metadata=METADATA) if isinstance(request, CreateTopic) else None


def test_ready(nodes):
    assert nodes.probed(readiness) is None


@pytest.mark.parametrize(
    ("name", "answer", "missing"),
    [
        ("c1", status("follower"), "nobody leads controller"),
        ("c3", status(), "2 nodes lead controller instead of one"),
        ("c1", status(), "not in sync with brokers: b1"),
        ("c1", status(metadata=Metadata()), "not in sync with brokers: b1, b2, b3"),
        ("b1", replica("none"), "b1 does not know its place yet"),
        ("b1", replica("master"), "2 nodes lead brokers instead of one"),
        ("b2", replica("follower"), "b2 does not know its place yet"),
        ("b3", Indefinite(reason="deadline"), "b3 does not answer: indefinite: deadline"),
    ],
)
def test_what_is_missing(nodes, name, answer, missing):
    nodes.answers[name] = lambda _: answer
    assert nodes.probed(readiness) == missing


def test_the_topic_has_to_be_known_once_it_was_created(nodes):
    for name in ("c1", "c2", "c3"):
        before = nodes.answers[name]
        nodes.answers[name] = lambda request, before=before: created(request) or before(request)
    assert nodes.probed(prepared) is None
    nodes.answers["b3"] = lambda _: replica("follower", ends=())
    assert nodes.probed(prepared) == f"b3 does not know topic {TOPIC}"


def test_the_topic_is_asked_for_until_a_controller_leads(nodes):
    asked = []

    def answer(request):
        if isinstance(request, GetStatus):
            return status("follower")
        asked.append(request)
        return Refused(reason="not-leader") if len(asked) < 3 else created(request)

    for name in ("c1", "c2", "c3"):
        nodes.answers[name] = answer
    nodes.probed(MiniMQProbe.prepare)
    assert set(asked) == {CreateTopic(topic=TOPIC, queues=4)}


def test_a_topic_of_another_shape_is_refused_at_once(nodes):
    for name in ("c1", "c2", "c3"):
        nodes.answers[name] = lambda _: Refused(reason="topic-exists")
    with pytest.raises(DeployError, match=f"topic {TOPIC} with 4 queues was not created: topic-exists"):
        nodes.probed(MiniMQProbe.prepare)
