"""Objects' operations are in their tables as they were; values that do not fit a record are proven like the others."""

import pytest

from chaos.core.errors import HistoryError
from chaos.core.op import Completion, Invocation, Type
from chaos.models.coordination import kv, lease, lock, semaphore, unique_ids, watch
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from chaos.models.queues import total_queue
from chaos.models.registry import model_named
from chaos.storage.history import operation_schema, read_stream, table_schemas
from chaos.storage.manifest import stream_suffixes
from chaos.storage.recorder import FRAME, OP_SIZE, Recorder

LARGEST = 2**63 - 1
R, S, C = register.F, sets.F, counter.F


def written(folder, model, *ops):
    """Operations one after the other: (f, argument, result), and a last one that is open."""
    recorder = Recorder(folder, 0, ("m1",), model)
    for f, argument, result in ops:
        op = Invocation(process=1, client=0, f=f, key=3, deadline_ns=0, argument=argument)
        number, _ = recorder.invoke(op, 0, pinned=False)
        recorder.complete(number, op, Completion(type=Type.OK, result=result))
    recorder.invoke(
        Invocation(process=2, client=0, f=ops[0][0], key=3, deadline_ns=0, argument=ops[0][1]), 0, pinned=False
    )
    recorder.close()


def rows(folder, model):
    stream = read_stream(folder, 0, model)
    assert stream.reads is None
    assert stream.facts.last_sequence == {}
    names = model.tables.columns.names
    told = stream.operations.to_pylist()
    return [tuple(row[name] for name in names) for row in told], [model.line(row) for row in told]


def test_sources_of_ids(tmp_path):
    given = unique_ids.Id(LARGEST)
    written(tmp_path, unique_ids.UNIQUE_IDS, *((unique_ids.F.GENERATE, None, one) for one in (given, None)))
    assert rows(tmp_path, unique_ids.UNIQUE_IDS) == (
        [(LARGEST, 1), (0, -1), (0, -1)],
        [f"generate k3 -> {LARGEST}", "generate k3", "generate k3"],
    )


def test_leases(tmp_path):
    which = lease.Which(lease=LARGEST)
    written(
        tmp_path,
        lease.LEASE,
        (lease.F.GRANT, lease.Term(lease=LARGEST, ttl_ms=4000), lease.Alive(5000)),
        (lease.F.RENEW, which, lease.Alive(5000)),
        (lease.F.RENEW, which, None),
        (lease.F.REVOKE, which, None),
        (lease.F.READ, None, lease.Living([LARGEST, 2])),
        (lease.F.READ, None, lease.Living()),
        (lease.F.READ, None, None),
    )
    assert rows(tmp_path, lease.LEASE) == (
        [
            (LARGEST, 4000, 5000, [], 1),
            (LARGEST, 0, 5000, [], 1),
            (LARGEST, 0, 0, [], -1),
            (LARGEST, 0, 0, [], -1),
            (0, 0, 0, [LARGEST, 2], 1),
            (0, 0, 0, [], 1),
            (0, 0, 0, [], -1),
            (LARGEST, 4000, 0, [], -1),
        ],
        [
            f"grant k3 {LARGEST} for 4000 ms -> 5000 ms",
            f"renew k3 {LARGEST} -> 5000 ms",
            f"renew k3 {LARGEST}",
            f"revoke k3 {LARGEST}",
            f"read k3 -> [{LARGEST} 2]",
            "read k3 -> []",
            "read k3",
            f"grant k3 {LARGEST} for 4000 ms",
        ],
    )


