"""Which keys clients of spaces ask for, what they expect of them, and what is read at the end."""

from final_steps import performed

from chaos.core.op import Completion, Type
from chaos.models.coordination.kv import ABSENT, DELETED, NOT_TOLD, WIDTH, Answer, F, Held, Keys, keys_of_group
from chaos.storage.runinfo import Promises
from chaos.workload.base import Arrival, LoadSpec
from chaos.workload.final import FinalSpec, Part
from chaos.workload.objects.kv import CHANGES_OF_GROUP, KvLoad, KvWorkload

SPEC = LoadSpec(keys=3, clients=2, seed=1, body_bytes=8, op_timeout_s=1.0, operations=frozenset(F))
RATE = 10.0
"""Of changes a second in one space, by the mix and these keys and clients."""


def load():
    made = KvLoad(SPEC, KvWorkload.mix)
    next(made.arrivals([0, 1], RATE))
    return made


def asked(made, f, at_ns=0, client=0, key=2):
    return made.invocation(Arrival(at_ns, f, client, key), 7, 100)


def ok(made, op, answer, kind=Type.OK):
    made.learn(op, Completion(type=kind, result=answer))


def test_groups_follow_each_other_by_the_clock():
    made = load()
    later = int(1e9 * CHANGES_OF_GROUP * 100)
    first, last = asked(made, F.RANGE), asked(made, F.RANGE, later)
    assert first.argument == keys_of_group(0)
    assert last.argument.first > WIDTH
    assert made.notes() == {2: last.argument.first // WIDTH}


def test_a_transaction_puts_one_key_and_deletes_another_of_its_group():
    made = load()
    for _ in range(50):
        put, gone = asked(made, F.TXN).argument.changes
        assert put.value != DELETED
        assert gone.value == DELETED
        assert put.entry != gone.entry
        assert {put.entry // WIDTH, gone.entry // WIDTH} == {0}


def test_a_comparison_expects_what_the_clients_were_told_last():
    made = load()
    assert {asked(made, F.COMPARE_PUT).argument.changes[0].expected for _ in range(20)} == {ABSENT}
    ok(made, asked(made, F.RANGE), Answer(revision=9, held=[Held(entry, 5, 7) for entry in range(WIDTH)]))
    assert {asked(made, F.COMPARE_PUT).argument.changes[0].expected for _ in range(20)} == {7}
    refused = asked(made, F.COMPARE_PUT)
    ok(made, refused, Answer(revision=12, held=[Held(refused.argument.changes[0].entry, 5, 11)]), Type.FAIL)
    deleted = asked(made, F.DELETE)
    ok(made, deleted, Answer(revision=20, effects=1))
    expected = {one.entry: one.expected for one in (asked(made, F.COMPARE_PUT).argument.changes[0] for _ in range(60))}
    assert expected[deleted.argument.changes[0].entry] == ABSENT
    assert set(expected.values()) <= {ABSENT, 7, 11}


def test_where_there_are_no_revisions_none_is_learned():
    made = load()
    ok(made, asked(made, F.RANGE), Answer(held=[Held(entry, 5, NOT_TOLD) for entry in range(WIDTH)]))
    assert {asked(made, F.COMPARE_PUT).argument.changes[0].expected for _ in range(20)} == {ABSENT}


def test_most_values_are_written_once_and_some_again():
    made = load()
    values = [asked(made, F.PUT, client=number % 2).argument.changes[0].value for number in range(400)]
    assert 300 < len(set(values)) < 400
    assert {value % 2 for value in values[::2]} == {0}, "each client has numbers of its own"


def last(operations, answers):
    spec = FinalSpec(keys=3, op_timeout_s=1.0, operations=frozenset(operations), promises=Promises())
    (phase,) = KvWorkload().final(spec)
    missing, steps = performed(phase, Part(2), lambda *_: answers, notes=[1, 0])
    assert missing == ""
    return [(f, argument) for _, f, argument in steps]


def test_at_the_end_every_group_is_read_or_key_by_key():
    done = Completion(type=Type.OK, result=Answer())
    assert last(F, done) == [(F.RANGE, keys_of_group(0)), (F.RANGE, keys_of_group(1))]
    assert last(set(F) - {F.RANGE}, done) == [(F.GET, Keys(first=entry)) for entry in range(2 * WIDTH)]
