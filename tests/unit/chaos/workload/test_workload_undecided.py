"""Delayed and transactional sends: what is drawn beside the value is seeded, and keeps its bounds and shares."""

from collections import Counter
from itertools import islice

import pytest

from chaos.core.clock import NS_PER_S
from chaos.core.errors import UsageError
from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.transaction import Decision, creates
from chaos.models.log.words import F, Record, Value
from chaos.workload.base import LoadSpec, check_suited
from chaos.workload.delayed import LONGEST_S, SHORTEST_S, DelayedWorkload
from chaos.workload.queue import QueueWorkload
from chaos.workload.transactional import SHARES, TransactionalWorkload
from chaos.workload.unread_values import MOST, Owed, missing, together

NOW = 5 * NS_PER_S


def drawn(kind: type[QueueWorkload], f: F, seed: int = 1, count: int = 4000) -> list[Invocation]:
    it = kind(LoadSpec(queues=4, clients=3, seed=seed, body_bytes=100, op_timeout_s=3, operations=frozenset(F)))
    ops = [it.invocation(arrival, 0, NOW) for arrival in islice(it.arrivals([0, 1, 2], 100), count)]
    values = [op.value for op in ops if op is not None and op.value is not None]
    assert len(values) == len(set(values))
    return [op for op in ops if op is not None and op.f is f]


def test_delays_are_drawn_from_the_seed_and_keep_their_bounds() -> None:
    first, again, other = (drawn(DelayedWorkload, F.SCHEDULE, seed) for seed in (1, 1, 2))
    assert first == again != other
    waits_s = [(op.argument - NOW) / NS_PER_S for op in first]
    assert SHORTEST_S <= min(waits_s) < SHORTEST_S + 0.5
    assert LONGEST_S - 0.5 < max(waits_s) <= LONGEST_S
    assert DelayedWorkload.linger_s > LONGEST_S
    assert all(op.argument == 0 for op in drawn(DelayedWorkload, F.SEND))


def test_decisions_are_drawn_from_the_seed_in_their_shares() -> None:
    first, again, other = (drawn(TransactionalWorkload, F.TRANSACT, seed) for seed in (1, 1, 2))
    assert first == again != other
    shares = {decision: n / len(first) for decision, n in Counter(Decision(op.argument) for op in first).items()}
    assert set(shares) == set(Decision)
    assert shares == pytest.approx(dict(SHARES), abs=0.05)
    assert sum(SHARES.values()) == pytest.approx(1)


@pytest.mark.parametrize(("workload", "word"), [(DelayedWorkload, "schedule"), (TransactionalWorkload, "transact")])
def test_a_system_whose_clients_cannot_is_refused(workload: type[QueueWorkload], word: str) -> None:
    operations = frozenset({F.SEND, F.POLL, F.READ, F.DRAIN})
    with pytest.raises(UsageError, match=f"clients of minimq make no {word}"):
        check_suited(workload, "minimq", operations, idempotent_sends=True)


@pytest.mark.parametrize(
    ("f", "argument", "owed"),
    [
        (F.SEND, 0, True),
        (F.SCHEDULE, 77, True),
        (F.TRANSACT, Decision.COMMIT, True),
        (F.TRANSACT, Decision.COMMIT_WHEN_ASKED, True),
        (F.TRANSACT, Decision.ROLLBACK, False),
        (F.TRANSACT, Decision.ROLLBACK_WHEN_ASKED, False),
        (F.TRANSACT, Decision.NEVER, False),
        (F.POLL, 0, False),
    ],
)
def test_what_an_acknowledgement_promises(f: F, argument: int, owed: bool) -> None:
    assert creates(f, argument) is owed


def sent(sequence: int, f: F = F.SCHEDULE, argument: int = 9, key: int = 0) -> Invocation:
    return Invocation(process=1, f=f, key=key, deadline_ns=0, value=Value(1, sequence), argument=argument)


def test_a_worker_remembers_what_it_is_owed_until_somebody_reads_it() -> None:
    owed = Owed()
    ok = Completion(type=Type.OK)
    for op in (sent(0), sent(1), sent(2, key=3), sent(3, F.TRANSACT, Decision.ROLLBACK)):
        owed.learn(op, ok)
    owed.learn(sent(4), Completion(type=Type.INFO))
    owed.learn(sent(5, F.SEND, 0), Completion(type=Type.OK, offset=8))
    assert owed.named() == {0: ((1, 0), (1, 1)), 3: ((1, 2),)}
    poll = Invocation(process=1, f=F.POLL, key=0, deadline_ns=0, offset=0)
    owed.learn(poll, Completion(type=Type.INFO, records=(Record(4, Value(1, 0)), Record(5, None))))
    assert owed.named() == {0: ((1, 1),), 3: ((1, 2),)}
    assert together([owed.named(), {3: ((2, 7),)}]) == {0: ((1, 1),), 3: ((1, 2), (2, 7))}
    assert missing(((1, 1), (1, 9)), (Record(0, Value(1, 1)),)) == 1


def test_what_is_owed_is_named_up_to_a_bound() -> None:
    owed = Owed()
    for sequence in range(MOST + 5):
        owed.learn(sent(sequence), Completion(type=Type.OK))
    assert len(owed.named()[0]) == MOST
    assert owed.named()[0][0] == (1, 0)
