"""The model ``kv``: by key a space, keys with values whose every change may have a revision.

Where the system has revisions, a change takes place at one of its own, and an answer names the revision of which it is.
The keys of a space are used in groups of ``WIDTH``: a range reads one group, and no operation names keys of two.
"""

from array import array
from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

import msgspec

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word
from chaos.models.objects.answers import NO_RESULT, TOLD, UNTOLD

MODEL: Final = "kv"
"""The model's name."""
WIDTH: Final = 4
"""Keys of a group: 0 to 3 of a space, 4 to 7, …"""
DELETED: Final = -1
"""The value of a key that is deleted."""
NOT_TOLD: Final = -1
"""Stands where the system does not tell: for the revision of an answer, and for what a change did."""
ANY: Final = -1
"""The revision that a change expects where it expects none."""
ABSENT: Final = 0
"""The revision of a key that is not there, as a comparison has it."""


class F(Word):
    """What an operation on a space does. The numbers are part of the on-disk format."""

    PUT = 1
    DELETE = 2
    GET = 3  # read one key
    RANGE = 4  # read all keys of a group at one moment
    COMPARE_PUT = 5  # put if the key's last revision is the expected one; a definite failure may say what there is
    TXN = 6  # puts and deletes of several keys of a group at one moment


CHANGES: Final = frozenset({F.PUT, F.DELETE, F.COMPARE_PUT, F.TXN})
"""What changes a space."""


class Change(msgspec.Struct, frozen=True):
    """What becomes of a key.

    ``value``: 0 or more, or ``DELETED``. ``expected``: the revision at which it must have been written last,
    ``ABSENT`` if it must not be there, ``ANY`` if nothing is compared.
    """

    entry: int
    value: int = DELETED
    expected: int = ANY


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What an operation changes; no key is named twice, and all are of one group."""

    changes: tuple[Change, ...]


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """Which keys are read: so many from the first one on, one or all of a group."""

    first: int
    count: int = 1


class Held(msgspec.Struct, frozen=True):
    """A key that is there, its value, and the revision of its last change or ``NOT_TOLD``."""

    entry: int
    value: int
    revision: int = NOT_TOLD


class Answer(msgspec.Struct, kw_only=True):
    """What a client was told.

    ``revision``: at which a change took place; of a read, or of a comparison that does not hold, which one it shows;
    ``NOT_TOLD``. ``effects`` of a change: bit i: the i-th did something; ``NOT_TOLD``. ``held``: the keys that were
    asked for and are there, of a comparison that does not hold its own.
    """

    revision: int = NOT_TOLD
    effects: int = 0
    held: list[Held] = []


def group_of(entry: int) -> int:
    """The group of a key. Pure."""
    return entry // WIDTH


def keys_of_group(group: int) -> Keys:
    """All keys of a group. Pure."""
    return Keys(first=group * WIDTH, count=WIDTH)


class KvModel(Model):
    """Spaces of keys."""

    name = MODEL
    help = "a whole key space, by revision where the system has one"
    key = "space"
    change = "change"
    words: type[Word] = F
    functions: Mapping[Word, Function] = {
        F.PUT: Function(argument=Changes, result=Answer, mutates=True, timed=True),
        F.DELETE: Function(argument=Changes, result=Answer, mutates=True, timed=True),
        F.GET: Function(argument=Keys, result=Answer, timed=True),
        F.RANGE: Function(argument=Keys, result=Answer, timed=True),
        # not timed: that the key was written since is an answer too
        F.COMPARE_PUT: Function(argument=Changes, result=Answer, mutates=True),
        F.TXN: Function(argument=Changes, result=Answer, mutates=True, timed=True),
    }
    stores_values = True

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.coordination.kv_tables``."""
        from chaos.models.coordination.kv_tables import KvTables

        return KvTables(changes=CHANGES)

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """Of a read the first key and how many; of a change three numbers of 64 bits a key."""
        if f not in CHANGES:
            return PackedArgument(argument.count, argument.first, 0)
        numbers = chain.from_iterable(msgspec.structs.astuple(one) for one in argument.changes)
        return PackedArgument(0, 0, 0, values=array("q", numbers).tobytes())

    def pack_result(self, f: Word, result: Any) -> PackedResult:  # noqa: ARG002 - alike for all words
        """The revision and the effects, and three numbers of 64 bits a key that is there."""
        if result is None:
            return NO_RESULT
        numbers = chain.from_iterable(msgspec.structs.astuple(one) for one in result.held)
        return PackedResult(result.revision, TOLD, result.effects, values=array("q", numbers).tobytes())

    def line(self, row: Mapping[str, Any]) -> str:
        """``put s4 3=17 -> at 204``, ``range s4 0 to 3 -> 1=5 of 9 at 12``."""
        f = F(row["f"])
        if f in CHANGES:
            columns = (row[name] for name in ("change_entry", "change_value", "expected"))
            what = ", ".join(map(_change, *columns))
        else:
            first, count = int(row["first"]), int(row["count"])
            what = str(first) if count == 1 else f"{first} to {first + count - 1}"
        return f"{f.word} s{row['key']} {what}{_told(f, row)}"


def _change(entry: int, value: int, expected: int) -> str:
    what = f"{entry} deleted" if value == DELETED else f"{entry}={value}"
    return what if expected == ANY else f"{what} if it is of {expected}"


def _told(f: F, row: Mapping[str, Any]) -> str:
    if row["answer"] == UNTOLD:
        return ""
    revision = "" if row["revision"] == NOT_TOLD else f" at {row['revision']}"
    columns = [row[name] for name in ("held_entry", "held_value", "held_revision")]
    if f in CHANGES and not len(columns[0]):
        return f" ->{revision}" if revision else ""
    held = (
        f"{entry}={value}" + ("" if of == NOT_TOLD else f" of {of}") for entry, value, of in zip(*columns, strict=True)
    )
    return f" -> {', '.join(held) or 'nothing'}{revision}"


KV: Final = KvModel()
