"""Raft cores in one process: a network that loses, repeats, reorders and delays, disks that crash, and the paper's
safety properties (figure 3), watched at every step."""

from random import Random

from cluster.systems.minimq.consensus.raft import QUORUM, Committed, Raft, RaftSettings, ReadReady
from cluster.systems.minimq.consensus.raft_log import recover
from cluster.systems.minimq.consensus.raft_rules import quorum_of
from cluster.systems.minimq.protocol.io import CancelTimer, Message, Send, SetTimer, Timer, Truncate, Write, Written
from cluster.systems.minimq.protocol.messages import (
    AppendAnswer,
    AppendEntries,
    CreateTopic,
    PreVote,
    PreVoteAnswer,
    RequestVote,
    VoteAnswer,
)

IN_FLIGHT_MAX = 100
SETTLE_MS = 20_000  # of simulated time: twenty of the longest election time-outs
VOTES = (PreVote, PreVoteAnswer, RequestVote, VoteAnswer)
APPENDS = (AppendEntries, AppendAnswer)


class Violation(AssertionError):  # noqa: N818  a broken property is what is looked for, not an error
    """A property of the paper does not hold."""


def check(holds, text):
    if not holds:
        raise Violation(text)


class Properties:
    """Figure 3 of the paper, over everything that any node ever showed."""

    def __init__(self):
        self.leaders = {}  # term → name
        self.committed = {}  # index → (entry, the term in which it was first known committed)
        self.leading = {}  # name → (term, log) while it leads
        self.logs = {}  # name → (term, index) of the last entry when the logs were last compared
        self.reads = {}  # id → highest committed index when it was asked

    def after_step(self, core, others):
        log = core.log.after(0, core.log.last_index)
        if core.role == "leader":
            self.leader(core, log)
        else:
            self.leading.pop(core.name, None)
        if self.logs.get(core.name) != core.log.last:
            self.logs[core.name] = core.log.last
            for other in others:
                self.log_matching(core.name, log, other)

    def leader(self, core, log):
        known = self.leaders.setdefault(core.term, core.name)
        check(known == core.name, f"election safety: {known} and {core.name} lead in term {core.term}")
        term, before = self.leading.get(core.name, (0, ()))
        self.leading[core.name] = (core.term, log)
        if term == core.term:
            check(log[: len(before)] == before, f"leader append-only: {core.name} in term {core.term}")
            return
        for entry, term in self.committed.values():
            self.complete(core.name, entry, term)

    def complete(self, name, entry, committed_in):
        term, log = self.leading[name]
        check(
            term <= committed_in or entry in log[entry.index - 1 : entry.index],
            f"leader completeness: {name} leads in term {term} without {entry}",
        )

    @staticmethod
    def log_matching(name, log, other):
        theirs = other.log.after(0, other.log.last_index)
        index = min(len(log), len(theirs))
        while index and log[index - 1].term != theirs[index - 1].term:
            index -= 1
        check(log[:index] == theirs[:index], f"log matching: {name} and {other.name} below {index}")

    def applied(self, core, entry):
        if entry.index not in self.committed:
            self.committed[entry.index] = entry, core.term
            for name in self.leading:
                self.complete(name, entry, core.term)
        known, _ = self.committed[entry.index]
        check(known == entry, f"state machine safety: {core.name} applies {entry}, another {known}")

    def read_asked(self, id_):
        self.reads[id_] = max(self.committed, default=0)

    def read_ready(self, core, id_, applied):
        check(applied >= self.reads[id_], f"stale read: {core.name} at {applied}, committed were {self.reads[id_]}")


class Node:
    def __init__(self, name):
        self.name = name
        self.core = None
        self.journal = []  # durable records
        self.pending = []  # (token, record) on the way to the disk
        self.timers = {}  # name → due, ms
        self.applied = 0
        self.slow_disk = False


