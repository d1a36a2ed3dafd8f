"""The model ``watch``: by key a space of entries, changed by writes and followed by watches.

A write changes a few entries at once, and is told the revision at which it took place: a number that grows with every
change of anything. A put is a write of one entry, for systems that change no more at once. A watch is asked for all
changes from a revision on, and is told each as an event. A follow is a watch from now on, for systems that know no
other: it is told what was changed and reads the values behind that.
"""

from array import array
from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

import msgspec

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word
from chaos.models.objects.answers import NO_RESULT, TOLD, UNTOLD

MODEL: Final = "watch"
"""The model's name."""

DELETED: Final = -1
"""The value of a change that deletes its entry, and of an entry that is not there."""
NOT_TOLD: Final = -1
"""The revision of what was before an event, where the system never says what was before."""
UNREAD: Final = -2
"""Stands for the new value of an entry that was changed, where no client has read it."""
READ: Final = -1
"""The batch of what is no event: a read of the session, at its place among the events."""
UNNAMED: Final = -1
"""The number of an entry that no client of the run named so."""
SHOWN: Final = 4
"""Of more events a line of text names the first and last ones."""


class F(Word):
    """What an operation on a space does. The numbers are part of the on-disk format."""

    WRITE = 1  # change entries, all at one revision
    SUBSCRIBE = 2  # watch: follow all changes from a revision on for a while; an ok one was followed to the end
    PUT = 3  # change one entry; of systems that cannot change several at one revision
    FOLLOW = 4  # watch from now on; of systems that cannot watch from a revision on


WRITES: Final = frozenset({F.WRITE, F.PUT})
"""What changes entries."""
WATCHES: Final = frozenset({F.SUBSCRIBE, F.FOLLOW})
"""What is told of changes."""


class Change(msgspec.Struct, frozen=True):
    """What a write does to one entry. ``value``: 0 or more, and no other write of the run has it; or ``DELETED``."""

    entry: int
    value: int = DELETED


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What a write does; no entry is named twice."""

    changes: tuple[Change, ...]


class Written(msgspec.Struct, kw_only=True):
    """At which revision a write took place. ``effects``: bit i: the i-th change did something."""

    revision: int
    effects: int


class From(msgspec.Struct, frozen=True, kw_only=True):
    """The first revision that is asked for, and how long the watch lasts."""

    revision: int
    listen_ms: int


class FromNow(msgspec.Struct, frozen=True, kw_only=True):
    """How long a follow lasts."""

    listen_ms: int


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A change as a watch was told it.

    ``batch``: events with one number came in one message. ``value``: ``DELETED`` if the entry was deleted, ``UNREAD``
    if the system does not tell values and nobody read it.
    ``previous_revision``, ``previous_value``: when the entry was last changed before and to what; 0 and ``DELETED`` if
    it was said to have not been there; ``NOT_TOLD`` and ``DELETED`` if the system never says.
    """

    batch: int
    revision: int
    entry: int
    value: int
    previous_revision: int = 0
    previous_value: int = DELETED


class Events(msgspec.Struct):
    """What a watch was told, in the order in which it came.

    ``batches``: how many messages came. ``oldest``: where the revision that was asked for is compacted, the first one
    that is not; else 0. A history has it in the text of the error alone.
    """

    events: list[Event] = []
    batches: int = 0
    oldest: int = 0

    def reached(self, before: int) -> int:
        """Up to which revision nothing need be asked for again, if that was ``before`` until now."""
        return max([before, self.oldest - 1, *(event.revision for event in self.events)])


class Followed(msgspec.Struct):
    """What a follow was told and what its session read, in the order in which it came.

    ``since``: the first revision that it was to be told; 0: it did not begin. ``batches``: how many messages came.
    """

    events: list[Event] = []
    batches: int = 0
    since: int = 0


def session_read(*, entry: int, revision: int, value: int, applied: int) -> Event:
    """A read of an entry as it stands among the events of its session.

    Args:
        entry: which.
        revision: when it was last changed; 0: it was not there.
        value: what it held; ``DELETED``: it was not there.
        applied: the last revision that the server had applied when it answered.
    """
    return Event(batch=READ, revision=revision, entry=entry, value=value, previous_revision=applied)


class WatchModel(Model):
    """Spaces of entries by key."""

    name = MODEL
    help = "keys whose changes are followed by watchers"
    key = "space"
    change = "write"
    words: type[Word] = F
    functions: Mapping[Word, Function] = {
        F.WRITE: Function(argument=Changes, result=Written, mutates=True, timed=True),
        F.SUBSCRIBE: Function(argument=From, result=Events),
        F.PUT: Function(argument=Changes, result=Written, mutates=True, timed=True),
        F.FOLLOW: Function(argument=FromNow, result=Followed),
    }
    stores_values = True

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.coordination.watch_tables``."""
        from chaos.models.coordination.watch_tables import WatchTables

        return WatchTables(subscribe=F.SUBSCRIBE, writes=WRITES)

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """Of a write two numbers of 64 bits a change; of a watch the revision, if it has one, and how long."""
        if f is F.FOLLOW:
            return PackedArgument(argument.listen_ms, 0, 0)
        if f is F.SUBSCRIBE:
            return PackedArgument(argument.listen_ms, argument.revision, 0)
        numbers = chain.from_iterable((one.entry, one.value) for one in argument.changes)
        return PackedArgument(0, 0, 0, values=array("q", numbers).tobytes())

    def pack_result(self, f: Word, result: Any) -> PackedResult:
        """Of a write the revision and the effects; of a watch six numbers of 64 bits an event, or a read."""
        if result is None or (f is F.FOLLOW and not result.since):
            return NO_RESULT
        if f not in WATCHES:
            return PackedResult(result.revision, TOLD, result.effects)
        numbers = chain.from_iterable(msgspec.structs.astuple(one) for one in result.events)
        if f is F.FOLLOW:
            return PackedResult(result.since, TOLD, result.batches, values=array("q", numbers).tobytes())
        return PackedResult(result.batches, TOLD, 0, values=array("q", numbers).tobytes())

    def line(self, row: Mapping[str, Any]) -> str:
        """``write k4 3=17, 5 deleted -> 204``, ``subscribe k4 from 200 -> 204 3=17, 204 5 deleted``.

        Of a follow only events are shown, not what it read.
        """
        f = F(row["f"])
        if f not in WATCHES:
            changes = ", ".join(map(_entry, row["change_entry"], row["change_value"]))
            told = f" -> {row['revision']}" if row["answer"] != UNTOLD else ""
            return f"{f.word} k{row['key']} {changes}{told}"
        columns = (row[name] for name in ("batch", "event_revision", "event_entry", "event_value"))
        rows = zip(*columns, strict=True)
        events = [f"{revision} {_entry(entry, value)}" for batch, revision, entry, value in rows if batch != READ]
        if len(events) > SHOWN:
            events = [*events[: SHOWN // 2], f"… {len(events) - SHOWN} more …", *events[-SHOWN // 2 :]]
        told = f" -> {', '.join(events) or 'nothing'}" if row["answer"] != UNTOLD else ""
        since = f" from {row['revision']}" if f is F.SUBSCRIBE or told else ""
        return f"{f.word} k{row['key']}{since}{told}"


def _entry(entry: int, value: int) -> str:
    if value == DELETED:
        return f"{entry} deleted"
    return f"{entry}=?" if value == UNREAD else f"{entry}={value}"


WATCH: Final = WatchModel()
