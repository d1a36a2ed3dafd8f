"""The generator of the workload ``queue`` is pure, seeded and keeps its rate."""

from itertools import islice, takewhile

import pytest
from log_ops import gave

from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.words import F
from chaos.workload.base import Arrival, Generator, LoadSpec, mix_of
from chaos.workload.logs.queue import QueueWorkload


def workload(seed: int = 1) -> Generator:
    spec = LoadSpec(keys=4, clients=3, seed=seed, body_bytes=100, op_timeout_s=3, operations=frozenset(F))
    return QueueWorkload().generator(spec)


def again(it: Generator, arrival: Arrival) -> Invocation:
    op = it.invocation(arrival, 0, 0)
    assert op is not None
    return op


def test_the_same_seed_asks_the_same_questions() -> None:
    def first(seed: int) -> list[object]:
        return list(islice(workload(seed).arrivals([0, 1, 2], 50), 500))

    assert first(7) == first(7)
    assert first(7) != first(8)


def test_arrivals_ascend_and_keep_the_rate_of_every_kind() -> None:
    seconds, rate = 40, 100
    arrivals = []
    for arrival in workload().arrivals([0, 1], rate):
        if arrival.at_ns >= seconds * 10**9:
            break
        arrivals.append(arrival)
    assert arrivals == sorted(arrivals, key=lambda a: a.at_ns)
    for f, share in QueueWorkload.mix.items():
        assert sum(a.f is f for a in arrivals) == pytest.approx(rate * share * seconds, abs=1)
    assert {a.client for a in arrivals} == {0, 1}
    assert {a.key for a in arrivals} == {0, 1, 2, 3}


def test_in_a_quiet_stretch_a_tenth_of_the_sends_is_due_and_every_other_arrival_stays() -> None:
    def arrivals(*quiet: tuple[float, float]) -> list[Arrival]:
        operations = frozenset(F)
        spec = LoadSpec(keys=4, clients=2, seed=1, body_bytes=100, op_timeout_s=3, operations=operations, quiet=quiet)
        return list(
            takewhile(lambda one: one.at_ns < 20 * 10**9, QueueWorkload().generator(spec).arrivals([0, 1], 100))
        )

    def within(arrival: Arrival) -> bool:
        return 5 * 10**9 <= arrival.at_ns < 8 * 10**9

    steady, quiet = arrivals(), arrivals((5.0, 8.0))
    left_out = set(steady) - set(quiet)
    assert set(quiet) < set(steady)
    assert all(one.f is F.SEND and within(one) for one in left_out)
    assert sum(one.f is F.SEND and within(one) for one in quiet) == pytest.approx(100 * 3 / 10, abs=1)


def test_kinds_that_the_system_does_not_serve_are_left_out() -> None:
    operations = frozenset(F) - {F.SLAVE_READ}
    spec = LoadSpec(keys=4, clients=2, seed=1, body_bytes=100, op_timeout_s=3, operations=operations)
    it = QueueWorkload().generator(spec)
    kinds = {arrival.f for arrival in islice(it.arrivals([0, 1], 50), 400)}
    assert kinds == {F.SEND, F.POLL, F.READ}
    assert set(mix_of(QueueWorkload(), operations)) == kinds


def test_no_rate_asks_nothing() -> None:
    assert list(workload().arrivals([0], 0)) == []


def test_values_are_unique_and_cursors_follow_answers() -> None:
    it = workload()
    values = set()
    for arrival in islice(it.arrivals([0, 1], 50), 400):
        op = it.invocation(arrival, 0, 0)
        assert op is not None
        if op.f is F.SEND:
            assert op.argument.value not in values
            values.add(op.argument.value)
        elif op.f is F.POLL:
            it.learn(op, gave(next_offset=op.argument.offset + 5))
            assert again(it, arrival).argument.offset == op.argument.offset + 5
            it.learn(op, Completion(type=Type.INFO))
            assert again(it, arrival).argument.offset == op.argument.offset + 5
    assert len(values) > 100
