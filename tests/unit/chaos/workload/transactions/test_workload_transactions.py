"""What the workloads of transactions ask for: elements written once, keys that all workers change together."""

import itertools
from collections import Counter, defaultdict

import pytest

from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, Type
from chaos.models.transactions.words import CHANGES, Do, F, Reads
from chaos.storage.runinfo import Promises
from chaos.workload.base import LoadSpec
from chaos.workload.final import Asks, FinalSpec, Heard, Limits, Part, Wait
from chaos.workload.transactions.list_append import ListAppendWorkload
from chaos.workload.transactions.rw_register import RwRegisterWorkload
from chaos.workload.transactions.transactions import IN_USE, LONGEST, READ_AT_ONCE, key_at

BOTH = [ListAppendWorkload(), RwRegisterWorkload()]
CLIENTS = 6


def asked(workload, clients=range(CLIENTS), *, keys=1, seconds=20, rate=100.0, seed=7):
    """What clients of one worker are asked for: (ns, invocation)."""
    spec = LoadSpec(
        keys=keys, clients=CLIENTS, seed=seed, body_bytes=1, op_timeout_s=1.0, operations=frozenset(workload.mix)
    )
    generator, clients = workload.generator(spec), list(clients)
    due = generator.arrivals(clients, rate * len(clients) / CLIENTS)
    due = itertools.takewhile(lambda one: one.at_ns < seconds * NS_PER_S, due)
    return [(one.at_ns, generator.invocation(one, one.client, 0)) for one in due], generator


@pytest.mark.parametrize("workload", BOTH, ids=lambda one: one.name)
def test_every_value_is_written_once_and_what_is_asked_fits_its_word(workload):
    written = Counter()
    for clients in (range(3), range(3, 6)):
        ops, _ = asked(workload, clients)
        assert len(ops) > 500
        for _, op in ops:
            micros = op.argument.micros
            writes = [one for one in micros if one.do is not Do.READ]
            assert 1 <= len(micros) <= LONGEST
            assert bool(writes) == (op.f in CHANGES)
            assert {one.do for one in writes} <= {Do.APPEND if op.f is F.LIST_TXN else Do.WRITE}
            if op.f is F.REGISTER_TXN:
                assert len({one.key for one in writes}) == len(writes)
            written.update((one.key, one.value) for one in writes)
    assert set(written.values()) == {1}


@pytest.mark.parametrize("workload", BOTH, ids=lambda one: one.name)
def test_keys_are_retired_and_workers_use_the_same_ones_at_a_time(workload):
    seconds = defaultdict(set)
    writes = Counter()
    for worker, clients in enumerate((range(3), range(3, 6))):
        for at_ns, op in asked(workload, clients)[0]:
            seconds[at_ns // (NS_PER_S // 4), worker].update(one.key for one in op.argument.micros)
            writes.update(one.key for one in op.argument.micros if one.do is not Do.READ)
    for quarter in range(4, 76):
        one, other = seconds[quarter, 0], seconds[quarter, 1]
        assert max(one | other) - min(one | other) < 3 * IN_USE
        assert one & other
    assert max(writes) > 5 * IN_USE
    assert 20 < sum(writes.values()) / len(writes) < 45


def test_keys_do_not_all_change_at_once():
    changes = [
        at for at in range(1, 6000) for slot in range(IN_USE) if key_at(slot, at, 600) != key_at(slot, at - 1, 600)
    ]
    assert len(changes) == len(set(changes)) > 50
    assert key_at(0, 0, 600) == 0


def test_a_client_stays_in_one_space():
    ops, generator = asked(BOTH[0], keys=3)
    spaces = defaultdict(set)
    for _, op in ops:
        spaces[op.client].add(op.key)
    assert {client: len(own) for client, own in spaces.items()} == dict.fromkeys(range(CLIENTS), 1)
    assert set(generator.notes()) == {0, 1, 2}


def test_the_same_seed_asks_the_same():
    def key(ops):
        return [(at, op.f, op.argument) for at, op in ops]

    assert key(asked(BOTH[0], seconds=2)[0]) == key(asked(BOTH[0], seconds=2)[0])
    assert key(asked(BOTH[0], seconds=2)[0]) != key(asked(BOTH[0], seconds=2, seed=8)[0])


def last_reads(workload, notes, answers):
    """Drive the final part; returns (the keys of each question, why it is not complete)."""
    spec = FinalSpec(keys=1, op_timeout_s=1.0, operations=frozenset(workload.mix), promises=Promises())
    (phase,) = workload.final(spec)
    assert (phase.required, phase.parts()) == (True, (Part(0),))
    steps = phase.steps(Part(0), notes, Limits(until_ns=10 * NS_PER_S), 0)
    questions, told, now_ns = [], None, 0
    try:
        while True:
            step = steps.send(told)
            if isinstance(step, Wait):
                now_ns += int(step.seconds * NS_PER_S)
                told = Heard(now_ns, now_ns)
                continue
            assert isinstance(step, Asks)
            assert step.fresh
            (ask,) = step.asks
            assert {one.do for one in ask.argument.micros} == {Do.READ}
            questions.append([one.key for one in ask.argument.micros])
            told = Heard(now_ns, now_ns, (next(answers),))
    except StopIteration as end:
        return questions, end.value


OK, NO = Completion(type=Type.OK, result=Reads([])), Completion(type=Type.FAIL, error="refused")


@pytest.mark.parametrize("workload", BOTH, ids=lambda one: one.name)
def test_every_key_that_any_worker_used_is_read_at_the_end(workload):
    questions, why = last_reads(workload, (17, 40), itertools.chain([NO], itertools.repeat(OK)))
    assert why == ""
    assert questions[0] == questions[1] == list(range(READ_AT_ONCE))
    assert list(itertools.chain(*questions[1:])) == list(range(41))


def test_a_key_that_is_never_read_is_said():
    questions, why = last_reads(BOTH[0], (3,), itertools.repeat(NO))
    assert why == "refused"
    assert 5 < len(questions) < 15


def test_without_a_used_key_nothing_is_read():
    assert last_reads(BOTH[0], (), iter(())) == ([], "")
