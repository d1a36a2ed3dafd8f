"""From a worker's stream to the tables every check reads.

``operations`` has one row per operation, ``reads`` one row per record a read returned, ``events`` one
row per fault stage, observation, phase edge and note. Types, sort order and the meaning of every
column are in docs/reference/history.md and here; ``SCHEMA_VERSION`` changes with them. Rows of one file are
sorted by (key, invoke_ns), row groups hold one key each (``chaos.core.tables``), so that a shard is (file, row groups).

The module refuses to judge: a missing completion is ``info``.
"""

from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from chaos.core.event_files import read_events, texts_of
from chaos.core.events import Event
from chaos.core.manifest import FileSum, Manifest, compare, sum_of, sum_of_file, write_checked
from chaos.core.op import FINAL, SENDS, VALUED, Type
from chaos.core.recorder import ATTEMPT_SHIFT, FLAG_DAMAGED, FLAG_PINNED, NONE
from chaos.core.storage_path import Place
from chaos.core.streams import read_records
from chaos.core.tables import TableFile, TableSum, sum_of_table

SCHEMA_VERSION: Final = 4
READABLE: Final = (2, 3, SCHEMA_VERSION)
"""Version 2 has no manifest and no checksums but those of the streams' records; observations of 2 and 3 tell of one
replica group and its master (``chaos.core.event_files``)."""

NEVER_NS: Final = np.iinfo(np.int64).max
"""``complete_ns`` of an operation nobody knows the end of."""

LONG_READ: Final = 1 << 14
"""A final read of so many records has a row group of its own."""

OPERATIONS: Final = pa.schema(
    [
        ("worker", pa.int16()),  # (worker, op) is the identity of an operation
        ("op", pa.int64()),
        ("process", pa.int32()),
        ("client", pa.int16()),
        ("pinned", pa.bool_()),  # the client stays on one node whatever the route says
        ("f", pa.int8()),  # chaos.core.op.F
        ("key", pa.int32()),  # the queue
        ("writer", pa.int32()),  # sends: the value; -1 for all others
        ("sequence", pa.int64()),
        ("offset", pa.int64()),  # sends: the offset answered (a hint unless ok); reads: where it began; commits: what;
        # acks, extends: of what was popped
        ("next_offset", pa.int64()),  # reads: the offset after the last one covered; committed-reads: the answer
        ("min_offset", pa.int64()),
        ("max_offset", pa.int64()),
        ("count", pa.int32()),  # reads: records returned
        ("type", pa.int8()),  # chaos.core.op.Type: OK, FAIL, INFO, NOT_SENT
        ("scheduled_ns", pa.int64()),
        ("invoke_ns", pa.int64()),
        ("complete_ns", pa.int64()),  # NEVER_NS if no completion was recorded
        ("deadline_ns", pa.int64()),
        ("node", pa.int16()),  # position in run.json's nodes, -1 unknown
        ("argument", pa.int64()),  # what an invocation had beside (chaos.core.op.Invocation)
        ("error", pa.dictionary(pa.int32(), pa.string())),
    ]
)
READ_ROWS: Final = pa.schema(
    [
        ("worker", pa.int16()),
        ("op", pa.int64()),  # the read operation, in the same worker
        ("process", pa.int32()),
        ("f", pa.int8()),
        ("key", pa.int32()),
        ("position", pa.int32()),  # within the operation, from 0
        ("offset", pa.int64()),
        ("writer", pa.int32()),  # -1: the body was not one of ours or was damaged
        ("sequence", pa.int64()),
        ("attempt", pa.int16()),  # the how-manieth time it was given away, as the broker counts; 0: it does not
        ("invoke_ns", pa.int64()),
        ("complete_ns", pa.int64()),
        ("node", pa.int16()),
    ]
)
EVENTS: Final = pa.schema(
    [
        ("time_ns", pa.int64()),
        ("kind", pa.string()),  # phase fault observation note
        ("name", pa.string()),
        ("node", pa.string()),
        ("event", pa.string()),  # the whole event as JSON (chaos.core.events)
    ]
)


class StreamFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the reader learned of one worker's stream beside its rows.

    ``ended``: the stream has its END record. ``torn_bytes``: what lay behind the last whole record.
    ``last_sequence``: per writer, the highest sequence number recorded as invoked. ``made_of``: the files of the
    stream, by name; ``tables``: those that were made of it, by the name of their folder. Both are empty where an older
    chaos wrote the facts.
    """

    worker: int
    ended: bool
    operations: int
    reads: int
    torn_bytes: int
    last_sequence: dict[int, int]
    made_of: dict[str, FileSum] = {}
    tables: dict[str, TableSum] = {}


class Stream(NamedTuple):
    """One worker's rows, paired and sorted by (key, invoke_ns)."""

    operations: pa.Table
    reads: pa.Table
    facts: StreamFacts


