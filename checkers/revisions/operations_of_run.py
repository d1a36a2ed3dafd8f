"""The operations of a run on spaces of keys, as report folders of etcd's suite have them, and as objects have them.

A key is named by its group and its place in it, so that a range of a group is a range of names.
"""

from typing import Any, Final

from chaos.core.op import Type
from chaos.formats.etcd_robustness import Did
from chaos.formats.etcd_words import (
    DELETE,
    PUT,
    RANGE,
    Condition,
    Content,
    DeleteOptions,
    KeyHeld,
    Part,
    PartResult,
    PutOptions,
    Ranged,
    RangeOptions,
    RangeRequest,
    Request,
    Response,
    TxnRequest,
    TxnResult,
)
from chaos.formats.operations import NEVER
from chaos.models.coordination.kv import ANY, CHANGES, DELETED, NOT_TOLD, WIDTH, F, group_of
from chaos.models.objects.answers import TOLD
from checkers.history.check_input import QueueShard
from checkers.objects.calls import Call

_IN_DOUBT: Final = "nobody knows what became of it"
_REFUSED: Final = "it was not done"
Row = tuple[int, ...]


def is_sent(shard: QueueShard, row: int) -> bool:
    """Whether an operation left."""
    return bool(shard.ops.type[row] != Type.NOT_SENT)


def group_at(shard: QueueShard, row: int) -> int:
    """The group of keys that an operation is about."""
    own = shard.operations
    if shard.ops.f[row] in CHANGES:
        return group_of(int(own["change_entry"][row][0]))
    return group_of(int(own["first"][row]))


def names_revisions(shard: QueueShard, row: int) -> bool:
    """Whether an answer names a revision, of the store or of a key."""
    own = shard.operations
    return bool(
        own["answer"][row] == TOLD
        and (own["revision"][row] != NOT_TOLD or any(one != NOT_TOLD for one in own["held_revision"][row]))
    )


def did_of(shard: QueueShard, row: int) -> Did:
    """An operation as report folders have it; its number is its row."""
    own, kind = shard.operations, Type(int(shard.ops.type[row]))
    told, revision = own["answer"][row] == TOLD, int(own["revision"][row])
    if shard.ops.f[row] not in CHANGES:
        asked = _asked(int(own["first"][row]), int(own["count"][row]))
        request = Request("range", range=asked)
        held = _held(shard, row)
        answered = Response(range=Ranged(held, len(held)), revision=revision) if told else Response(refused=_REFUSED)
    else:
        changes = _changes(shard, row)
        txn = _transaction(changes)
        request = Request("txn", txn=txn)
        answered = _answered(shard, row, changes) if told else Response(refused=_REFUSED)
        if kind is Type.FAIL and answered.txn is not None and not answered.txn.failure:
            answered = Response(refused=_REFUSED)
    reads = shard.ops.f[row] not in CHANGES
    if kind is Type.INFO or (kind is Type.OK and not told):
        answered = Response(error=_IN_DOUBT)
    elif kind is Type.FAIL and reads:
        answered = Response(refused=_REFUSED)
    call, ret = int(own["invoke_ns"][row]), int(own["complete_ns"][row])
    return Did(row, "", int(own["process"][row]), request, answered, call, NEVER if kind is Type.INFO else ret)


def _asked(first: int, count: int) -> RangeRequest:
    if count == 1:
        return RangeRequest(name_of(first))
    group = group_of(first)
    return RangeRequest(f"{group}/", f"{group}0")  # 0 comes behind /


def name_of(entry: int) -> str:
    """What a key is called: ``3/1``."""
    return f"{group_of(entry)}/{entry % WIDTH}"


def _changes(shard: QueueShard, row: int) -> list[Row]:
    columns = (shard.operations[name][row] for name in ("change_entry", "change_value", "expected"))
    return [tuple(map(int, one)) for one in zip(*columns, strict=True)]


def _held(shard: QueueShard, row: int) -> tuple[KeyHeld, ...]:
    columns = (shard.operations[name][row] for name in ("held_entry", "held_value", "held_revision"))
    return tuple(
        KeyHeld(key=name_of(int(entry)), value=Content(str(value)), revision=int(revision))
        for entry, value, revision in sorted(zip(*columns, strict=True))
    )


def _transaction(changes: list[Row]) -> TxnRequest:
    """What a change asks for; one that compares is told what there is where that does not hold."""
    expected = tuple(Condition(name_of(entry), revision) for entry, _, revision in changes if revision != ANY)
    parts = tuple(
        Part(DELETE, delete=DeleteOptions(name_of(entry)))
        if value == DELETED
        else Part(PUT, put=PutOptions(name_of(entry), Content(str(value))))
        for entry, value, _ in changes
    )
    looks = tuple(Part(RANGE, range=RangeOptions(one.key)) for one in expected)
    return TxnRequest(expected, parts, looks)


def _answered(shard: QueueShard, row: int, changes: list[Row]) -> Response:
    own, kind = shard.operations, Type(int(shard.ops.type[row]))
    revision, effects = int(own["revision"][row]), int(own["effects"][row])
    if kind is Type.FAIL:
        if shard.ops.f[row] != F.COMPARE_PUT or revision == NOT_TOLD:
            return Response(refused=_REFUSED)
        held = _held(shard, row)
        return Response(TxnResult(failure=True, results=(PartResult(held, len(held)),)), revision=revision)
    results = tuple(
        PartResult(deleted=0 if value != DELETED else -1 if effects == NOT_TOLD else effects >> place & 1)
        for place, (_, value, _) in enumerate(changes)
    )
    return Response(TxnResult(results=results), revision=revision)


def call_of(shard: QueueShard, row: int) -> Call:
    """An operation as a transaction on registers, which has no revisions: a key that is not there holds nothing."""
    own, kind = shard.operations, Type(int(shard.ops.type[row]))
    f, told = F(int(shard.ops.f[row])), own["answer"][row] == TOLD
    output: list[Any] | None = None
    if f in CHANGES:
        changes = _changes(shard, row)
        argument = [("w", entry, None if value == DELETED else value) for entry, value, _ in changes]
        output = argument if kind is Type.OK else None
        if kind is Type.OK and told and f is F.DELETE and own["effects"][row] == 0:
            output = [("r", changes[0][0], None)]
    else:
        first, count = int(own["first"][row]), int(own["count"][row])
        argument = [("r", entry, None) for entry in range(first, first + count)]
        if kind is Type.OK and told:
            held = dict(zip(map(int, own["held_entry"][row]), map(int, own["held_value"][row]), strict=True))
            output = [("r", entry, held.get(entry)) for entry in range(first, first + count)]
    invoke, complete = int(own["invoke_ns"][row]), int(own["complete_ns"][row])
    return Call(
        row,
        int(own["process"][row]),
        f.word,
        argument,
        output,
        kind,
        invoke,
        NEVER if kind is Type.INFO else complete,
        invoke,
        complete,
    )
