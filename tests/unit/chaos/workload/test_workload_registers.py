"""What long-fork, monotonic, multi-register and bank ask for."""

import itertools
from collections import Counter, defaultdict

import pytest

from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, Type
from chaos.models.transactions import bank
from chaos.models.transactions.words import CHANGES, REGISTERS, Do, F, Reads
from chaos.storage.runinfo import Promises
from chaos.workload.base import LoadSpec
from chaos.workload.final import FinalSpec, Heard, Limits, Part
from chaos.workload.objects.bank import BankWorkload
from chaos.workload.transactions.long_fork import TEAM, LongForkWorkload, Teams
from chaos.workload.transactions.monotonic import MonotonicWorkload
from chaos.workload.transactions.multi_register import MultiRegisterWorkload

CLIENTS = 8
HALVES = (range(4), range(4, 8))
OF_REGISTERS = [LongForkWorkload(), MonotonicWorkload(), MultiRegisterWorkload()]
OK = Completion(type=Type.OK)


def asked(workload, clients=range(CLIENTS), *, keys=1, seconds=20, rate=100.0, answer=OK):
    """What clients of one worker are asked for, each answered at once: (ns, invocation)."""
    spec = LoadSpec(
        keys=keys, clients=CLIENTS, seed=7, body_bytes=1, op_timeout_s=1.0, operations=frozenset(workload.mix)
    )
    generator, clients, ops = workload.generator(spec), list(clients), []
    due = generator.arrivals(clients, rate * len(clients) / CLIENTS)
    for one in itertools.takewhile(lambda one: one.at_ns < seconds * NS_PER_S, due):
        op = generator.invocation(one, one.client, 0)
        if op is not None:
            ops.append((one.at_ns, op))
            if answer is not None:
                generator.learn(op, answer)
    return ops, generator


def writes_of(ops):
    return [(at_ns, op, one) for at_ns, op in ops for one in op.argument.micros if one.do is not Do.READ]


@pytest.mark.parametrize("workload", OF_REGISTERS, ids=lambda one: one.name)
def test_no_value_of_a_key_is_written_twice_and_what_is_asked_fits_its_word(workload):
    written = Counter()
    for half in HALVES:
        ops, _ = asked(workload, half)
        assert len(ops) > 500
        for _, op in ops:
            does = [one.do for one in op.argument.micros]
            assert (Do.WRITE in does) == (op.f in CHANGES)
            assert set(does) <= {Do.READ, Do.WRITE}
            assert len({one.key for one in op.argument.micros}) == len(does)
        written.update((one.key, one.value) for _, _, one in writes_of(ops))
    assert set(written.values()) == {1}


@pytest.mark.parametrize("workload", OF_REGISTERS, ids=lambda one: one.name)
def test_a_client_stays_in_one_space_and_the_highest_key_is_noted(workload):
    ops, generator = asked(workload, keys=3)
    spaces, highest = defaultdict(set), Counter()
    for _, op in ops:
        spaces[op.client].add(op.key)
        highest[op.key] = max(highest[op.key], *(one.key for one in op.argument.micros))
    assert {client: len(own) for client, own in spaces.items()} == dict.fromkeys(range(CLIENTS), 1)
    assert generator.notes() == dict(highest)


@pytest.mark.parametrize("workload", [*OF_REGISTERS, BankWorkload()], ids=lambda one: one.name)
def test_the_same_seed_asks_the_same(workload):
    def told(ops):
        return [(at_ns, op.f, op.key, op.argument) for at_ns, op in ops]

    assert told(asked(workload, seconds=3)[0]) == told(asked(workload, seconds=3)[0])


