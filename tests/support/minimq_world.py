"""Three broker cores in a world of their own: a lossy network, stores that forget, one controller that never fails.

The world knows the truth that no broker knows, and holds what clients were told against it.
"""

from collections import defaultdict, deque
from typing import Any

from minimq_kept import records_left
from minimq_one_controller import QUEUES, TOPIC, Controller

from cluster.systems.minimq.protocol.broker_messages import (
    DATA,
    CommitDone,
    Committed,
    FetchCommitted,
    GetOffsets,
    Offsets,
    Poll,
    Polled,
    Produce,
    Produced,
    Read,
    Rejected,
)
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
from cluster.systems.minimq.replication.broker import Broker
from cluster.systems.minimq.replication.replica_state import BrokerSettings
from cluster.systems.minimq.storage.commit_log import QueueKey

BROKERS = ("b1", "b2", "b3")
CONTROLLER = "c1"


class Node:
    """A broker's machine: its store, what is on the way into it, its timers."""

    def __init__(self):
        self.core = None
        self.life = 0
        self.durable = []
        self.pending = deque()
        self.timers = {}


class World:
    def __init__(self, settings=None):
        self.settings = settings or BrokerSettings()
        self.now_ms = 0
        self.network = []
        self.cuts = set()
        self.nodes = {name: Node() for name in BROKERS}
        self.controller = Controller(lambda to, body: self.network.append((CONTROLLER, to, body)))
        self.asked = 0
        self.open: dict[str, tuple[str, Any, Any]] = {}
        self.answers = []
        self.told = {}  # (queue, offset) -> (epoch, body) that a client was told of
        self.told_commits = []  # (epoch, group, queue, offset)
        self.acked_end = defaultdict(int)
        self.acked_commit = {}
        self.sequenced = {}
        self.refused = set()
        self.confirmed = []
        self.broken = False  # something was found: what follows proves nothing
        for name in BROKERS:
            self.restart(name)

    # ------------------------------------------------------------ machinery

    def carry_out(self, name, effects):
        node = self.nodes[name]
        for effect in effects:
            match effect:
                case Send(to=to, body=body):
                    self.network.append((name, to, body))
                case Write() | Truncate():
                    node.pending.append(effect)
                case SetTimer(name=timer, delay_ms=delay_ms):
                    node.timers[timer] = self.now_ms + delay_ms
                case CancelTimer(name=timer):
                    node.timers.pop(timer, None)
                case Reply(id=request_id, body=body):
                    self.judge(name, request_id, body)

    def tell(self, name, event):
        core = self.nodes[name].core
        if core is not None:
            self.carry_out(name, core.handle(event, self.now_ms))

    def deliver(self, index, *, keep=False):
        if not self.network:
            return
        index %= len(self.network)
        sender, to, body = self.network[index] if keep else self.network.pop(index)
        if frozenset((sender, to)) in self.cuts:
            return
        if to == CONTROLLER:
            self.controller.handle(sender, body, self.now_ms)
        else:
            self.tell(to, Message(sender=sender, body=body))

    def drop(self, index):
        if self.network:
            self.network.pop(index % len(self.network))

    def flush(self, name, count):
        node = self.nodes[name]
        token = None
        for _ in range(min(count, len(node.pending))):
            effect = node.pending.popleft()
            self.store(node, effect)
            token = effect.token
        if token is not None:
            self.tell(name, Written(token=token))

    @staticmethod
    def store(node, effect):
        node.durable = records_left([*node.durable, effect if isinstance(effect, Truncate) else effect.record])

    def pass_time(self, ms):
        until_ms = self.now_ms + ms
        while True:
            due = [
                (due_ms, name, timer)
                for name, node in self.nodes.items()
                if node.core is not None
                for timer, due_ms in node.timers.items()
                if due_ms <= until_ms
            ]
            if not due:
                break
            due_ms, name, timer = min(due)
            self.now_ms = max(self.now_ms, due_ms)
            del self.nodes[name].timers[timer]
            self.tell(name, Timer(name=timer))
        self.now_ms = until_ms
        self.controller.look(self.now_ms)

    def calm(self, rounds, step_ms=50, stalled=(), rough=None):
        """Time in which all that is not cut works, but for the disks of the ``stalled``.

        With a generator ``rough`` messages are overtaken, lost and repeated.
        """
        for _ in range(rounds):
            for _ in range(len(self.network)):
                fate = rough.random() if rough else 1.0
                if fate < 0.1:
                    self.drop(0)
                elif fate < 0.5:
                    self.deliver(rough.randrange(len(self.network)), keep=fate < 0.2)
                else:
                    self.deliver(0)
            for name in BROKERS:
                if name not in stalled:
                    self.flush(name, len(self.nodes[name].pending))
            self.pass_time(step_ms)

    def crash(self, name, kept):
        """End a broker; of what it had not yet been told was durable, ``kept`` effects are so all the same."""
        node = self.nodes[name]
        if node.core is None:
            return
        for effect in list(node.pending)[:kept]:
            self.store(node, effect)
        node.core = None
        node.pending.clear()
        node.timers.clear()
        self.open = {request_id: it for request_id, it in self.open.items() if it[0] != name}

    def restart(self, name):
        node = self.nodes[name]
        if node.core is not None:
            return
        node.life += 1
        node.core = Broker(name, [CONTROLLER], f"{node.life:06d}", self.settings, list(node.durable))
        self.carry_out(name, node.core.start(self.now_ms))

    def cut(self, a, b):
        self.cuts.add(frozenset((a, b)))

    def isolate(self, name):
        self.cuts |= {frozenset((name, other)) for other in (*BROKERS, CONTROLLER) if other != name}

    def heal(self):
        self.cuts.clear()

    def masters(self):
        """Those who believe it, the oldest epoch first."""
        cores = [node.core for node in self.nodes.values() if node.core is not None]
        return sorted((core for core in cores if core.role == "master"), key=lambda core: core.epoch)

    def who(self, role):
        """A broker by its name, or the "first" or "last" of those who believe to be master."""
        masters = self.masters()
        if role in self.nodes:
            return role
        if not masters:
            return BROKERS[0]
        return masters[0 if role == "first" else -1].name

    # ------------------------------------------------------------ clients, and what they were told

    def ask(self, name, body):
        """Ask; notes what is known now, since an answer may not fall behind it. Returns the request's id."""
        if self.nodes[name].core is None:
            return None
        self.asked += 1
        request_id = f"r{self.asked}"
        known = None
        if isinstance(body, Read | GetOffsets):
            known = self.acked_end[body.queue]
        elif isinstance(body, FetchCommitted):
            known = self.acked_commit.get((body.group, body.queue))
        self.open[request_id] = (name, body, known)
        self.tell(name, ClientRequest(id=request_id, body=body))
        return request_id

    def judge(self, name, request_id, answer):
        self.broken = True
        self.judge_answer(name, request_id, answer)
        self.broken = False

    def judge_answer(self, name, request_id, answer):
        assert request_id in self.open, "answered twice or never asked"
        _, body, known = self.open.pop(request_id)
        self.answers.append((request_id, body, answer))
        match answer:
            case Produced():
                self.judge_produced(name, body, answer)
            case CommitDone(epoch=epoch):
                self.judge_kept(
                    lambda record: (
                        record.kind != DATA
                        and record.writer == body.group
                        and (record.queue, record.offset) == (body.queue, body.offset)
                    ),
                    epoch,
                )
                self.told_commits.append((epoch, body.group, body.queue, body.offset))
                known = self.acked_commit.get((body.group, body.queue), -1)
                self.acked_commit[body.group, body.queue] = max(known, body.offset)
            case Polled():
                self.judge_polled(body, answer)
                if isinstance(body, Read):
                    assert answer.end >= known, "a strong read misses what was acknowledged before it"
            case Offsets(end=end):
                assert end >= known, "the end of the queue lies before what was acknowledged"
            case Committed(offset=offset):
                assert known is None or (offset is not None and offset >= known), "a committed group offset is lost"
            case Rejected():
                if isinstance(body, Produce) and body.sequence < 0:
                    self.refused.add(body.body)

    def judge_produced(self, name, body, answer):
        self.judge_kept(
            lambda record: (
                record.kind == DATA
                and record.body == body.body
                and (record.queue, record.offset) == (body.queue, answer.offset)
            ),
            answer.epoch,
        )
        self.tell_of(body.queue, answer.offset, self.nodes[name].core.epoch, body.body)
        self.acked_end[body.queue] = max(self.acked_end[body.queue], answer.offset + 1)
        if body.sequence >= 0:
            place = self.sequenced.setdefault((body.producer, body.queue, body.sequence), answer.offset)
            assert place == answer.offset, "one message of an idempotent producer at two offsets"

    def judge_kept(self, is_it, epoch):
        """Every broker that may be elected now has it on disk; so none that is cut off acknowledged alone."""
        for member in self.controller.group.sync_state_set:
            kept = any(is_it(record) for record in reversed(self.nodes[member].durable))
            assert kept, f"acknowledged in epoch {epoch}, but {member}, which may be elected, has it not"

    def judge_polled(self, body, answer):
        places = [(record.queue, record.offset) for record in answer.records]
        assert places == [(body.queue, body.offset + n) for n in range(len(places))], "offsets of a poll have gaps"
        for record in answer.records:
            assert record.kind == DATA
            self.tell_of(record.queue, record.offset, answer.epoch, record.body)

    def tell_of(self, queue, offset, epoch, body):
        first_epoch, told = self.told.setdefault((queue, offset), (epoch, body))
        assert told == body, "one offset, two values"
        self.told[queue, offset] = (min(epoch, first_epoch), body)

    # ------------------------------------------------------------ what must hold at any time

    def check(self):
        self.broken = True
        self.check_all()
        self.broken = False

    def check_all(self):
        for node in self.nodes.values():
            if node.core is not None:
                self.check_log(node.core.replica)
        for core in self.masters():
            assert self.controller.masters[core.epoch] == core.name, "two masters in one epoch"
            self.check_master(core)

    def check_log(self, replica):
        log = replica.log
        for number in range(QUEUES):
            key = QueueKey(TOPIC, number)
            records = log.read(key, 0, log.end, log.end, 1 << 40)
            assert [record.offset for record in records] == list(range(len(records))), "offsets are not dense"
        assert replica.confirmed <= log.end
        prefix = list(log.slice(0, replica.confirmed, 1 << 40))
        shared = min(len(prefix), len(self.confirmed))
        assert prefix[:shared] == self.confirmed[:shared], "the confirmed prefix has changed"
        self.confirmed += prefix[shared:]
        bodies = [record.body for record in prefix if record.kind == DATA]
        assert self.refused.isdisjoint(bodies), "a refused message is in the log"
        assert len(set(bodies)) == len(bodies), "one message twice"

    def check_master(self, core):
        log = core.replica.log
        for (queue, offset), (epoch, body) in self.told.items():
            if epoch <= core.epoch:
                found = log.read(QueueKey(TOPIC, queue), offset, log.end, 1, 1)
                assert [record.body for record in found] == [body], (
                    f"a client of epoch {epoch} was told of offset {offset}; the master of {core.epoch} has it not"
                )
        if any(epoch <= core.epoch for epoch, *_ in self.told_commits):
            records = log.slice(0, log.end, 1 << 40)
            commits = {(record.writer, record.queue, record.offset) for record in records if record.kind != DATA}
            for epoch, *commit in self.told_commits:
                assert epoch > core.epoch or tuple(commit) in commits, "the commit of a group's offset is lost"

    def check_recovers(self):
        """With everything up and connected, the brokers agree, all are in sync, and a message is taken."""
        self.heal()
        for name in BROKERS:
            self.restart(name)
        self.calm(150)
        asked = [self.ask(name, Produce(topic=TOPIC, queue=0, body=name.encode())) for name in BROKERS]
        reads = [self.ask(name, GetOffsets(topic=TOPIC, queue=0)) for name in BROKERS]
        polls = [self.ask(name, Poll(topic=TOPIC, queue=0, offset=0, records_max=1000)) for name in BROKERS]
        self.calm(20)
        self.check()
        answers = {request_id: answer for request_id, _, answer in self.answers}
        assert [type(answers[each]) for each in asked].count(Produced) == 1, "no message is taken"
        assert [type(answers[each]) for each in reads].count(Offsets) == 1, "no strong read is answered"
        assert all(isinstance(answers[each], Polled) for each in polls)
        assert set(self.controller.group.sync_state_set) == set(BROKERS), "not all came back into the SyncStateSet"
        logs = [node.core.replica.log for node in self.nodes.values()]
        assert all(log.slice(0, log.end, 1 << 40) == logs[0].slice(0, logs[0].end, 1 << 40) for log in logs)
        assert all(node.core.replica.confirmed == logs[0].end for node in self.nodes.values())
        assert self.open == {}, "requests without an answer"
