"""Delayed and transactional sends: what is drawn beside the value is seeded, and keeps its bounds and shares."""

from collections import Counter
from itertools import islice
from typing import Any

import pytest
from log_ops import asking, gave, placed, reading, sending

from chaos.core.clock import NS_PER_S
from chaos.core.errors import UsageError
from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.operations import Schedule, Transact, creates
from chaos.models.log.transaction import Decision
from chaos.models.log.words import F, Record, Value
from chaos.storage.runinfo import Promises
from chaos.workload.base import LoadSpec, Workload, check_suited
from chaos.workload.final import FinalSpec
from chaos.workload.logs.delayed import LONGEST_S, SHORTEST_S, DelayedWorkload
from chaos.workload.logs.transactional import SHARES, TransactionalWorkload
from chaos.workload.logs.unread_values import MOST, LogNote, Unread, count_missing

NOW = 5 * NS_PER_S


def drawn(kind: type[Workload], f: F, seed: int = 1, count: int = 4000) -> list[Invocation]:
    spec = LoadSpec(keys=4, clients=3, seed=seed, body_bytes=100, op_timeout_s=3, operations=frozenset(F))
    it = kind().generator(spec)
    ops = [it.invocation(arrival, 0, NOW) for arrival in islice(it.arrivals([0, 1, 2], 100), count)]
    values = [op.argument.value for op in ops if op is not None and hasattr(op.argument, "value")]
    assert len(values) == len(set(values))
    return [op for op in ops if op is not None and op.f is f]


def test_delays_are_drawn_from_the_seed_and_keep_their_bounds() -> None:
    first, again, other = (drawn(DelayedWorkload, F.SCHEDULE, seed) for seed in (1, 1, 2))
    assert first == again != other
    waits_s = [(op.argument.not_before_ns - NOW) / NS_PER_S for op in first]
    assert SHORTEST_S <= min(waits_s) < SHORTEST_S + 0.5
    assert LONGEST_S - 0.5 < max(waits_s) <= LONGEST_S
    spec = FinalSpec(keys=4, op_timeout_s=3, operations=frozenset(F), promises=Promises())
    assert DelayedWorkload().final(spec)[0].after_s > LONGEST_S


def test_decisions_are_drawn_from_the_seed_in_their_shares() -> None:
    first, again, other = (drawn(TransactionalWorkload, F.TRANSACT, seed) for seed in (1, 1, 2))
    assert first == again != other
    shares = {decision: n / len(first) for decision, n in Counter(op.argument.decision for op in first).items()}
    assert set(shares) == set(Decision)
    assert shares == pytest.approx(dict(SHARES), abs=0.05)
    assert sum(SHARES.values()) == pytest.approx(1)


@pytest.mark.parametrize(("workload", "word"), [(DelayedWorkload, "schedule"), (TransactionalWorkload, "transact")])
def test_a_system_whose_clients_cannot_is_refused(workload: type[Workload], word: str) -> None:
    operations = frozenset({F.SEND, F.POLL, F.READ, F.DRAIN})
    with pytest.raises(UsageError, match=f"clients of minimq make no {word}"):
        check_suited(workload(), "minimq", operations, idempotent_sends=True)


SENT = Value(1, 0)


@pytest.mark.parametrize(
    ("op", "owed"),
    [
        (sending(SENT), True),
        (asking(F.SCHEDULE, Schedule(value=SENT, not_before_ns=77)), True),
        (asking(F.TRANSACT, Transact(value=SENT, decision=Decision.COMMIT)), True),
        (asking(F.TRANSACT, Transact(value=SENT, decision=Decision.COMMIT_WHEN_ASKED)), True),
        (asking(F.TRANSACT, Transact(value=SENT, decision=Decision.ROLLBACK)), False),
        (asking(F.TRANSACT, Transact(value=SENT, decision=Decision.ROLLBACK_WHEN_ASKED)), False),
        (asking(F.TRANSACT, Transact(value=SENT, decision=Decision.NEVER)), False),
        (reading(F.POLL), False),
    ],
)
def test_what_an_acknowledgement_promises(op: Invocation, owed: bool) -> None:
    assert creates(op) is owed


def scheduled(sequence: int, key: int = 0) -> Invocation:
    return asking(F.SCHEDULE, Schedule(value=Value(1, sequence), not_before_ns=9), key=key)


def test_a_worker_remembers_what_it_is_owed_until_somebody_reads_it() -> None:
    unread = Unread()
    rolled_back = asking(F.TRANSACT, Transact(value=Value(1, 3), decision=Decision.ROLLBACK))
    for op in (scheduled(0), scheduled(1), scheduled(2, key=3), rolled_back):
        unread.learn(op, placed(None))
    unread.learn(scheduled(4), Completion(type=Type.INFO))
    unread.learn(sending((1, 5)), placed(8))
    assert unread.notes() == {0: LogNote(8, ((1, 0), (1, 1))), 3: LogNote(-1, ((1, 2),))}
    unread.learn(reading(F.POLL), gave((4, (1, 0)), (5, None), kind=Type.INFO))
    assert unread.notes() == {0: LogNote(8, ((1, 1),)), 3: LogNote(-1, ((1, 2),))}
    assert count_missing(((1, 1), (1, 9)), (Record(0, Value(1, 1)),)) == 1


def test_what_workers_noted_of_a_queue_is_added_up() -> None:
    notes: list[Any] = [{"highest": 4, "owed": [[1, 2]]}, LogNote(9, ((2, 7),))]
    assert LogNote.of_all(notes) == LogNote(9, ((1, 2), (2, 7)))
    assert LogNote.of_all(()) == LogNote()


def test_what_is_owed_is_named_up_to_a_bound() -> None:
    unread = Unread()
    for sequence in range(MOST + 5):
        unread.learn(scheduled(sequence), Completion(type=Type.OK))
    assert len(unread.notes()[0].owed) == MOST
    assert unread.notes()[0].owed[0] == (1, 0)
