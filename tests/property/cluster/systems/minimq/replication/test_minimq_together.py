"""Three controllers and three brokers, all cores, over a network with latency: the cluster as its clients see it."""

import heapq
from itertools import count
from random import Random

import pytest
from minimq_kept import records_left

from cluster.systems.minimq.consensus.controller import Controller
from cluster.systems.minimq.consensus.raft_log import recover as recover_raft
from cluster.systems.minimq.protocol.broker_messages import GetOffsets, Offsets, Poll, Produce, Produced, Rejected
from cluster.systems.minimq.protocol.io import (
    CancelTimer,
    ClientRequest,
    Message,
    Reply,
    Send,
    SetTimer,
    Timer,
    Truncate,
    Write,
    Written,
)
from cluster.systems.minimq.protocol.messages import Accepted, CreateTopic
from cluster.systems.minimq.replication.broker import Broker

CONTROLLERS = ("c1", "c2", "c3")
BROKERS = ("b1", "b2", "b3")
NODES = CONTROLLERS + BROKERS
LATENCY_MS = (1, 3)
DISK_MS = 2


class Cluster:
    """Events in the order of their time. Each node's ``stored`` is what its disk has."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.now_ms = 0
        self.serial = count()
        self.calendar = []
        self.cores = dict.fromkeys(NODES)
        self.lives = dict.fromkeys(NODES, 0)
        self.stored = {name: [] for name in NODES}
        self.timers = {}
        self.cuts = set()
        self.answers = {}
        self.asked = count()
        for name in NODES:
            self.start(name)

    def start(self, name):
        self.lives[name] += 1
        if name in CONTROLLERS:
            stored = recover_raft(self.stored[name])
            rng = Random(self.random.random())
            core = Controller(name=name, controllers=CONTROLLERS, stored=stored, rng=rng)
        else:
            records = records_left(self.stored[name])
            core = Broker(name, CONTROLLERS, f"{self.lives[name]:06d}", records=records)
        self.cores[name] = core
        self.carry_out(name, core.start(self.now_ms))

    def kill(self, name):
        self.cores[name] = None
        self.lives[name] += 1

    def later(self, delay_ms, name, event, link=None):
        entry = (self.now_ms + delay_ms, next(self.serial), name, self.lives[name], event, link)
        heapq.heappush(self.calendar, entry)
        return entry[1]

    def carry_out(self, name, effects):
        for effect in effects:
            match effect:
                case Send(to=to, body=body):
                    link = frozenset((name, to))
                    self.later(self.random.randint(*LATENCY_MS), to, Message(sender=name, body=body), link)
                case Write() | Truncate():
                    self.later(DISK_MS, name, effect)
                case SetTimer(name=timer, delay_ms=delay_ms):
                    self.timers[name, timer] = self.later(delay_ms, name, Timer(name=timer))
                case CancelTimer(name=timer):
                    self.timers.pop((name, timer), None)
                case Reply(id=request_id, body=body):
                    self.answers[request_id] = body

    def run(self, ms):
        until_ms = self.now_ms + ms
        while self.calendar and self.calendar[0][0] <= until_ms:
            self.now_ms, serial, name, life, event, link = heapq.heappop(self.calendar)
            if self.cores[name] is None or self.lives[name] != life or link in self.cuts:
                continue
            if isinstance(event, Timer) and self.timers.get((name, event.name)) != serial:
                continue
            if isinstance(event, Write | Truncate):
                self.stored[name].append(event if isinstance(event, Truncate) else event.record)
                event = Written(token=event.token)
            self.carry_out(name, self.cores[name].handle(event, self.now_ms))
        self.now_ms = until_ms

    def ask(self, name, body, ms=50):
        request_id = str(next(self.asked))
        if self.cores[name] is not None:
            self.carry_out(name, self.cores[name].handle(ClientRequest(id=request_id, body=body), self.now_ms))
        self.run(ms)
        return self.answers.get(request_id)

    def ask_until(self, names, body, kind, limit_ms):
        """Ask one after the other until an answer of ``kind`` comes; (who, answer, how long)."""
        start_ms = self.now_ms
        while self.now_ms - start_ms < limit_ms:
            for name in names:
                answer = self.ask(name, body)
                if isinstance(answer, kind):
                    return name, answer, self.now_ms - start_ms
        raise AssertionError(f"no {kind.__name__} within {limit_ms} ms")

    def isolate(self, *names):
        self.cuts |= {frozenset((a, b)) for a in names for b in NODES if b not in names}


def produce(number):
    return Produce(topic="t", queue=0, body=b"%d" % number)


def up(seed):
    cluster = Cluster(seed)
    cluster.ask_until(CONTROLLERS, CreateTopic(topic="t", queues=2), Accepted, 3000)
    master, answer, _ = cluster.ask_until(BROKERS, produce(0), Produced, 5000)
    assert cluster.now_ms < 5000
    assert answer == Produced(offset=0, epoch=1)
    return cluster, master


@pytest.mark.parametrize("seed", range(5))
def test_a_killed_master_is_replaced_in_time_and_comes_back(seed):
    cluster, master = up(seed)
    cluster.kill(master)
    others = [name for name in BROKERS if name != master]
    second, answer, took_ms = cluster.ask_until(others, produce(1), Produced, 3000)
    assert (answer.epoch, took_ms < 3000) == (2, True)
    cluster.start(master)
    cluster.run(3000)
    end = cluster.ask(second, GetOffsets(topic="t", queue=0))
    assert isinstance(end, Offsets)
    polls = [cluster.ask(name, Poll(topic="t", queue=0, offset=0, records_max=100)) for name in BROKERS]
    assert polls[0].records[0].body == b"0"
    assert polls[0].records[answer.offset].body == b"1"
    assert polls[0].records == polls[1].records == polls[2].records
    assert all(poll.end == end.end for poll in polls)
    assert {cluster.cores[name].role for name in BROKERS} == {"master", "follower"}


@pytest.mark.parametrize("seed", range(5))
def test_a_killed_leader_of_the_controllers_stops_no_messages(seed):
    cluster, master = up(seed)
    leader = next(name for name in CONTROLLERS if cluster.cores[name].raft.role == "leader")
    cluster.kill(leader)
    for number in range(1, 60):
        assert cluster.ask(master, produce(number)) == Produced(offset=number, epoch=1)
    cluster.kill(master)
    others = [name for name in BROKERS if name != master]
    assert cluster.ask_until(others, produce(60), Produced, 4000)[1].epoch == 2


@pytest.mark.parametrize("seed", range(5))
def test_a_master_cut_off_with_the_leader_acknowledges_nothing_that_is_lost(seed):
    cluster, master = up(seed)
    leader = next(name for name in CONTROLLERS if cluster.cores[name].raft.role == "leader")
    cluster.isolate(master, leader)
    others = [name for name in BROKERS if name != master]
    answers = [cluster.ask(master, produce(number)) for number in range(1, 100)]
    assert not any(isinstance(answer, Produced) for answer in answers)
    second, _, _ = cluster.ask_until(others, produce(100), Produced, 3000)
    cluster.cuts.clear()
    cluster.run(4000)
    assert cluster.cores[master].role == "follower"
    polls = [cluster.ask(name, Poll(topic="t", queue=0, offset=0, records_max=999)) for name in (master, second)]
    assert polls[0].records == polls[1].records
    bodies = {record.body for record in polls[0].records}
    assert {b"0", b"100"} <= bodies
    refused = {b"%d" % n for n, answer in enumerate(answers, 1) if isinstance(answer, Rejected)}
    assert refused.isdisjoint(bodies)


def test_under_a_steady_load_the_followers_stay_in_sync():
    """Disk and network take longer than the time between two messages, so nobody ever holds the newest one."""
    cluster, master = up(3)
    members = cluster.cores[master]._metadata.group.sync_state_set
    cluster.run(1000)
    for number in range(1, 6001):
        request = ClientRequest(id=f"load-{number}", body=produce(number))
        cluster.carry_out(master, cluster.cores[master].handle(request, cluster.now_ms))
        cluster.run(number % 2)
    cluster.run(100)
    assert {type(cluster.answers[f"load-{number}"]) for number in range(1, 6001)} == {Produced}
    group = cluster.cores[master]._metadata.group
    assert set(members) <= set(group.sync_state_set) == set(BROKERS)
    assert (group.epoch, group.sss_epoch) == (1, 3), "nobody left and came back"


def test_all_nodes_killed_at_once_come_back_with_everything():
    cluster, master = up(7)
    for number in range(1, 40):
        assert isinstance(cluster.ask(master, produce(number)), Produced)
    for name in NODES:
        cluster.kill(name)
    cluster.run(1000)
    for name in NODES:
        cluster.start(name)
    master, answer, _ = cluster.ask_until(BROKERS, produce(40), Produced, 6000)
    assert answer.epoch >= 2
    records = cluster.ask(master, Poll(topic="t", queue=0, offset=0, records_max=999)).records
    assert [record.body for record in records][:40] == [b"%d" % n for n in range(40)]
