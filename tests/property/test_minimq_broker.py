"""Any schedule of messages, disks, crashes, cuts and elections: what a broker told its clients stays true."""

from collections.abc import Callable
from typing import Any

import minimq_world
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from minimq_world import BROKERS, CONTROLLER, QUEUES, TOPIC, World

from cluster.systems.minimq import broker_rules
from cluster.systems.minimq.broker_messages import (
    Commit,
    FetchCommitted,
    GetOffsets,
    Poll,
    Produce,
    Produced,
    Read,
    Rejected,
)
from cluster.systems.minimq.replica import BrokerSettings

brokers = st.sampled_from(BROKERS)
queues = st.integers(0, QUEUES - 1)
places = st.integers(0, 30)
GROUP = "g"


class Brokers(RuleBasedStateMachine):
    """Clients, faults and the world's own pace, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(BrokerSettings(fetch_retry_ms=400))
        self.world.calm(30)
        self.values = 0
        self.committed = 0
        self.sequenced: dict[int, tuple[int, str | None, Produce]] = {}

    # ------------------------------------------------------------ clients

    @rule(name=brokers, queue=queues, count=st.integers(1, 4))
    def produce(self, name: str, queue: int, count: int) -> None:
        for _ in range(count):
            self.values += 1
            self.world.ask(name, Produce(topic=TOPIC, queue=queue, body=b"%d" % self.values))

    @rule(name=brokers, queue=queues)
    def produce_in_sequence(self, name: str, queue: int) -> None:
        """One idempotent producer per queue: it repeats a message until it is told what became of it."""
        sequence, asked, body = self.sequenced.get(queue, (-1, None, None))
        answers = {request_id: answer for request_id, _, answer in self.world.answers}
        if asked is None or isinstance(answers.get(asked), Produced):
            sequence += 1
            self.values += 1
            text = b"%d" % self.values
            body = Produce(topic=TOPIC, queue=queue, body=text, producer=f"p{queue}", sequence=sequence)
        elif asked in self.world.open:
            asked = asked if self.values % 2 else None
        assert body is not None
        asked = self.world.ask(name, body)
        self.sequenced[queue] = (sequence, asked or "nobody", body)

    @rule(name=brokers, queue=queues)
    def commit(self, name: str, queue: int) -> None:
        self.committed += 1
        self.world.ask(name, Commit(group=GROUP, topic=TOPIC, queue=queue, offset=self.committed))

    @rule(name=brokers, queue=queues, offset=st.integers(0, 6), wait_ms=st.sampled_from([0, 1000]))
    def poll(self, name: str, queue: int, offset: int, wait_ms: int) -> None:
        self.world.ask(name, Poll(topic=TOPIC, queue=queue, offset=offset, records_max=100, wait_ms=wait_ms))

    @rule(name=brokers, queue=queues, kind=st.sampled_from([0, 1, 2]))
    def read_strongly(self, name: str, queue: int, kind: int) -> None:
        body = [
            GetOffsets(topic=TOPIC, queue=queue),
            FetchCommitted(group=GROUP, topic=TOPIC, queue=queue),
            Read(topic=TOPIC, queue=queue, offset=0, records_max=100),
        ][kind]
        self.world.ask(name, body)

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

    @rule(rounds=st.sampled_from([1, 2, 5, 20, 60]), prefer=st.integers(0, 2))
    def calm(self, rounds: int, prefer: int) -> None:
        self.world.controller.prefer = prefer
        self.world.calm(rounds)

    @rule(name=brokers, kept=st.integers(0, 3), again=st.booleans())
    def crash(self, name: str, kept: int, again: bool) -> None:
        self.world.crash(name, kept)
        if again:
            self.world.restart(name)

    @rule(name=brokers)
    def restart(self, name: str) -> None:
        self.world.restart(name)

    @rule(name=brokers)
    def isolate(self, name: str) -> None:
        self.world.isolate(name)

    @rule(name=brokers, other=st.sampled_from([*BROKERS, CONTROLLER]))
    def cut(self, name: str, other: str) -> None:
        self.world.cut(name, other)

    @rule()
    def heal(self) -> None:
        self.world.heal()

    @invariant()
    def what_was_told_is_true(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        self.world.check_recovers()


BUDGET = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestBrokers = Brokers.TestCase
TestBrokers.settings = BUDGET