def read_stream(folder: Path, worker: int, manifest: Manifest | None = None) -> Stream:
    """Read and pair one worker's files.

    Args:
        folder: the folder ``history``.
        worker: its number.
        manifest: what the files must be; None where the run left none.

    Raises:
        HistoryError: if the files were altered (not merely cut off).
    """
    records = read_records(folder, worker, manifest)
    invoked = records.invoked
    operations = _pair(invoked, records.completed, worker, records.errors)
    reads = _reads(operations, records.rows, worker)
    sends = invoked[np.isin(invoked["f"], SENDS)]
    last: dict[int, int] = {}
    for writer in np.unique(sends["ref"]):
        last[int(writer)] = int(sends["b"][sends["ref"] == writer].max())
    facts = StreamFacts(
        worker=worker,
        ended=records.ended,
        operations=len(invoked),
        reads=reads.num_rows,
        torn_bytes=records.torn_bytes,
        last_sequence=last,
        made_of=records.made_of,
    )
    return Stream(_sorted(operations), _sorted(reads), facts)


def _pair(invoked: npt.NDArray[np.void], completed: npt.NDArray[np.void], worker: int, errors: list[str]) -> pa.Table:
    """Operations in order of their number."""
    n = len(invoked)
    valued = np.isin(invoked["f"], VALUED)
    at = completed["op"].astype(np.int64) - 1
    kind = np.full(n, int(Type.INFO), dtype=np.int8)
    complete_ns = np.full(n, NEVER_NS, dtype=np.int64)
    kind[at] = completed["type"]
    complete_ns[at] = completed["time_ns"]

    def landed(column: str, dtype: type[np.signedinteger], default: int = NONE) -> npt.NDArray[np.signedinteger]:
        out = np.full(n, default, dtype=dtype)
        out[at] = completed[column]
        return out

    a, b, c = landed("a", np.int64), landed("b", np.int64), landed("c", np.int64)
    ref = landed("ref", np.int64, 0)
    names = pa.array(errors, pa.string())
    error = pa.DictionaryArray.from_arrays(
        pa.array(np.minimum(ref, len(errors) - 1).astype(np.int32), mask=ref == 0), names
    )
    return pa.table(
        {
            "worker": np.full(n, worker, dtype=np.int16),
            "op": invoked["op"].astype(np.int64),
            "process": invoked["process"].astype(np.int32),
            "client": invoked["client"].astype(np.int16),
            "pinned": (invoked["flags"] & FLAG_PINNED).astype(bool),
            "f": invoked["f"].astype(np.int8),
            "key": invoked["key"].astype(np.int32),
            "writer": np.where(valued, invoked["ref"].astype(np.int64), NONE).astype(np.int32),
            "sequence": np.where(valued, invoked["b"], NONE),
            "offset": np.where(valued, a, invoked["b"]),
            "next_offset": np.where(valued, NONE, a),
            "min_offset": b,
            "max_offset": c,
            "count": np.where(valued, 0, landed("key", np.int32, 0)).astype(np.int32),
            "type": kind,
            "scheduled_ns": invoked["a"],
            "invoke_ns": invoked["time_ns"],
            "complete_ns": complete_ns,
            "deadline_ns": invoked["c"],
            "node": landed("node", np.int16),
            "argument": invoked["argument"],
            "error": error,
        },
        schema=OPERATIONS,
    )


def _reads(operations: pa.Table, records: npt.NDArray[np.void], worker: int) -> pa.Table:
    """Rows of completed reads joined with their operation."""
    at = records["op"].astype(np.int64) - 1
    starts = np.flatnonzero(np.r_[True, at[1:] != at[:-1]]) if len(at) else np.zeros(0, dtype=np.int64)
    position = np.arange(len(at)) - np.repeat(starts, np.diff(np.r_[starts, len(at)]))
    damaged = (records["flags"] & FLAG_DAMAGED) != 0

    def taken(column: str) -> npt.NDArray[np.generic]:
        values: npt.NDArray[np.generic] = operations[column].to_numpy()[at]
        return values

    return pa.table(
        {
            "worker": np.full(len(at), worker, dtype=np.int16),
            "op": records["op"].astype(np.int64),
            "process": taken("process"),
            "f": taken("f"),
            "key": taken("key"),
            "position": position.astype(np.int32),
            "offset": records["offset"],
            "writer": np.where(damaged, NONE, records["writer"]),
            "sequence": np.where(damaged, NONE, records["sequence"]),
            "attempt": np.minimum(records["flags"] >> ATTEMPT_SHIFT, np.iinfo(np.int16).max).astype(np.int16),
            "invoke_ns": taken("invoke_ns"),
            "complete_ns": taken("complete_ns"),
            "node": taken("node"),
        },
        schema=READ_ROWS,
    )


