"""Three controllers and brokers that only show signs of life, in simulated time."""

from random import Random

import pytest

from cluster.systems.minimq.consensus.controller import Controller, ControllerSettings
from cluster.systems.minimq.consensus.raft_log import recover
from cluster.systems.minimq.protocol.io import (
    CancelTimer,
    ClientRequest,
    Message,
    Reply,
    Send,
    SetTimer,
    Timer,
    Write,
    Written,
)
from cluster.systems.minimq.protocol.messages import (
    Accepted,
    AlterSyncStateSet,
    Answer,
    Ask,
    CreateTopic,
    GetMetadata,
    GetStatus,
    Heartbeat,
    Indefinite,
    MetadataPush,
    Refused,
    RegisterBroker,
)

CONTROLLERS = ("c1", "c2", "c3")
DELAY_MS = 5


class Node:
    def __init__(self):
        self.core = None
        self.journal = []
        self.timers = {}


class Cluster:
    def __init__(self, settings=None):
        self.settings = settings or ControllerSettings()
        self.now_ms = 0
        self.nodes = {name: Node() for name in CONTROLLERS}
        self.in_flight = []  # (due, sender, to, body)
        self.cut = set()
        self.replies = {}
        self.pushed = {}  # broker → newest metadata pushed
        self.beating = {}  # broker → (incarnation, epoch, log end)
        self.masters = {}  # epoch → master
        self.asked = 0
        for name in CONTROLLERS:
            self.restart(name)

    def restart(self, name):
        node = self.nodes[name]
        node.timers.clear()
        node.core = Controller(
            name=name,
            controllers=CONTROLLERS,
            stored=recover(node.journal),
            rng=Random(f"{name} {self.now_ms}"),
            settings=self.settings,
        )
        self.carry_out(name, node.core.start(self.now_ms))

    def crash(self, name):
        self.nodes[name].core = None

    def handle(self, name, event):
        node = self.nodes[name]
        if node.core is not None:
            self.carry_out(name, node.core.handle(event, self.now_ms))

    def carry_out(self, name, effects):
        node, token = self.nodes[name], 0
        for effect in effects:
            match effect:
                case Send(to=to, body=body):
                    self.in_flight.append((self.now_ms + DELAY_MS, name, to, body))
                case SetTimer(name=timer, delay_ms=delay_ms):
                    node.timers[timer] = self.now_ms + delay_ms
                case CancelTimer(name=timer):
                    node.timers.pop(timer, None)
                case Reply(id=id_, body=body):
                    assert id_ not in self.replies, "one reply to a request"
                    self.replies[id_] = body
                case Write(token=token, record=record):
                    node.journal.append(record)
                case _:
                    token = effect.token
                    node.journal.append(effect)
        if token:
            self.handle(name, Written(token=token))

    def run(self, duration_ms):
        for _ in range(duration_ms):
            self.now_ms += 1
            arrived = [each for each in self.in_flight if each[0] <= self.now_ms]
            self.in_flight = [each for each in self.in_flight if each[0] > self.now_ms]
            for _, sender, to, body in arrived:
                if to in self.nodes:
                    if not {sender, to} & self.cut:
                        self.handle(to, Message(sender=sender, body=body))
                else:
                    self.on_broker(to, body)
            for name, node in self.nodes.items():
                for timer in list(node.timers):
                    if node.timers.get(timer, self.now_ms + 1) <= self.now_ms:  # not cancelled by the one before
                        del node.timers[timer]
                        self.handle(name, Timer(name=timer))
            if self.now_ms % 300 == 0:
                self.beat()

    def beat(self):
        for broker, (incarnation, epoch, log_end) in self.beating.items():
            body = Heartbeat(broker=broker, incarnation=incarnation, epoch=epoch, log_end=log_end)
            for name in CONTROLLERS:
                self.in_flight.append((self.now_ms, broker, name, Ask(number=1, request=body)))

    def on_broker(self, broker, body):
        metadata = getattr(body.answer, "metadata", None) if isinstance(body, Answer) else body.metadata
        if metadata is not None and metadata.group.master is not None:
            known = self.masters.setdefault(metadata.group.epoch, metadata.group.master)
            assert known == metadata.group.master, "two masters in one epoch"
        if isinstance(body, MetadataPush):
            self.pushed[broker] = max(metadata, self.pushed.get(broker, metadata), key=lambda each: each.version)

    def leader(self):
        leading = [name for name, node in self.nodes.items() if node.core and node.core.raft.role == "leader"]
        return max(leading, key=lambda name: self.nodes[name].core.raft.term, default=None)

    def ask(self, body, name=None, wait_ms=200):
        self.asked += 1
        self.handle(name or self.leader(), ClientRequest(id=str(self.asked), body=body))
        self.run(wait_ms)
        return self.replies.get(str(self.asked))

    def group(self):
        return self.ask(GetMetadata()).metadata.group

    def join(self, *brokers, incarnation="1"):
        for broker in brokers:
            assert isinstance(self.ask(RegisterBroker(broker=broker, incarnation=incarnation)), Accepted)
            self.beating[broker] = (incarnation, 1, 0)

    def alter(self, *members):
        group = self.group()
        request = AlterSyncStateSet(master=group.master, epoch=group.epoch, new_set=members, sss_epoch=group.sss_epoch)
        return self.ask(request)


