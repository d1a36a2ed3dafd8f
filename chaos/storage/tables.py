"""Tables of a history as Parquet files: how each column is encoded.

Encodings are chosen for the time that decoding takes, which is most of the time of a check over a long history: what
ascends is kept by its steps, what varies little by dictionary or as it is, all under LZ4 (15 % larger than zstd and
decoded in half the time). Who writes ends a row group with each queue, and with each long final read, so that whoever
wants that alone reads that alone. Does not read them.
"""

import zlib
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

ROWS: Final = 1 << 20
"""A row group is closed at so many rows."""

_PLAIN: Final = frozenset(("f", "type", "node", "pinned"))
_LOW: Final = frozenset(("worker", "client", "key", "writer", "count", "attempt"))


def _is_low(field: pa.Field) -> bool:
    """Whether a column has few different values."""
    return field.name in _LOW or pa.types.is_dictionary(field.type)


def _ascends(field: pa.Field) -> bool:
    return pa.types.is_integer(field.type) and field.name not in _PLAIN | _LOW


class TableSum(msgspec.Struct, frozen=True):
    """A table's length in bytes, and the CRC-32 of its footer; the pages carry their own."""

    size: int
    footer: int


def footer_size(end: bytes) -> int:
    """How many bytes a Parquet file's footer has, by the file's last 8 bytes, which belong to it; 0 if that is none."""
    return int.from_bytes(end[-8:-4], "little") + 8 if end[-4:] == b"PAR1" else 0


def sum_of_table(path: Path) -> TableSum:
    """Of a table that was just written."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(size - 8)
        file.seek(size - footer_size(file.read()))
        return TableSum(size, zlib.crc32(file.read()))


class TableFile:
    """A Parquet file that grows by row groups.

    Args:
        path: the file, made anew.
        schema: its columns.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        steps = {field.name: "DELTA_BINARY_PACKED" for field in schema if _ascends(field)}
        self._schema = schema
        self._writer = pq.ParquetWriter(
            path,
            schema,
            compression="lz4",
            use_dictionary=[field.name for field in schema if _is_low(field)],
            column_encoding=steps,
            write_page_checksum=True,
        )
        self._waiting: list[pa.Table] = []
        self.rows = 0

    def add(self, table: pa.Table) -> None:
        """Add rows to the row group that is open."""
        self._waiting.append(table)
        if sum(one.num_rows for one in self._waiting) >= ROWS:
            self.end_group()

    def end_group(self) -> None:
        """Close the row group that is open; nothing if it has no rows."""
        whole = pa.concat_tables(self._waiting) if self._waiting else self._schema.empty_table()
        self._waiting = []
        if whole.num_rows:
            self.rows += whole.num_rows
            self._writer.write_table(whole, row_group_size=whole.num_rows)

    def close(self) -> None:
        """Close the row group and the file."""
        self.end_group()
        self._writer.close()
