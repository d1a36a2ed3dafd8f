"""From a worker's stream to the tables every check reads.

``operations`` has one row per operation, ``reads`` one row per row that a completion brought (where the model has
such), ``events`` one row per fault stage, observation, phase edge and note. Types, sort order and the meaning of every
column are in docs/reference/history.md, here and in the model; ``SCHEMA_VERSION`` of ``chaos.storage.runinfo`` changes
with them. Rows of one file are sorted by (key, invoke_ns), row groups hold one key each (``chaos.storage.tables``): a
shard is (file, row groups).

Does not judge: a missing completion is ``info``.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from chaos.core.events import Event
from chaos.core.model import Model, RowFormat, Slots, numbers_where
from chaos.core.op import Type
from chaos.storage.event_files import read_events, texts_of
from chaos.storage.manifest import FileSum, Manifest, compare, sum_of, sum_of_file, write_checked
from chaos.storage.recorder import FLAG_PINNED, FLAG_VALUES, NONE
from chaos.storage.storage_path import Place
from chaos.storage.streams import Records, read_records
from chaos.storage.tables import TableFile, TableSum, sum_of_table

NEVER_NS: Final = np.iinfo(np.int64).max
"""``complete_ns`` of an operation nobody knows the end of."""

LONG_READ: Final = 1 << 14
"""A final read of so many records has a row group of its own."""

_BEFORE: Final = [
    ("worker", pa.int16()),  # (worker, op) is the identity of an operation
    ("op", pa.int64()),
    ("process", pa.int32()),
    ("client", pa.int16()),
    ("pinned", pa.bool_()),  # the client stays on one node whatever the route says
    ("f", pa.int8()),  # the number of the word in run.json
    ("key", pa.int32()),  # which object; -1: there is one
]
_BEHIND: Final = [
    ("type", pa.int8()),  # chaos.core.op.Type: OK, FAIL, INFO, NOT_SENT
    ("scheduled_ns", pa.int64()),
    ("invoke_ns", pa.int64()),
    ("complete_ns", pa.int64()),  # NEVER_NS if no completion was recorded
    ("deadline_ns", pa.int64()),
    ("node", pa.int16()),  # position in run.json's nodes, -1 unknown
    ("error", pa.dictionary(pa.int32(), pa.string())),
]


def operation_schema(model: Model) -> pa.Schema:
    """The columns of the table ``operations``: those of every model, and between them the model's own."""
    return pa.schema([*_BEFORE, *model.tables.columns, *_BEHIND])


def row_schema(form: RowFormat) -> pa.Schema:
    """The columns of the table ``reads``: those of the operation that brought the row, and the model's own."""
    return pa.schema(
        [
            ("worker", pa.int16()),
            ("op", pa.int64()),  # the operation, in the same worker
            ("process", pa.int32()),
            ("f", pa.int8()),
            ("key", pa.int32()),
            ("position", pa.int32()),  # within the operation, from 0
            *form.columns,
            ("invoke_ns", pa.int64()),
            ("complete_ns", pa.int64()),
            ("node", pa.int16()),
        ]
    )


def table_schemas(model: Model) -> dict[str, pa.Schema]:
    """The tables of a worker, by the name of their folder."""
    tables, form = {"operations": operation_schema(model)}, model.tables.rows
    return tables if form is None else tables | {"reads": row_schema(form)}


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
    """One worker's rows, paired and sorted by (key, invoke_ns); ``reads`` is None if the model has no such rows."""

    operations: pa.Table
    reads: pa.Table | None
    facts: StreamFacts

    def tables(self) -> dict[str, pa.Table]:
        """The tables by the name of their folder."""
        return {"operations": self.operations} | ({} if self.reads is None else {"reads": self.reads})


def read_stream(folder: Path, worker: int, model: Model, manifest: Manifest | None = None) -> Stream:
    """Read and pair one worker's files.

    Args:
        folder: the folder ``history``.
        worker: its number.
        model: whose operations they hold.
        manifest: what the files must be; None where the run left none.

    Raises:
        HistoryError: if the files were altered (not merely cut off).
    """
    records = read_records(folder, worker, model, manifest)
    slots = _slots(records)
    operations = _pair(records, slots, worker, model)
    form = model.tables.rows
    reads = None if records.rows is None or form is None else _reads(operations, records.rows, worker, form)
    facts = StreamFacts(
        worker=worker,
        ended=records.ended,
        operations=len(records.invoked),
        reads=0 if reads is None else reads.num_rows,
        torn_bytes=records.torn_bytes,
        last_sequence=model.tables.last_sequences(slots),
        made_of=records.made_of,
    )
    return Stream(_sorted(operations), None if reads is None else _sorted(reads), facts)


def _landed(records: Records, column: str, dtype: npt.DTypeLike, default: int = NONE) -> npt.NDArray[Any]:
    """Per operation a number of its completion."""
    out = np.full(len(records.invoked), default, dtype=dtype)
    out[records.completed["op"].astype(np.int64) - 1] = records.completed[column]
    return out


def _slots(records: Records) -> Slots:
    """What was stored of arguments and results, in order of the operations' numbers."""
    invoked = records.invoked
    arguments = results = None
    if records.values:
        values = [None, *records.values[1:]]
        named = (invoked["flags"] & FLAG_VALUES) != 0
        arguments = [values[number] for number in np.where(named, invoked["ref"], 0).tolist()]
        results = [values[number] for number in _landed(records, "d", np.int64, 0).tolist()]
    return Slots(
        f=invoked["f"],
        small=invoked["ref"].astype(np.int64),
        asked_first=invoked["b"],
        asked_second=invoked["d"],
        first=_landed(records, "a", np.int64),
        second=_landed(records, "b", np.int64),
        third=_landed(records, "c", np.int64),
        rows=_landed(records, "key", np.int64, 0),
        argument_values=arguments,
        result_values=results,
    )