def test_a_group_is_written_by_several_clients_at_a_time_and_read_as_a_whole():
    by_group, readers = defaultdict(dict), defaultdict(set)
    for half in HALVES:
        for at_ns, op in asked(OF_REGISTERS[0], half)[0]:
            if op.f is F.REGISTER_TXN:
                (one,) = op.argument.micros
                assert one.key not in by_group[one.key // TEAM], "a key is written once"
                by_group[one.key // TEAM][one.key] = at_ns, op.client
            else:
                (group,) = {one.key // TEAM for one in op.argument.micros}
                assert [one.key for one in op.argument.micros] == list(range(group * TEAM, (group + 1) * TEAM))
                readers[group].add(op.client)
    whole = [own for own in by_group.values() if len(own) == TEAM]
    assert len(by_group) > 50
    assert len(whole) > len(by_group) / 4
    assert all(len({client for _, client in own.values()}) == TEAM for own in whole)
    assert sum(len(own) for own in readers.values()) > 4 * len(readers)


@pytest.mark.parametrize("clients", range(1, 14))
@pytest.mark.parametrize("spaces", [1, 2, 3])
def test_no_two_clients_of_a_space_share_a_key(clients, spaces):
    teams = Teams(clients, spaces)
    for space in range(min(spaces, clients)):
        own = [teams.own(client, turn) for client in range(space, clients, spaces) for turn in range(3)]
        assert len({key for _, key in own}) == len(own)
        assert all(key // TEAM == group for group, key in own)


def test_the_values_of_a_register_only_grow_and_no_two_clients_write_one():
    values, writers = defaultdict(list), defaultdict(set)
    for half in HALVES:
        for _, op, one in writes_of(asked(OF_REGISTERS[1], half)[0]):
            values[one.key].append(one.value)
            writers[one.key].add(op.client)
    assert all(own == sorted(set(own)) for own in values.values())
    assert all(len(own) == 1 for own in writers.values())
    assert set(values) == set(range(CLIENTS))


def test_a_register_whose_write_is_in_doubt_is_never_written_again():
    ops, _ = asked(OF_REGISTERS[1], answer=Completion(type=Type.INFO, error="timeout"))
    written = Counter(one.key for _, _, one in writes_of(ops))
    assert len(written) > 100
    assert set(written.values()) == {1}


def test_a_client_writes_nothing_while_a_write_of_it_is_out():
    ops, _ = asked(OF_REGISTERS[1], answer=None)
    assert Counter(op.client for _, op, _ in writes_of(ops)) == dict.fromkeys(range(CLIENTS), 1)


def test_a_transaction_stays_in_one_group_of_registers_and_groups_are_retired():
    writes = Counter()
    for half in HALVES:
        for _, op in asked(OF_REGISTERS[2], half)[0]:
            (group,) = {one.key // REGISTERS for one in op.argument.micros}
            writes[group] += op.f in CHANGES
    assert len(writes) > 20
    assert max(writes.values()) < 40


def test_money_is_moved_between_two_accounts_of_a_bank():
    ops, _ = asked(BankWorkload())
    moved = [op.argument for _, op in ops if op.f is bank.F.TRANSFER]
    assert len(moved) > 500
    assert all(one.source != one.target and 1 <= one.amount <= 5 for one in moved)
    assert {one.source for one in moved} == {one.target for one in moved} == set(range(bank.ACCOUNTS))


def questions(steps):
    """The keys of each question, all of which are answered; returns why the part is not complete."""
    told = None
    while True:
        try:
            (ask,) = steps.send(told).asks
        except StopIteration as end:
            return end.value
        yield [one.key for one in ask.argument.micros]
        told = Heard(0, 0, (Completion(type=Type.OK, result=Reads([])),))


def last_reads(workload, notes):
    """The keys of each final question."""
    spec = FinalSpec(keys=1, op_timeout_s=1.0, operations=frozenset(workload.mix), promises=Promises())
    (phase,) = workload.final(spec)
    assert phase.required
    return list(questions(phase.steps(Part(0), notes, Limits(until_ns=10 * NS_PER_S), 0)))


def test_every_group_that_any_worker_used_is_read_at_the_end():
    assert last_reads(OF_REGISTERS[0], (3, 9)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert last_reads(OF_REGISTERS[2], (5,)) == [[0, 1, 2], [3, 4, 5]]
    assert last_reads(OF_REGISTERS[1], (4,)) == [[0, 1, 2, 3, 4]]
    assert last_reads(OF_REGISTERS[0], ()) == []
