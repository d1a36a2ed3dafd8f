"""Registers' clients: most values once, some again, a compare-and-set of what was met last."""

import itertools
from collections import Counter

from chaos.core.op import Completion, Type
from chaos.models.objects.answers import Found
from chaos.models.objects.register import F
from chaos.workload.base import LoadSpec
from chaos.workload.objects.register import RegisterWorkload

SPEC = LoadSpec(keys=3, clients=4, seed=5, body_bytes=0, op_timeout_s=3.0, operations=frozenset(F))


def asked(number, answers=None):
    """So many operations of all clients; ``answers``: by word, what each is answered at once."""
    generator = RegisterWorkload().generator(SPEC)
    out = []
    for arrival in itertools.islice(generator.arrivals([0, 1, 2, 3], 100.0), number):
        op = generator.invocation(arrival, process=1, now_ns=0)
        out.append(op)
        if answers and op.f in answers:
            generator.learn(op, Completion(type=Type.OK, node="m1", result=answers[op.f]))
    return out


def test_the_same_seed_asks_the_same():
    assert asked(500) == asked(500)


def test_most_numbers_are_written_once_and_some_again_and_no_two_clients_share_one():
    written = [(op.argument.value, op.client) for op in asked(4000) if op.f is not F.READ]
    times = Counter(value for value, _ in written)
    assert 0.02 < sum(count > 1 for count in times.values()) / len(times) < 0.2
    assert len(set(written)) == len(times)


def test_a_compare_and_set_expects_what_its_client_met_last():
    read = [op.argument.expected for op in asked(2000, {F.READ: Found(77)}) if op.f is F.CAS]
    assert read.count(77) > len(read) * 0.9
    written, last = asked(2000, {F.WRITE: None, F.CAS: None}), {}
    for op in written:
        if op.f is F.CAS and (op.client, op.key) in last:
            assert op.argument.expected == last[op.client, op.key]
        if op.f is not F.READ:
            last[op.client, op.key] = op.argument.value


def test_what_failed_or_found_nothing_is_not_expected():
    generator = RegisterWorkload().generator(SPEC)
    for op in asked(200):
        generator.learn(op, Completion(type=Type.FAIL, node="m1", result=None))
        if op.f is F.READ:
            generator.learn(op, Completion(type=Type.OK, node="m1", result=Found(None)))
    made = (generator.invocation(arrival, 1, 0) for arrival in itertools.islice(generator.arrivals([0], 50.0), 200))
    assert {op.argument.expected for op in made if op.f is F.CAS} == {0}