def test_key_spaces(tmp_path):
    move = kv.Changes(changes=(kv.Change(1, LARGEST), kv.Change(2)))
    compared = kv.Changes(changes=(kv.Change(1, 4, LARGEST),))
    there = [kv.Held(1, 4, LARGEST), kv.Held(3, 5)]
    written(
        tmp_path,
        kv.KV,
        (kv.F.TXN, move, kv.Answer(revision=LARGEST, effects=3)),
        (kv.F.TXN, move, kv.Answer(effects=1)),
        (kv.F.DELETE, kv.Changes(changes=(kv.Change(2),)), kv.Answer(revision=7, effects=kv.NOT_TOLD)),
        (kv.F.COMPARE_PUT, compared, kv.Answer(revision=8, held=there[:1])),
        (kv.F.RANGE, kv.keys_of_group(2), kv.Answer(revision=9, held=there)),
        (kv.F.GET, kv.Keys(first=5), kv.Answer()),
        (kv.F.GET, kv.Keys(first=5), None),
    )
    columns, lines = rows(tmp_path, kv.KV)
    none, moved = ([], [], []), ([1, 2], [LARGEST, -1], [-1, -1])
    assert columns == [
        (*moved, 0, 0, LARGEST, 3, *none, 1),
        (*moved, 0, 0, -1, 1, *none, 1),
        ([2], [-1], [-1], 0, 0, 7, -1, *none, 1),
        ([1], [4], [LARGEST], 0, 0, 8, 0, [1], [4], [LARGEST], 1),
        (*none, 8, 4, 9, 0, [1, 3], [4, 5], [LARGEST, -1], 1),
        (*none, 5, 1, -1, 0, *none, 1),
        (*none, 5, 1, -1, 0, *none, -1),
        (*moved, 0, 0, -1, 0, *none, -1),
    ]
    assert lines == [
        f"txn s3 1={LARGEST}, 2 deleted -> at {LARGEST}",
        f"txn s3 1={LARGEST}, 2 deleted",
        "delete s3 2 deleted -> at 7",
        f"compare-put s3 1=4 if it is of {LARGEST} -> 1=4 of {LARGEST} at 8",
        f"range s3 8 to 11 -> 1=4 of {LARGEST}, 3=5 at 9",
        "get s3 5 -> nothing",
        "get s3 5",
        f"txn s3 1={LARGEST}, 2 deleted",
    ]


def test_watches(tmp_path):
    changes = watch.Changes(changes=(watch.Change(1, LARGEST), watch.Change(2)))
    since = watch.From(revision=LARGEST, listen_ms=1000)
    put = watch.Event(batch=0, revision=7, entry=1, value=LARGEST, previous_revision=5, previous_value=9)
    gone = watch.Event(batch=1, revision=8, entry=1, value=watch.DELETED)
    written(
        tmp_path,
        watch.WATCH,
        (watch.F.WRITE, changes, watch.Written(revision=LARGEST, effects=1)),
        (watch.F.WRITE, changes, None),
        (watch.F.SUBSCRIBE, since, watch.Events([put, gone], batches=2)),
        (watch.F.SUBSCRIBE, since, watch.Events([put] * 5, batches=1)),
        (watch.F.SUBSCRIBE, since, watch.Events()),
        (watch.F.SUBSCRIBE, since, None),
    )
    columns, lines = rows(tmp_path, watch.WATCH)
    none, change = ([],) * 6, ([1, 2], [LARGEST, -1])
    assert columns == [
        (*change, 1, LARGEST, *none, 1),
        (*change, 0, 0, *none, -1),
        ([], [], 0, LARGEST, [0, 1], [7, 8], [1, 1], [LARGEST, -1], [5, 0], [9, -1], 1),
        ([], [], 0, LARGEST, [0] * 5, [7] * 5, [1] * 5, [LARGEST] * 5, [5] * 5, [9] * 5, 1),
        ([], [], 0, LARGEST, *none, 1),
        ([], [], 0, LARGEST, *none, -1),
        (*change, 0, 0, *none, -1),
    ]
    shown = f"7 1={LARGEST}"
    assert lines == [
        f"write k3 1={LARGEST}, 2 deleted -> {LARGEST}",
        f"write k3 1={LARGEST}, 2 deleted",
        f"subscribe k3 from {LARGEST} -> {shown}, 8 1 deleted",
        f"subscribe k3 from {LARGEST} -> {shown}, {shown}, … 1 more …, {shown}, {shown}",
        f"subscribe k3 from {LARGEST} -> nothing",
        f"subscribe k3 from {LARGEST}",
        f"write k3 1={LARGEST}, 2 deleted",
    ]


