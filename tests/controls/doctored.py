"""Alters a recorded history on disk as a faulty broker would have written it, record by record, seals included."""

import shutil
import struct
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple, TypeVar

from chaos.core.op import Type
from chaos.models.log.layout import READ, READ_SIZE
from chaos.models.log.words import READS, F
from chaos.storage.manifest import write_manifest
from chaos.storage.recorder import OP, OP_SIZE

# Positions in chaos.storage.recorder.OP and chaos.models.log.model.READ.
_TIME, _OP, _TYPE, _F, _KEY, _A, _B, _REF, _ARGUMENT = 2, 3, 4, 5, 8, 9, 10, 12, 15
_R_OP, _R_OFFSET, _R_WRITER, _R_SEQUENCE = 1, 2, 3, 5


class Sent(NamedTuple):
    """An acknowledged send of one queue, and where its records are."""

    key: int
    writer: int
    sequence: int
    offset: int
    invoke_ns: int
    complete_ns: int
    stream: str
    completion: int
    invocation: int
    argument: int


AnswerT = TypeVar("AnswerT")


def altered_copy(good: Path, copy: Path, alter: Callable[[Path], AnswerT]) -> AnswerT:
    """Copy a run folder as if its history had been recorded so: ``alter`` changes the streams, the manifest follows.

    Returns what ``alter`` does. Tables are left out, since they are made of the streams again.
    """
    shutil.copytree(good, copy, ignore=shutil.ignore_patterns("*.parquet", "anomalies"))
    told = alter(copy / "history")
    write_manifest(copy)
    return told


def _records(path: Path, layout: struct.Struct, size: int) -> list[list[int]]:
    data = path.read_bytes()
    return [list(layout.unpack_from(data, at)) for at in range(0, len(data) - size + 1, size)]


def _write(path: Path, layout: struct.Struct, records: list[list[int]], *, placed: bool = False) -> None:
    """Checksums of records that are ``placed`` begin with their number in the file."""
    bodies = [layout.pack(0, *record[1:])[4:] for record in records]
    seals = [zlib.crc32(body, number if placed else 0) for number, body in enumerate(bodies, 1)]
    path.write_bytes(b"".join(struct.pack("<I", seal) + body for seal, body in zip(seals, bodies, strict=True)))


def acknowledged(history: Path, key: int, f: F = F.SEND) -> list[Sent]:
    """The acknowledged sends of a kind and queue, by offset (-1: none was named) and time."""
    found = []
    for path in sorted(history.glob("w*.ops")):
        invoked: dict[int, tuple[int, list[int]]] = {}
        for position, record in enumerate(_records(path, OP, OP_SIZE)):
            if record[_TYPE] == Type.INVOKE:
                invoked[record[_OP]] = position, record
            elif record[_TYPE] == Type.OK and record[_F] == f and invoked[record[_OP]][1][_KEY] == key:
                at, began = invoked[record[_OP]]
                found.append(
                    Sent(
                        key,
                        began[_REF],
                        began[_B],
                        record[_A],
                        began[_TIME],
                        record[_TIME],
                        path.name,
                        position,
                        at,
                        began[_ARGUMENT],
                    )
                )
    return sorted(found, key=lambda sent: (sent.offset, sent.complete_ns))


def _rewrite_reads(
    history: Path, key: int, change: Callable[[list[int]], list[int] | None], kinds: Collection[F] = READS
) -> None:
    """Pass every read record of a queue through ``change``; None removes it and corrects its operation's count."""
    for path in sorted(history.glob("w*.ops")):
        ops = _records(path, OP, OP_SIZE)
        own = {
            record[_OP]
            for record in ops
            if record[_TYPE] == Type.INVOKE and record[_KEY] == key and record[_F] in kinds
        }
        kept, removed = [], dict[int, int]()
        reads = path.with_suffix(".reads")
        for record in _records(reads, READ, READ_SIZE):
            changed = change(list(record)) if record[_R_OP] in own else record
            if changed is None:
                removed[record[_R_OP]] = removed.get(record[_R_OP], 0) + 1
            else:
                kept.append(changed)
        _write(reads, READ, kept, placed=True)
        for record in ops:
            if Type.OK <= record[_TYPE] <= Type.INFO and record[_OP] in removed:
                record[_KEY] -= removed[record[_OP]]
        _write(path, OP, ops)