@pytest.fixture
def cluster():
    made = Cluster()
    made.run(1500)
    assert made.leader() is not None
    return made


@pytest.fixture
def replicated(cluster):
    cluster.join("b1", "b2", "b3")
    assert isinstance(cluster.alter("b1", "b2"), Accepted)
    return cluster


def test_the_first_broker_becomes_master_at_once(cluster):
    cluster.join("b1")
    group = cluster.group()
    assert (group.master, group.epoch, group.sync_state_set) == ("b1", 1, ("b1",))
    cluster.join("b2")
    assert cluster.group().epoch == 1


def test_only_the_leader_serves_and_others_name_it(cluster):
    leader = cluster.leader()
    follower = next(name for name in CONTROLLERS if name != leader)
    for request in (GetMetadata(), CreateTopic(topic="t", queues=1)):
        answer = cluster.ask(request, follower)
        assert (answer.reason, answer.leader) == ("not-leader", leader)
    assert cluster.ask(GetStatus(), follower).role == "follower"
    assert cluster.ask(GetStatus(), leader).leader == leader


def test_topics_are_created_once(cluster):
    assert isinstance(cluster.ask(CreateTopic(topic="t", queues=3)), Accepted)
    last = cluster.nodes[cluster.leader()].core.raft.log.last_index
    assert cluster.ask(CreateTopic(topic="t", queues=3)).metadata.topics == {"t": 3}
    assert cluster.ask(CreateTopic(topic="t", queues=4)).reason == "topic-exists"
    assert cluster.nodes[cluster.leader()].core.raft.log.last_index == last


def test_a_silent_master_is_replaced_from_the_sync_state_set(replicated):
    del replicated.beating["b1"]
    replicated.run(2000)
    group = replicated.group()
    assert (group.master, group.epoch, group.sync_state_set) == ("b2", 2, ("b2",))
    assert replicated.pushed["b3"].group.master == "b2"


def test_a_broker_that_is_heard_stays_master(replicated):
    replicated.run(5000)
    assert replicated.group().epoch == 1


def test_a_silent_master_with_no_successor_stays(replicated):
    replicated.alter("b1")
    del replicated.beating["b1"]
    replicated.run(4000)
    group = replicated.group()
    assert (group.master, group.epoch) == ("b1", 1)


def test_unclean_election_only_where_it_is_asked_for():
    cluster = Cluster(ControllerSettings(unclean_election=True))
    cluster.run(1500)
    cluster.join("b1", "b2")
    del cluster.beating["b1"]
    cluster.run(2500)
    group = cluster.group()
    assert (group.master, group.epoch, group.sync_state_set) == ("b2", 2, ("b2",))