def test_follows(tmp_path):
    now = watch.FromNow(listen_ms=1000)
    put = watch.Event(batch=0, revision=LARGEST, entry=1, value=watch.UNREAD, previous_revision=watch.NOT_TOLD)
    read = watch.session_read(entry=1, revision=8, value=9, applied=LARGEST)
    written(
        tmp_path,
        watch.WATCH,
        (watch.F.FOLLOW, now, watch.Followed([put, read], batches=1, since=7)),
        (watch.F.FOLLOW, now, watch.Followed(since=LARGEST)),
        (watch.F.FOLLOW, now, watch.Followed([put], batches=1)),
        (watch.F.FOLLOW, now, None),
    )
    columns, lines = rows(tmp_path, watch.WATCH)
    none = ([],) * 6
    assert columns == [
        ([], [], 0, 7, [0, -1], [LARGEST, 8], [1, 1], [-2, 9], [-1, LARGEST], [-1, -1], 1),
        ([], [], 0, LARGEST, *none, 1),
        *[([], [], 0, 0, *none, -1)] * 3,
    ]
    assert lines == [
        f"follow k3 from 7 -> {LARGEST} 1=?",
        f"follow k3 from {LARGEST} -> nothing",
        *["follow k3"] * 3,
    ]


def test_locks(tmp_path):
    token = lock.Token(token=LARGEST)
    written(
        tmp_path,
        lock.LOCK,
        (lock.F.ACQUIRE, lock.Lease(lease_ms=2000), lock.Granted(LARGEST)),
        (lock.F.GUARDED, token, lock.Written(9)),
        (lock.F.GUARDED, token, None),
        (lock.F.UNLOCK, token, None),
    )
    assert rows(tmp_path, lock.LOCK) == (
        [(LARGEST, 2000, 0, 1), (LARGEST, 0, 9, 1), (LARGEST, 0, 0, -1), (LARGEST, 0, 0, -1), (0, 2000, 0, -1)],
        [
            f"acquire k3 2000 ms -> token {LARGEST}",
            f"guarded k3 under {LARGEST} -> version 9",
            f"guarded k3 under {LARGEST}",
            f"unlock k3 under {LARGEST}",
            "acquire k3 2000 ms",
        ],
    )


def test_semaphores(tmp_path):
    wanted, permit = semaphore.Wanted(lease_ms=4000, permits=3), semaphore.Permit(LARGEST)
    written(
        tmp_path,
        semaphore.SEMAPHORE,
        (semaphore.F.ACQUIRE, wanted, permit),
        (semaphore.F.ACQUIRE, wanted, None),
        (semaphore.F.GIVE_BACK, permit, None),
    )
    assert rows(tmp_path, semaphore.SEMAPHORE) == (
        [(LARGEST, 4000, 3, 1), (0, 4000, 3, -1), (LARGEST, 0, 0, -1), (0, 4000, 3, -1)],
        [
            f"acquire k3 1 of 3 for 4000 ms -> permit {LARGEST}",
            "acquire k3 1 of 3 for 4000 ms",
            f"give-back k3 permit {LARGEST}",
            "acquire k3 1 of 3 for 4000 ms",
        ],
    )


def test_queues_without_offsets(tmp_path):
    f, message = total_queue.F, total_queue.Message(value=LARGEST)
    written(
        tmp_path,
        total_queue.TOTAL_QUEUE,
        (f.ENQUEUE, message, None),
        (f.DEQUEUE, None, total_queue.Taken(LARGEST, again=True)),
        (f.DEQUEUE, None, total_queue.Taken(total_queue.STRANGE)),
        (f.DEQUEUE, None, total_queue.Taken()),
        (f.DEQUEUE, None, None),
    )
    assert rows(tmp_path, total_queue.TOTAL_QUEUE)[1][:5] == [
        f"enqueue k3 {LARGEST}",
        f"dequeue k3 -> {LARGEST} again",
        "dequeue k3 -> -1",
        "dequeue k3 -> empty",
        "dequeue k3",
    ]


