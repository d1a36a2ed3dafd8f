"""Any schedule of messages, disks, crashes, cuts and elections: what a broker told its clients stays true."""

from random import Random

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from minimq_world import BROKERS, CONTROLLER, QUEUES, TOPIC, World

from cluster.systems.minimq.consensus import metadata
from cluster.systems.minimq.protocol.broker_messages import (
    Commit,
    FetchCommitted,
    GetOffsets,
    Poll,
    Produce,
    Produced,
    Read,
)
from cluster.systems.minimq.replication import broker_rules
from cluster.systems.minimq.replication.replica_state import BrokerSettings

brokers = st.sampled_from(BROKERS)
chosen = st.sampled_from([*BROKERS, "first", "last", "last"])
queues = st.integers(0, QUEUES - 1)
places = st.integers(0, 30)
GROUP = "g"


class Brokers(RuleBasedStateMachine):
    """Clients, faults and the world's own pace, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.begin(min_in_sync=2)
        self.values = 0
        self.committed = 0
        self.sequenced: dict[int, tuple[int, str | None, Produce]] = {}

    @initialize(min_in_sync=st.sampled_from([2, 2, 1]))
    def begin(self, min_in_sync: int) -> None:
        self.world = World(BrokerSettings(fetch_retry_ms=400, min_in_sync=min_in_sync))
        self.world.calm(30)

    # ------------------------------------------------------------ clients

    @rule(name=chosen, queue=queues, count=st.integers(1, 4))
    def produce(self, name: str, queue: int, count: int) -> None:
        for _ in range(count):
            self.values += 1
            self.world.ask(self.world.who(name), Produce(topic=TOPIC, queue=queue, body=b"%d" % self.values))

    @rule(name=chosen, queue=queues, twice=st.booleans())
    def produce_in_sequence(self, name: str, queue: int, twice: bool) -> None:
        """One idempotent producer per queue: it repeats a message until it is told what became of it."""
        sequence, asked, body = self.sequenced.get(queue, (-1, None, None))
        answers = {request_id: answer for request_id, _, answer in self.world.answers}
        if asked is None or isinstance(answers.get(asked), Produced):
            sequence += 1
            self.values += 1
            text = b"%d" % self.values
            body = Produce(topic=TOPIC, queue=queue, body=text, producer=f"p{queue}", sequence=sequence)
        assert body is not None
        asked = self.world.ask(self.world.who(name), body)
        self.sequenced[queue] = (sequence, asked or "nobody", body)
        if twice:
            self.world.ask(self.world.who("last"), body)

    @rule(name=chosen, queue=queues)
    def commit(self, name: str, queue: int) -> None:
        self.committed += 1
        self.world.ask(self.world.who(name), Commit(group=GROUP, topic=TOPIC, queue=queue, offset=self.committed))

    @rule(name=chosen, queue=queues, offset=st.integers(0, 6), wait_ms=st.sampled_from([0, 1000]))
    def poll(self, name: str, queue: int, offset: int, wait_ms: int) -> None:
        self.world.ask(
            self.world.who(name), Poll(topic=TOPIC, queue=queue, offset=offset, records_max=100, wait_ms=wait_ms)
        )

    @rule(name=chosen, queue=queues, kind=st.sampled_from([0, 1, 2]))
    def read_strongly(self, name: str, queue: int, kind: int) -> None:
        body = [
            GetOffsets(topic=TOPIC, queue=queue),
            FetchCommitted(group=GROUP, topic=TOPIC, queue=queue),
            Read(topic=TOPIC, queue=queue, offset=0, records_max=100),
        ][kind]
        self.world.ask(self.world.who(name), body)

    # ------------------------------------------------------------ the world

    @rule(place=places, keep=st.booleans())
    def deliver(self, place: int, keep: bool) -> None:
        self.world.deliver(place, keep=keep)

    @rule(place=places)
    def drop(self, place: int) -> None:
        self.world.drop(place)

    @rule(name=brokers, count=st.integers(1, 3))
    def flush(self, name: str, count: int) -> None:
        self.world.flush(name, count)

    @rule(ms=st.sampled_from([20, 100, 500, 2500]))
    def pass_time(self, ms: int) -> None:
        self.world.pass_time(ms)

    @rule(
        rounds=st.sampled_from([1, 2, 4, 20, 60]),
        prefer=st.integers(0, 2),
        stalled=st.sets(brokers, max_size=2),
        asks=st.booleans(),
    )
    def calm(self, rounds: int, prefer: int, stalled: set[str], asks: bool) -> None:
        self.world.controller.prefer = prefer
        if asks:
            self.produce("last", 0, 1)
        self.world.calm(rounds, stalled=stalled)

    @rule(rounds=st.sampled_from([2, 10, 60]), prefer=st.integers(0, 2), seed=st.integers(0, 1 << 16))
    def rough(self, rounds: int, prefer: int, seed: int) -> None:
        self.world.controller.prefer = prefer
        self.world.calm(rounds, step_ms=20, rough=Random(seed))

    @rule(name=chosen, kept=st.integers(0, 3), again=st.booleans())
    def crash(self, name: str, kept: int, again: bool) -> None:
        name = self.world.who(name)
        self.world.crash(name, kept)
        if again:
            self.world.restart(name)

    @rule(
        states=st.tuples(*[st.sampled_from(["up", "up", "isolated", "down"])] * len(BROKERS)),
        rounds=st.sampled_from([1, 3, 60]),
        asks=st.booleans(),
        prefer=st.integers(0, 2),
    )
    def episode(self, states: tuple[str, ...], rounds: int, asks: bool, prefer: int) -> None:
        """A new state of the whole, a message for whoever is master, and time for it to be felt."""
        self.world.controller.prefer = prefer
        self.world.heal()
        for name, state in zip(BROKERS, states, strict=True):
            if state == "down":
                self.world.crash(name, 0)
            else:
                self.world.restart(name)
            if state == "isolated":
                self.world.isolate(name)
        self.world.calm(rounds)
        if asks:
            self.produce("last", 0, 1)
            self.world.calm(4)
            for name in ("first", "last"):
                self.poll(name, 0, 0, 0)
                self.read_strongly(name, 0, 0)

    @rule(outsider=st.integers(0, len(BROKERS) - 1), prefer=st.integers(0, 2))
    def fall_behind(self, outsider: int, prefer: int) -> None:
        """One broker is left behind; then it is the only one left."""
        behind = tuple("isolated" if place == outsider else "up" for place in range(len(BROKERS)))
        alone = tuple("up" if place == outsider else "down" for place in range(len(BROKERS)))
        self.episode(behind, 60, asks=True, prefer=prefer)
        self.episode(alone, 60, asks=True, prefer=prefer)

    @rule(name=brokers)
    def restart(self, name: str) -> None:
        self.world.restart(name)

    @rule(name=chosen)
    def isolate(self, name: str) -> None:
        self.world.isolate(self.world.who(name))

    @rule(name=chosen, other=st.sampled_from([*BROKERS, CONTROLLER]))
    def cut(self, name: str, other: str) -> None:
        if self.world.who(name) != other:
            self.world.cut(self.world.who(name), other)

    @rule()
    def heal(self) -> None:
        self.world.heal()

    @invariant()
    def what_was_told_is_true(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        if not self.world.broken:
            self.world.check_recovers()


BUDGET = settings(
    max_examples=80,
    stateful_step_count=40,
    suppress_health_check=list(HealthCheck),
)
SEARCH = settings(
    BUDGET,
    max_examples=300,
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    report_multiple_bugs=False,
)


class TestBrokers(Brokers.TestCase):
    settings = BUDGET


def ack_before_replicate(index, confirmed, own_held, *, sync_replication):
    return index < own_held


def ack_before_fsync(log_end, durable_end, *, sync_flush):
    return log_end


def no_truncation(epochs, end, follower_epoch, follower_end):
    return None


def unclean_election(group, alive, *, unclean):
    return tuple(sorted(alive))


def read_uncommitted(confirmed, log_end):
    return log_end


def append_again(expected, sequence):
    return "append"


def forget_the_least(held, counted, confirmed):
    return max(confirmed, sorted(held.values())[-2] if len(held) > 1 else confirmed)


NOT_KEPT = "which may be elected, has it not"
LOST = "was told of|one offset, two values|confirmed prefix|offsets of a poll have gaps|not dense|acknowledged"


@pytest.mark.parametrize(
    ("where", "name", "bent", "found"),
    [
        (broker_rules, "may_acknowledge", ack_before_replicate, NOT_KEPT),
        (broker_rules, "held_end", ack_before_fsync, NOT_KEPT),
        (broker_rules, "confirmed_by", forget_the_least, NOT_KEPT),
        (broker_rules, "truncation_point", no_truncation, f"{NOT_KEPT}|{LOST}"),
        (metadata, "eligible_masters", unclean_election, f"{NOT_KEPT}|{LOST}"),
        (broker_rules, "readable_end", read_uncommitted, LOST),
        (broker_rules, "judge_sequence", append_again, "twice|two offsets"),
    ],
)
def test_a_bent_rule_is_found(monkeypatch, where, name, bent, found):
    monkeypatch.setattr(where, name, bent)
    with pytest.raises(AssertionError, match=found):
        run_state_machine_as_test(Brokers, settings=SEARCH)
