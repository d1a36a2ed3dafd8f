"""Parts of one Kafka-style history on disk, so that who reads a range of the file and who judges it need not be one.

A part is two Arrow files: its records, and its messages by *bucket*, one batch each: all messages of a log are in the
bucket of its key, in every part, so that one log can be judged without the others. What no client did is kept with the
records. What is said of a part is small. Files have names of their own at every writing: what a task that was given up
still writes, nobody reads.

Does not remove the folder: it belongs to the caller.
"""

import pickle
import uuid
import zlib
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chaos.formats.kafka import KafkaHistory
from chaos.formats.kafka_columns import NONE, Ints, KafkaColumns, Mops, Ops, number_by_appearance

BUCKETS: Final = 16
"""Groups of logs: what is judged at a time at most, and what a file is read for."""

_PACKED: Final = pa.ipc.IpcWriteOptions(compression="lz4")


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of a part.

    ``ops``, ``mops``: its files. ``records``, ``messages``: rows of each; ``by_bucket``: messages of each bucket.
    ``keys``: by first appearance. ``plain``: all values are integers. ``first``, ``last``: the lowest and highest index
    (NONE in a part without records); ``numbered``: every record has an index; ``ascending``: what there is ascends.
    ``cut_off``: where the file ends too early, if it does.
    """

    ops: Path
    mops: Path
    records: int
    messages: int
    by_bucket: tuple[int, ...]
    keys: tuple[Hashable, ...]
    plain: bool
    first: int
    last: int
    numbered: bool
    ascending: bool
    cut_off: str | None


def bucket_of(key: Hashable) -> int:
    """The bucket of a key: the same on every machine. Keys that are collections have no text of their own; all in 0."""
    if not isinstance(key, int | str | float):
        return 0
    return zlib.crc32(f"{type(key).__name__} {key}".encode()) % BUCKETS


def _written(path: Path, batches: Iterable[dict[str, npt.NDArray[Any]]], **metadata: object) -> Path:
    """An Arrow file, one batch a table."""
    with path.open("wb") as file:
        writer: Any = None
        for columns in batches:
            batch = pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})
            if writer is None:
                schema = batch.schema.with_metadata({name: pickle.dumps(value) for name, value in metadata.items()})
                writer = pa.ipc.new_file(file, schema, options=_PACKED)
            writer.write_batch(batch.replace_schema_metadata(schema.metadata))
        writer.close()
    return path


def _columns(table: Any, kind: type) -> dict[str, npt.NDArray[Any]]:
    return {name: table.column(name).to_numpy() for name in kind.__slots__}  # type: ignore[attr-defined]


def save(history: KafkaHistory, folder: Path) -> Part:
    """Write a part into a folder that is there.

    Raises:
        OSError: it cannot be written.
    """
    columns = number_by_appearance(history.columns)
    ops, mops = columns.ops, columns.mops
    buckets = np.array([*map(bucket_of, columns.keys), 0], dtype=np.uint8)[mops.key]  # without a key: the last, 0
    order = np.argsort(buckets, kind="stable")
    ends = np.cumsum(np.bincount(buckets, minlength=BUCKETS))
    sorted_ = {"row": order.astype(np.int32), **{name: getattr(mops, name)[order] for name in Mops.__slots__}}
    tables = ({name: column[lo:hi] for name, column in sorted_.items()} for lo, hi in pairwise([0, *ends]))
    index = ops.index
    own = uuid.uuid4().hex
    return Part(
        ops=_written(
            folder / f"{own}-records.arrow",
            [{name: getattr(ops, name) for name in Ops.__slots__}],
            values=columns.values,
            others=history.others,
        ),
        mops=_written(folder / f"{own}-messages.arrow", tables),
        records=len(index),
        messages=len(mops.op),
        by_bucket=tuple(np.diff(ends, prepend=0).tolist()),
        keys=columns.keys,
        plain=not columns.values,
        first=int(index.min()) if len(index) else NONE,
        last=int(index.max()) if len(index) else NONE,
        numbered=bool((index != NONE).all()),
        ascending=bool((index[1:] >= index[:-1]).all()),
        cut_off=history.cut_off,
    )


def records_of(part: Part) -> Ops:
    """The records of a part."""
    with part.ops.open("rb") as file:
        return Ops(**_columns(pa.ipc.open_file(file).read_all(), Ops))


def messages_of(part: Part, buckets: Sequence[int]) -> tuple[Ints, Mops]:
    """The messages of some buckets in the order of the file, and the row of each in the part."""
    with part.mops.open("rb") as file:
        reader = pa.ipc.open_file(file)
        table = pa.Table.from_batches([reader.get_batch(bucket) for bucket in buckets], reader.schema)
    row = table.column("row").to_numpy()
    order = np.argsort(row, kind="stable")
    return row[order], Mops(**{name: column[order] for name, column in _columns(table, Mops).items()})


def load(part: Part) -> KafkaHistory:
    """A part as it was saved, keys and values numbered by first appearance."""
    with part.ops.open("rb") as file:
        metadata = pa.ipc.open_file(file).schema.metadata
    values, others = (pickle.loads(metadata[name]) for name in (b"values", b"others"))  # noqa: S301 - we wrote them
    ops, (_, mops) = records_of(part), messages_of(part, range(BUCKETS))
    return KafkaHistory(KafkaColumns(ops, mops, part.keys, values), part.cut_off, others)