def _pair(records: Records, slots: Slots, worker: int, model: Model) -> pa.Table:
    """Operations in order of their number."""
    invoked, errors = records.invoked, records.errors
    ref = _landed(records, "ref", np.int64, 0)
    error = pa.DictionaryArray.from_arrays(
        pa.array(np.minimum(ref, len(errors) - 1).astype(np.int32), mask=ref == 0), pa.array(errors, pa.string())
    )
    return pa.table(
        {
            "worker": np.full(len(invoked), worker, dtype=np.int16),
            "op": invoked["op"].astype(np.int64),
            "process": invoked["process"].astype(np.int32),
            "client": invoked["client"].astype(np.int16),
            "pinned": (invoked["flags"] & FLAG_PINNED).astype(bool),
            "f": invoked["f"].astype(np.int8),
            "key": invoked["key"].astype(np.int32),
            **model.tables.unpack(slots),
            "type": _landed(records, "type", np.int8, int(Type.INFO)),
            "scheduled_ns": invoked["a"],
            "invoke_ns": invoked["time_ns"],
            "complete_ns": _landed(records, "time_ns", np.int64, int(NEVER_NS)),
            "deadline_ns": invoked["c"],
            "node": _landed(records, "node", np.int16),
            "error": error,
        },
        schema=operation_schema(model),
    )


def _reads(operations: pa.Table, records: npt.NDArray[np.void], worker: int, form: RowFormat) -> pa.Table:
    """Rows that completions brought, joined with their operation."""
    at = records["op"].astype(np.int64) - 1
    starts = np.flatnonzero(np.r_[True, at[1:] != at[:-1]]) if len(at) else np.zeros(0, dtype=np.int64)
    position = np.arange(len(at)) - np.repeat(starts, np.diff(np.r_[starts, len(at)]))

    def taken(column: str) -> npt.NDArray[np.generic]:
        values: npt.NDArray[np.generic] = operations[column].to_numpy()[at]
        return values

    return pa.table(
        {
            "worker": np.full(len(at), worker, dtype=np.int16),
            "op": records["op"].astype(np.int64),
            **{name: taken(name) for name in ("process", "f", "key", "invoke_ns", "complete_ns", "node")},
            "position": position.astype(np.int32),
            **form.unpack(records),
        },
        schema=row_schema(form),
    )


def _sorted(table: pa.Table) -> pa.Table:
    """Rows by (key, invoke_ns, op); stable, so positions within a read keep their order."""
    key, time_ns, op = (table[name].to_numpy() for name in ("key", "invoke_ns", "op"))
    same_key, same_time = key[1:] == key[:-1], time_ns[1:] == time_ns[:-1]
    later = (time_ns[1:] > time_ns[:-1]) | (same_time & (op[1:] >= op[:-1]))
    if bool(((key[1:] > key[:-1]) | (same_key & later)).all()):
        return table  # one queue: the stream was in order already
    return table.take(pa.array(np.lexsort((op, time_ns, key))))


def _group_ends(table: pa.Table, finals: Sequence[int]) -> list[int]:
    """Where the row groups of a table sorted by key end: with a key, with its load, with each long final read."""
    if not table.num_rows:
        return []
    key, op, f = (table[name].to_numpy() for name in ("key", "op", "f"))
    final = np.isin(f, finals)
    ends = np.flatnonzero((key[1:] != key[:-1]) | (final[1:] != final[:-1])) + 1
    reads = np.flatnonzero((op[1:] != op[:-1]) | (key[1:] != key[:-1])) + 1
    starts = np.concatenate(([0], reads))
    long = final[starts] & (np.diff(starts, append=table.num_rows) >= LONG_READ)
    apart = np.concatenate((starts[long], np.append(reads, table.num_rows)[long]))
    return sorted({*ends.tolist(), *apart.tolist(), table.num_rows} - {0})


def write_by_key(table: pa.Table, path: Path, finals: Sequence[int]) -> None:
    """Write a table that is sorted by key as Parquet, with row groups of one key each.

    ``finals``: the numbers of the words that are asked only after the load.
    """
    partial = path.with_suffix(".partial")
    file, start = TableFile(partial, table.schema), 0
    for end in _group_ends(table, finals):
        file.add(table.slice(start, end - start))
        file.end_group()
        start = end
    file.close()
    partial.rename(path)


def write_facts(history: Path, facts: StreamFacts, tables: Iterable[str]) -> None:
    """Write down what was learned of a stream whose tables, named by their folders, are complete."""
    sums = {name: sum_of_table(history / name / f"w{facts.worker}.parquet") for name in tables}
    path = history / f"w{facts.worker}.facts.json"
    write_checked(path, msgspec.json.encode(msgspec.structs.replace(facts, tables=sums)))


def materialise_stream(history: Path, worker: int, model: Model, manifest: Manifest | None = None) -> None:
    """Turn one worker's stream into its tables, ``operations/w<n>.parquet`` and the like, and ``w<n>.facts.json``.

    Raises:
        HistoryError: if the stream was altered.
    """
    stream = read_stream(history, worker, model, manifest)
    finals = numbers_where(model, lambda function: function.final)
    for name, table in stream.tables().items():
        (history / name).mkdir(exist_ok=True)
        write_by_key(table, history / name / f"w{worker}.parquet", finals)
    write_facts(history, stream.facts, stream.tables())


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


def workers_among(streams: Iterable[int], workers: int) -> int:
    """Of how many of a run's workers there is a stream; one that was killed and started again has several.

    ``streams``: their numbers. Each time that a worker was started its stream has a number higher by ``workers``.
    """
    return len({number % workers for number in streams}) if workers else 0