class World:
    def __init__(self, count, seed):
        self.random = Random(seed)
        self.now_ms = 0
        self.nodes = {name: Node(name) for name in [f"n{i + 1}" for i in range(count)]}
        self.names = list(self.nodes)
        self.in_flight = []  # (sender, to, body)
        self.cut = set()  # (sender, to)
        self.properties = Properties()
        self.asked = 0
        for name in self.names:
            self.restart(name)

    def electors(self, name, rivals):
        """A bare majority of ``name`` and nodes that are not its rivals."""
        others = [other for other in self.names if other not in rivals]
        return {name, *others[: quorum_of(len(self.names)) - 1]}

    # ------------------------------------------------------------ one step of one node

    def handle(self, node, event):
        if node.core is not None:
            self.carry_out(node, node.core.handle(event, self.now_ms))

    def carry_out(self, node, effects):
        for effect in effects:
            match effect:
                case Send(to=to, body=body):
                    self.in_flight.append((node.name, to, body))
                case Write(token=token, record=record):
                    node.pending.append((token, record))
                case Truncate(token=token):
                    node.pending.append((token, effect))
                case SetTimer(name=name, delay_ms=delay_ms):
                    node.timers[name] = self.now_ms + delay_ms
                case CancelTimer(name=name):
                    node.timers.pop(name, None)
                case Committed(entry=entry):
                    check(entry.index == node.applied + 1, f"{node.name} applies {entry.index} after {node.applied}")
                    node.applied = entry.index
                    self.properties.applied(node.core, entry)
                case ReadReady(id=id_):
                    self.properties.read_ready(node.core, id_, node.applied)
        del self.in_flight[:-IN_FLIGHT_MAX]
        others = [other.core for other in self.nodes.values() if other.core is not None and other is not node]
        self.properties.after_step(node.core, others)
        if not node.slow_disk:
            self.flush(node.name)

    # ------------------------------------------------------------ what may happen

    def flush(self, name):
        node = self.nodes[name]
        if node.core is not None and node.pending:
            token = node.pending[-1][0]
            node.journal += [record for _, record in node.pending]
            node.pending.clear()
            self.handle(node, Written(token=token))

    def crash(self, name, kept):
        node = self.nodes[name]
        node.journal += [record for _, record in node.pending[:kept]]
        node.pending.clear()
        node.timers.clear()
        node.core = None
        self.properties.leading.pop(name, None)

    def restart(self, name):
        node = self.nodes[name]
        if node.core is None:
            node.applied = 0
            node.core = Raft(
                name=name,
                peers=[other for other in self.names if other != name],
                stored=recover(node.journal),
                rng=Random(self.random.random()),
                settings=RaftSettings(entries_max=1),
            )
            self.carry_out(node, node.core.start(self.now_ms))

    def deliver(self, position):
        sender, to, body = self.in_flight.pop(position % len(self.in_flight))
        if (sender, to) not in self.cut:
            self.handle(self.nodes[to], Message(sender=sender, body=body))

    def deliver_between(self, pair, kinds, count):
        """Messages of these kinds among the named nodes, the newest of the newest term first; others stay behind."""
        for _ in range(count):
            found = [
                (body.term, position)
                for position, (sender, to, body) in enumerate(self.in_flight)
                if sender in pair and to in pair and isinstance(body, kinds)
            ]
            if not found:
                return
            self.deliver(max(found)[1])

    def fire(self, name, timer=None):
        """This or the next of the node's timers, at its time or late."""
        node = self.nodes[name]
        if node.timers:
            timer = timer if timer in node.timers else min(node.timers, key=lambda each: (node.timers[each], each))
            self.now_ms = max(self.now_ms, node.timers.pop(timer))
            self.handle(node, Timer(name=timer))

    def elapse(self, delay_ms):
        until_ms = self.now_ms + delay_ms
        while due := [
            (due_ms, n.name) for n in self.nodes.values() for due_ms in n.timers.values() if due_ms <= until_ms
        ]:
            self.fire(min(due)[1])
        self.now_ms = until_ms

    def campaign(self, name, rivals):
        """The node's time runs on, and only votes pass, only among its electors, until it leads (anew)."""
        node = self.nodes[name]
        electors = self.electors(name, rivals)
        was_leading = node.core is not None and node.core.role == "leader"
        for _ in range(10):
            if node.core is None or (node.core.role == "leader" and not was_leading):
                return
            was_leading = was_leading and node.core.role == "leader"
            self.fire(name, QUORUM)  # a leader steps down first, as nobody answers it
            for elector in electors:
                self.flush(elector)  # votes wait for the disk, what a leader then appends does not
            self.deliver_between(electors, VOTES, 12)

    def propose(self, name):
        node = self.nodes[name]
        if node.core is not None and node.core.role == "leader":
            self.asked += 1
            self.carry_out(node, node.core.propose(CreateTopic(topic=f"t{self.asked}", queues=1)))

    def read(self):
        """Asked of whoever believes to lead."""
        for node in self.nodes.values():
            if node.core is not None and node.core.role == "leader":
                self.asked += 1
                id_ = f"r{self.asked}"
                self.properties.read_asked(id_)
                self.carry_out(node, node.core.read(id_))

    # ------------------------------------------------------------ liveness

    def heal(self):
        self.cut.clear()
        for name, node in self.nodes.items():
            node.slow_disk = False
            self.restart(name)
            self.flush(name)

    def tick(self):
        """A few milliseconds in which what is under way arrives."""
        self.elapse(self.random.randint(1, 10))
        for _ in range(len(self.in_flight)):
            self.deliver(self.random.randrange(len(self.in_flight)))

    def settle(self):
        """With all links and disks well again, a leader emerges and a command commits everywhere in bounded time."""
        self.heal()
        deadline_ms = self.now_ms + SETTLE_MS
        proposed = (0, 0)  # (term, index) of the command that is waited for
        while self.now_ms < deadline_ms:
            self.tick()
            leading = [node for node in self.nodes.values() if node.core.role == "leader"]
            if len(leading) == 1 and leading[0].core.term > proposed[0]:
                # What an earlier leader was given may be gone with its term, as it may.
                self.propose(leading[0].name)
                proposed = leading[0].core.log.last
            term, index = proposed
            if term and all(node.applied >= index for node in self.nodes.values()):
                entry, _ = self.properties.committed[index]
                if entry.term == term:
                    return
        check(False, f"liveness: nothing commits everywhere within {SETTLE_MS} ms of the healing")