def _numbers(path: Path, f: F) -> set[int]:
    """The operations of a kind in one stream."""
    return {record[_OP] for record in _records(path, OP, OP_SIZE) if record[_F] == f}


def refuse(history: Path, sent: Sent, f: F) -> None:
    """Turn the answers to what was said of one message into refusals."""
    for path in sorted(history.glob("w*.ops")):
        ops = _records(path, OP, OP_SIZE)
        value = (sent.writer, sent.sequence)
        about = {
            record[_OP]
            for record in ops
            if record[_TYPE] == Type.INVOKE and record[_F] == f and (record[_REF], record[_B]) == value
        }
        for record in ops:
            if record[_OP] in about and record[_TYPE] == Type.OK:
                record[_TYPE] = Type.FAIL
        _write(path, OP, ops)


def answer(history: Path, key: int, f: F, answered: int) -> None:
    """Let every ok operation of a kind on a queue have answered something else."""
    for path in sorted(history.glob("w*.ops")):
        ops = _records(path, OP, OP_SIZE)
        own = {
            record[_OP] for record in ops if record[_TYPE] == Type.INVOKE and record[_F] == f and record[_KEY] == key
        }
        for record in ops:
            if record[_OP] in own and record[_TYPE] == Type.OK:
                record[_A] = answered
        _write(path, OP, ops)


def deliveries(history: Path, sent: Sent) -> int:
    """How many pops returned a message."""
    value = (sent.writer, sent.sequence)
    found = 0
    for path in history.glob("w*.ops"):
        pops = _numbers(path, F.POP)
        records = _records(path.with_suffix(".reads"), READ, READ_SIZE)
        found += sum(record[_R_OP] in pops and (record[_R_WRITER], record[_R_SEQUENCE]) == value for record in records)
    return found


def lose(history: Path, sent: Sent, kinds: Collection[F] = READS) -> None:
    """Remove one message from everything that reads of these kinds returned."""
    value = (sent.writer, sent.sequence)
    _rewrite_reads(history, sent.key, lambda r: None if (r[_R_WRITER], r[_R_SEQUENCE]) == value else r, kinds)


def ask_otherwise(history: Path, sent: Sent, argument: int) -> None:
    """Let a send have asked for something else: another time of delivery, another decision."""
    ops = _records(history / sent.stream, OP, OP_SIZE)
    ops[sent.invocation][_ARGUMENT] = argument
    _write(history / sent.stream, OP, ops)


def swap(history: Path, one: Sent, other: Sent) -> None:
    """Give each of two messages the other's offset, in its acknowledgement and wherever it was read."""
    values = {(s.writer, s.sequence): o for s, o in ((one, other), (other, one))}
    at = {one.offset: other, other.offset: one}
    for sent, taken in ((one, other.offset), (other, one.offset)):
        ops = _records(history / sent.stream, OP, OP_SIZE)
        ops[sent.completion][_A] = taken
        _write(history / sent.stream, OP, ops)

    def change(record: list[int]) -> list[int]:
        if (record[_R_WRITER], record[_R_SEQUENCE]) in values and record[_R_OFFSET] in at:
            there = at[record[_R_OFFSET]]
            record[_R_WRITER], record[_R_SEQUENCE] = there.writer, there.sequence
        return record

    _rewrite_reads(history, one.key, change)


def copy(history: Path, sent: Sent, onto: Sent) -> None:
    """Show one message at the offset of another as well, wherever that offset was read."""

    def change(record: list[int]) -> list[int]:
        if record[_R_OFFSET] == onto.offset:
            record[_R_WRITER], record[_R_SEQUENCE] = sent.writer, sent.sequence
        return record

    _rewrite_reads(history, sent.key, change)