def test_registers(tmp_path):
    write, cas = register.Write(value=-LARGEST), register.Cas(expected=7, value=LARGEST)
    written(
        tmp_path,
        register.REGISTER,
        (R.READ, None, Found()),
        (R.WRITE, write, None),
        (R.CAS, cas, None),
        (R.READ, None, Found(0)),
        (R.READ, None, None),
    )
    told, lines = rows(tmp_path, register.REGISTER)
    assert told == [(0, 0, 0, 0), (-LARGEST, 0, 0, -1), (LARGEST, 7, 0, -1), (0, 0, 0, 1), (0, 0, 0, -1), (0, 0, 0, -1)]
    assert lines == [
        "read k3 -> nil",
        f"write k3 {-LARGEST}",
        f"cas k3 7->{LARGEST}",
        "read k3 -> 0",
        "read k3",
        "read k3",
    ]


def test_counters(tmp_path):
    written(
        tmp_path,
        counter.COUNTER,
        (C.ADD, counter.Add(amount=2), None),
        (C.READ, None, Found(2)),
        (C.READ, None, Found()),
    )
    told, lines = rows(tmp_path, counter.COUNTER)
    assert told == [(2, 0, -1), (0, 2, 1), (0, 0, 0), (2, 0, -1)]
    assert lines == ["add k3 2", "read k3 -> 2", "read k3 -> nil", "add k3 2"]


READS = (
    (S.READ, None, sets.Elements([3, 1])),
    (S.ADD, sets.Add(element=9), None),
    (S.READ, None, sets.Elements()),
    (S.READ, None, sets.Elements([*range(20)])),
)


def test_sets(tmp_path):
    written(tmp_path, sets.SET, *READS)
    told, lines = rows(tmp_path, sets.SET)
    assert told == [(0, [3, 1], 1), (9, [], -1), (0, [], 1), (0, [*range(20)], 1), (0, [], -1)]
    assert lines == [
        "read k3 -> [3 1]",
        "add k3 9",
        "read k3 -> []",
        "read k3 -> [0 1 2 3 4 5 6 7 … 20 in all]",
        "read k3",
    ]


@pytest.mark.parametrize("at", [0, 4, FRAME.size, FRAME.size + 16])
def test_values_that_were_altered_are_found(tmp_path, at):
    written(tmp_path, sets.SET, *READS)
    path = tmp_path / "w0.values"
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(HistoryError, match=r"w0\.values: .*altered"):
        read_stream(tmp_path, 0, sets.SET)


def test_values_that_are_missing_or_too_many_are_found(tmp_path):
    written(tmp_path, sets.SET, *READS)
    path = tmp_path / "w0.values"
    whole = path.read_bytes()
    for data in (whole[:-1], b"", whole[: FRAME.size + 16], whole + whole[: FRAME.size + 16]):
        path.write_bytes(data)
        with pytest.raises(HistoryError, match=r"w0\.values: .*altered"):
            read_stream(tmp_path, 0, sets.SET)
    path.unlink()
    with pytest.raises(HistoryError, match=r"w0\.values: missing"):
        read_stream(tmp_path, 0, sets.SET)


def test_a_completion_whose_values_were_cut_off_is_none(tmp_path):
    written(tmp_path, sets.SET, *READS)
    ops, values = tmp_path / "w0.ops", tmp_path / "w0.values"
    ops.write_bytes(ops.read_bytes()[:-OP_SIZE])  # its writer was killed
    before = -1
    for length in range(0, values.stat().st_size + 1, 5):
        whole = values.read_bytes()
        values.write_bytes(whole[:length] + bytes(32))
        stream = read_stream(tmp_path, 0, sets.SET)
        values.write_bytes(whole)
        assert not stream.facts.ended
        assert stream.facts.operations >= before
        before = stream.facts.operations
        complete = [row for row in stream.operations.to_pylist() if row["answer"] == 1]
        assert [row["elements"] for row in complete] == [[3, 1], [], [*range(20)]][: len(complete)]


@pytest.mark.parametrize(
    ("name", "suffixes"),
    [
        ("log", [".ops", ".reads", ".errors"]),
        ("register", [".ops", ".errors"]),
        ("set", [".ops", ".values", ".errors"]),
    ],
)
def test_a_worker_has_the_files_that_its_model_needs(name, suffixes):
    model = model_named(name)
    assert list(stream_suffixes(model)) == suffixes
    assert (".reads" in suffixes) is ("reads" in table_schemas(model))
    assert set(model.tables.columns.names) < set(operation_schema(model).names)
    assert {word.word for word in model.words} == {word.word for word in model.functions}