def test_the_longest_log_of_those_eligible_wins(replicated):
    replicated.alter("b1", "b2", "b3")
    replicated.beating |= {"b2": ("1", 1, 10), "b3": ("1", 1, 11)}
    replicated.run(600)
    del replicated.beating["b1"]
    replicated.run(2000)
    group = replicated.group()
    assert (group.master, group.sync_state_set) == ("b3", ("b2", "b3"))


def test_a_restarted_master_is_replaced_without_waiting_for_its_death(replicated):
    replicated.beating["b2"] = ("1", 1, 10)
    replicated.run(400)
    replicated.join("b1", incarnation="2")
    group = replicated.group()
    assert (group.master, group.epoch) == ("b2", 2)


def test_a_restarted_master_that_is_alone_comes_back_in_a_new_epoch(cluster):
    cluster.join("b1")
    cluster.join("b1", incarnation="2")
    group = cluster.group()
    assert (group.master, group.epoch) == ("b1", 2)


def test_a_former_life_shows_no_sign_of_life(replicated):
    replicated.join("b2", incarnation="2")
    answer = replicated.ask(Heartbeat(broker="b2", incarnation="1", epoch=1, log_end=0))
    assert (type(answer), answer.reason) == (Refused, "unknown-broker")


def test_a_dead_broker_does_not_enter_the_sync_state_set(replicated):
    del replicated.beating["b3"]
    replicated.run(2000)
    assert replicated.alter("b1", "b2", "b3").reason == "dead-member"


def test_a_stale_request_to_alter_is_refused_with_what_holds(replicated):
    request = AlterSyncStateSet(master="b1", epoch=1, new_set=("b1",), sss_epoch=1)
    answer = replicated.ask(request)
    assert answer.reason == "stale-epoch"
    assert answer.metadata.group.sync_state_set == ("b1", "b2")


def test_a_new_leader_of_the_controllers_knows_all_and_deposes_nobody(replicated):
    before, old = replicated.group(), replicated.leader()
    replicated.crash(old)
    replicated.run(3000)
    assert replicated.leader() != old
    assert replicated.group() == before


def test_all_controllers_restart_from_their_stores(replicated):
    before = replicated.group()
    for name in CONTROLLERS:
        replicated.crash(name)
    for name in CONTROLLERS:
        replicated.restart(name)
    replicated.run(2000)
    assert replicated.group() == before


def test_a_cut_off_leader_answers_nothing_it_cannot_know(replicated):
    old = replicated.leader()
    replicated.cut = {old}
    read = replicated.ask(GetMetadata(), old, wait_ms=0)
    write = replicated.ask(CreateTopic(topic="t", queues=1), old, wait_ms=0)
    assert (read, write) == (None, None)
    replicated.run(2500)
    assert {type(each) for each in list(replicated.replies.values())[-2:]} == {Indefinite}
    assert replicated.leader() != old
    assert replicated.ask(GetMetadata(), old).reason == "not-leader"


def test_a_request_ends_at_its_deadline():
    cluster = Cluster(ControllerSettings(request_timeout_ms=300))
    cluster.run(1500)
    cluster.cut = {cluster.leader()}
    assert cluster.ask(CreateTopic(topic="t", queues=1), wait_ms=450) == Indefinite(reason="deadline")


def test_requests_that_wait_are_bounded(cluster):
    cluster.cut = {cluster.leader()}
    for _ in range(1024):
        assert cluster.ask(GetMetadata(), wait_ms=0) is None
    assert cluster.ask(GetMetadata(), wait_ms=0).reason == "busy"


def test_brokers_are_answered_by_message(cluster):
    leader = cluster.leader()
    cluster.handle(leader, Message(sender="b1", body=Ask(number=7, request=GetStatus())))
    assert [body.number for _, _, to, body in cluster.in_flight if to == "b1"] == [7]
