"""What a model is: a kind of object, what can be done to it, and how that is written down.

A model owns its words, the structs of their arguments and results, its columns in the tables, and the way from the
structs to the stream and from there to the columns. ``chaos.models`` holds the models; everything else in the harness
handles operations without looking into them.

A worker records and needs no table: whatever needs numpy and pyarrow is in ``Model.tables``, loaded when it is asked
for, so that workers start fast.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import msgspec

from chaos.core.op import Word

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Ints: TypeAlias = npt.NDArray[np.int64]
    Column: TypeAlias = npt.NDArray[Any] | pa.Array


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """One word of a model.

    ``argument`` and ``result``: its structs; None: it has none. ``mutates``: an ok answer promises that the object was
    changed; recovery and availability are judged by these. ``timed``: recovery times (RTO) are measured of it, and
    ``budgeted``: a budget of recovery times counts them. ``weak``: an answer may be of the past. ``final``: asked only
    after the load.
    """

    argument: type[msgspec.Struct] | None = None
    result: type[msgspec.Struct] | None = None
    mutates: bool = False
    timed: bool = False
    budgeted: bool = True
    weak: bool = False
    final: bool = False


class PackedArgument(NamedTuple):
    """How an invocation stores its argument: an unsigned number of 32 bits and two signed ones of 64.

    ``values``: the whole argument as bytes, if it does not fit; the numbers are not stored then.
    """

    small: int
    first: int
    second: int
    values: bytes | None = None


class PackedResult(NamedTuple):
    """How a completion stores its result: three signed numbers of 64 bits, rows, or bytes.

    ``rows``: the fields of each row behind checksum and operation (``RowFormat``). ``values``: what does not fit.
    """

    first: int
    second: int
    third: int
    rows: Sequence[tuple[int, ...]] = ()
    values: bytes | None = None


class Slots(NamedTuple):
    """What a stream stored of all operations of a worker, in order of their number; arrays of equal length.

    ``first``, ``second``, ``third`` of results are -1 without a completion. ``rows``: how many rows came with it.
    ``argument_values``, ``result_values``: the bytes of each operation, None where there are none; None if the model
    stores no bytes.
    """

    f: npt.NDArray[np.uint8]
    small: Ints
    asked_first: Ints
    asked_second: Ints
    first: Ints
    second: Ints
    third: Ints
    rows: Ints
    argument_values: Sequence[bytes | None] | None = None
    result_values: Sequence[bytes | None] | None = None


class RowFormat(NamedTuple):
    """Rows of fixed size that a completion may bring: they are in ``w<n>.reads`` and in the table ``reads``.

    ``dtype``: a row's bytes, as ``Model.row_layout`` packs them. ``columns``: the model's columns of the table.
    ``unpack``: from the rows to these columns.
    """

    dtype: np.dtype[np.void]
    columns: pa.Schema
    unpack: Callable[[npt.NDArray[np.void]], dict[str, Column]]


class ModelTables(Protocol):
    """How a model's operations look in the tables, and how they are read from a stream.

    A class that names this one as its base need say only what differs from the defaults.
    """

    columns: pa.Schema
    """The model's own columns of the table ``operations``."""
    rows: RowFormat | None = None

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns ``columns``, each as long as the slots. Vectorised: there are millions of operations."""
        ...

    def last_sequences(self, slots: Slots) -> dict[int, int]:  # noqa: ARG002 - values are not numbered
        """Writer → the highest sequence number that was invoked, where a model's values are numbered; else empty."""
        return {}


class Model(Protocol):
    """A kind of object; found by name in the entry-point group ``chaos.models``.

    A class that names this one as its base need say only what differs from the defaults.
    """

    name: str
    words: type[Word]
    functions: Mapping[Word, Function]
    key: str
    """What one key is called, for people: ``queue``, ``register``."""
    change: str
    """What it is called to change one, for people: ``send`` to a queue, ``write`` to a register."""
    row_layout: struct.Struct | None = None
    """The bytes of a row that a completion may bring; it begins with the checksum and the operation, each u32."""
    stores_values: bool = False
    """Whether some arguments or results do not fit into the slots: a worker then has a file ``w<n>.values``."""

    @property
    def tables(self) -> ModelTables:
        """The way from streams to tables."""
        ...

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """How an argument is stored; ``argument`` is None for a word that has none."""
        ...

    def pack_result(self, f: Word, result: Any) -> PackedResult:
        """How a result is stored; ``result`` is None if the client was given nothing."""
        ...

    def line(self, row: Mapping[str, Any]) -> str:
        """One operation of the table ``operations`` as text: ``send 3:17 -> 204``, ``cas k4 2->7``."""
        ...


def numbers_where(model: Model, holds: Callable[[Function], bool]) -> tuple[int, ...]:
    """The numbers of the words whose functions have a property."""
    return tuple(int(word) for word, function in model.functions.items() if holds(function))


def word_table(model: Model) -> dict[str, int]:
    """Word → number, as ``run.json`` keeps it."""
    return {word.word: int(word) for word in model.words}