def _sorted(table: pa.Table) -> pa.Table:
    """Rows by (key, invoke_ns, op); stable, so positions within a read keep their order."""
    key, time_ns, op = (table[name].to_numpy() for name in ("key", "invoke_ns", "op"))
    same_key, same_time = key[1:] == key[:-1], time_ns[1:] == time_ns[:-1]
    later = (time_ns[1:] > time_ns[:-1]) | (same_time & (op[1:] >= op[:-1]))
    if bool(((key[1:] > key[:-1]) | (same_key & later)).all()):
        return table  # one queue: the stream was in order already
    return table.take(pa.array(np.lexsort((op, time_ns, key))))


def _group_ends(table: pa.Table) -> list[int]:
    """Where the row groups of a table sorted by key end: with a queue, with its load, with each long final read."""
    if not table.num_rows:
        return []
    key, op, f = (table[name].to_numpy() for name in ("key", "op", "f"))
    final = np.isin(f, FINAL)
    ends = np.flatnonzero((key[1:] != key[:-1]) | (final[1:] != final[:-1])) + 1
    reads = np.flatnonzero((op[1:] != op[:-1]) | (key[1:] != key[:-1])) + 1
    starts = np.concatenate(([0], reads))
    long = final[starts] & (np.diff(starts, append=table.num_rows) >= LONG_READ)
    apart = np.concatenate((starts[long], np.append(reads, table.num_rows)[long]))
    return sorted({*ends.tolist(), *apart.tolist(), table.num_rows} - {0})


def write_by_key(table: pa.Table, path: Path) -> None:
    """Write a table that is sorted by key as Parquet, with row groups of one queue each."""
    partial = path.with_suffix(".partial")
    file, start = TableFile(partial, table.schema), 0
    for end in _group_ends(table):
        file.add(table.slice(start, end - start))
        file.end_group()
        start = end
    file.close()
    partial.rename(path)


def write_facts(history: Path, facts: StreamFacts) -> None:
    """Write down what was learned of a stream whose tables are complete."""
    tables = {name: sum_of_table(history / name / f"w{facts.worker}.parquet") for name in ("operations", "reads")}
    path = history / f"w{facts.worker}.facts.json"
    write_checked(path, msgspec.json.encode(msgspec.structs.replace(facts, tables=tables)))


def materialise_stream(history: Path, worker: int, manifest: Manifest | None = None) -> None:
    """Turn one worker's stream into ``operations/w<n>.parquet``, ``reads/w<n>.parquet`` and ``w<n>.facts.json``.

    Raises:
        HistoryError: if the stream was altered.
    """
    stream = read_stream(history, worker, manifest)
    for name, table in (("operations", stream.operations), ("reads", stream.reads)):
        (history / name).mkdir(exist_ok=True)
        write_by_key(table, history / name / f"w{worker}.parquet")
    write_facts(history, stream.facts)


EVENT_TABLE: Final = "events.parquet"
EVENT_FACTS: Final = "events.facts.json"


class EventFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the table of events must be, and the files that it was made of, by name."""

    table: FileSum
    made_of: dict[str, FileSum]


def all_events(history: Place, manifest: Manifest | None = None) -> tuple[list[Event], dict[str, FileSum]]:
    """The events of every ``*.events`` file, in order of time, and what these files are.

    Raises:
        HistoryError: a file was altered.
    """
    files: list[Place] = sorted(history.glob("*.events"), key=str)
    events: list[Event] = []
    made_of: dict[str, FileSum] = {}
    for path in files:
        data = path.read_bytes()
        made_of[path.name] = sum_of(data)
        if manifest is not None:
            compare(path, made_of[path.name], manifest.of_history(path.name))
        events += read_events(path, data)
    return sorted(events, key=lambda event: event.time_ns), made_of


def materialise_events(history: Path, manifest: Manifest | None = None) -> list[Event]:
    """Merge the ``*.events`` files into ``events.parquet``; returns them in order of time.

    Raises:
        HistoryError: a file was altered.
    """
    events, made_of = all_events(history, manifest)
    rows = {
        "time_ns": [event.time_ns for event in events],
        "kind": [type(event).__name__.lower() for event in events],
        "name": [getattr(event, "name", None) for event in events],
        "node": [getattr(event, "node", None) for event in events],
        "event": texts_of(events),
    }
    partial = history / "events.partial"
    pq.write_table(pa.table(rows, schema=EVENTS), partial)
    facts = EventFacts(table=sum_of_file(partial), made_of=made_of)
    partial.rename(history / EVENT_TABLE)
    write_checked(history / EVENT_FACTS, msgspec.json.encode(facts))
    return events


def workers_of(history: Place) -> list[int]:
    """The numbers of the workers that left a stream."""
    return sorted(int(path.stem[1:]) for path in history.glob("w*.ops"))
