"""The watches of a report: each by itself, and against the changes that the replay found.

The rules are those of ``checkers.coordination.watch``; what is made here are its columns. Watches are judged together
with those that ask for the same keys.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from chaos.formats.etcd_robustness import Watched
from chaos.formats.etcd_words import DELETE, PUT, Content, Event, WatchRequest, or_empty
from chaos.models.coordination.watch import DELETED
from checkers.coordination.watch import against_writes, of_itself
from checkers.coordination.watch_facts import Known, Naming, Place, Told
from checkers.history.columns import Ints
from checkers.revisions.pinned import Pinned
from checkers.revisions.space import Changes

KINDS: Final = (
    "watch-phantom",
    "watch-skipped",
    "watch-torn",
    "watch-reordered",
    "watch-duplicate",
    "watch-before-start",
    "watch-wrong-previous",
    "watch-unasked",
    "watch-bookmark-broken",
)


class WrongWatch(NamedTuple):
    """What is wrong with a watch."""

    kind: str
    said: str
    watch: Watched


class Names:
    """Numbers for keys and for values, as the columns of watches have them."""

    def __init__(self) -> None:
        self.keys: dict[str, int] = {}
        self.values: dict[Content, int] = {}

    def key(self, key: str) -> int:
        """The number of a key."""
        return self.keys.setdefault(key, len(self.keys))

    def value(self, value: Content) -> int:
        """The number of a value."""
        return self.values.setdefault(value, len(self.values))

    def naming(self) -> Naming:
        """What the numbers stand for."""
        keys, values = list(self.keys), list(self.values)
        return Naming(lambda number: f"key {keys[number]}", lambda number: str(values[number]))


class Replayed(Known):
    """What became of which key at which revision, as the replay has it.

    Behind the last revision that a client was told, an event is explained by a change of unknown outcome.
    """

    def __init__(
        self, changes: Changes, events: Iterable[Event], asked: WatchRequest, names: Names, open_: "Opened"
    ) -> None:
        self.value: dict[Place, int] = {
            (revision, names.key(key)): DELETED if entry is None else names.value(entry.value)
            for revision, own in changes.items()
            for key, entry in own.items()
            if asked.matches(key)
        }
        self.strange: dict[tuple[int, int, int], str] = {}
        last = max(changes, default=1)
        for event in events:
            entry, value = names.key(event.key), value_of(event, names)
            held = self.value.get((event.revision, entry))
            if held == value:
                continue
            if event.revision > last and held is None and open_.may_make(event):
                self.value[event.revision, entry] = value
            else:
                self.strange[event.revision, entry, value] = _unexplained(event, held, last)

    def may_have_been(self, entry: int, latest: int, revision: int, value: int) -> bool:  # noqa: ARG002 - as of Known
        """Never: the replay knows everything."""
        return False

    def writer(self, revision: int) -> int | None:  # noqa: ARG002 - as of Known
        """None: a report has no numbers of operations."""
        return None


def _unexplained(event: Event, held: int | None, last: int) -> str:
    if event.revision > last:
        return "no client asked for this change"
    return "the key was changed otherwise then" if held is not None else "the key was not changed then"


class Opened:
    """What changes of unknown outcome may have done."""

    def __init__(self, pinned: Pinned) -> None:
        parts = [part for did in pinned.open for part in did.request.parts]
        self._puts = {(part.put.key, part.put.value) for part in parts if part.kind == PUT}
        self._deletes = {part.delete.key for part in parts if part.kind == DELETE}
        self._revokes = any(did.request.revoke is not None for did in pinned.open)

    def may_make(self, event: Event) -> bool:
        """Whether one of them may have made an event."""
        if event.kind == DELETE:
            return self._revokes or event.key in self._deletes
        return (event.key, event.value) in self._puts


def value_of(event: Event, names: Names) -> int:
    """The number of the value that an event tells."""
    return DELETED if event.kind == DELETE else names.value(event.value)


def judge_watches(pinned: Pinned, changes: Changes | None) -> list[WrongWatch]:
    """What is wrong with the watches of all clients.

    Args:
        pinned: the operations of the report.
        changes: what became of the keys; None: nobody knows, so each watch is judged by itself alone.
    """
    report = pinned.report
    found = [one for watch in report.watches for one in (*_unasked(watch), *_broken_bookmarks(watch))]
    groups: dict[tuple[str, bool], list[Watched]] = {}
    for watch in report.watches:
        asked = watch.line.request
        groups.setdefault((asked.key, asked.prefix), []).append(watch)
    opened = Opened(pinned)
    for own in groups.values():
        names = Names()
        known = None
        if changes is not None:
            events = [event for watch in own for _, event in events_of(watch)]
            known = Replayed(changes, events, own[0].line.request, names, opened)
        told = told_by(own, known, names)
        wrong = [*of_itself(told)]
        if known is not None and changes is not None:
            late = np.zeros(len(own), np.bool_)
            wrong += against_writes(told, known, late, whole=True)
            found += _wrong_creation(own, known, names)
            found += _wrong_versions(own, changes)
        found += [WrongWatch(one.kind, f"a watch {one.said}", own[one.ops[0]]) for one in wrong]
    return found


def events_of(watch: Watched) -> Iterator[tuple[int, Event]]:
    """The events that a watch asked for, each with the number of its message."""
    for batch, message in enumerate(or_empty(watch.line.messages)):
        for event in or_empty(message.events):
            if watch.line.request.matches(event.key):
                yield batch, event


def first_revision(watch: Watched) -> int:
    """From which revision on a watch had to be told everything; 0 if it was told nothing."""
    if watch.line.request.revision:
        return watch.line.request.revision
    for message in or_empty(watch.line.messages):
        if message.progress:
            return message.revision + 1
        if message.events:
            return message.events[0].revision
    return 0


def told_by(watches: Sequence[Watched], known: Known | None, names: Names) -> Told:
    """The events of some watches as columns; one that names nothing before it names what there was."""
    rows = []
    for number, watch in enumerate(watches):
        for batch, event in events_of(watch):
            entry = names.key(event.key)
            latest = (0, DELETED) if known is None else known.before(event.revision, entry)
            before = (0, DELETED) if latest[1] == DELETED else latest
            if event.before is not None:
                before = (event.before.revision, names.value(event.before.value))
            rows.append((number, batch, event.revision, entry, value_of(event, names), *before))
    columns: list[Ints] = list(np.array(rows, np.int64).reshape(-1, 7).T)
    notified = [[one.revision for one in or_empty(watch.line.messages) if one.progress] for watch in watches]
    return Told(
        ops=np.arange(len(watches)),
        since=np.array([first_revision(watch) for watch in watches], np.int64),
        watch=columns[0],
        batch=columns[1],
        revision=columns[2],
        entry=columns[3],
        value=columns[4],
        previous_revision=columns[5],
        previous_value=columns[6],
        reached=np.array([max(own, default=0) for own in notified], np.int64),
        naming=names.naming(),
    )


def _unasked(watch: Watched) -> Iterator[WrongWatch]:
    asked = watch.line.request
    for message in or_empty(watch.line.messages):
        for event in or_empty(message.events):
            if not asked.matches(event.key):
                kind = "keys that begin with" if asked.prefix else "key"
                said = f"a watch of {kind} {asked.key!r} was told revision {event.revision} of key {event.key}"
                yield WrongWatch("watch-unasked", said, watch)


def _broken_bookmarks(watch: Watched) -> Iterator[WrongWatch]:
    """Events at or below a revision up to which everything had been told, and such words that step back."""
    bookmark = latest = 0
    for message in or_empty(watch.line.messages):
        for event in or_empty(message.events):
            if event.revision <= bookmark:
                said = (
                    f"a watch was told revision {event.revision} of key {event.key} "
                    f"after it was told that it had everything up to revision {bookmark}"
                )
                yield WrongWatch("watch-bookmark-broken", said, watch)
            latest = event.revision
        if message.progress:
            if message.revision < max(bookmark, latest):
                said = (
                    f"a watch was told that it had everything up to revision {message.revision}, "
                    f"after it had reached revision {max(bookmark, latest)}"
                )
                yield WrongWatch("watch-bookmark-broken", said, watch)
            bookmark = message.revision


def _wrong_creation(watches: Sequence[Watched], known: Known, names: Names) -> Iterator[WrongWatch]:
    """Events that say wrongly whether their key was there before."""
    for watch in watches:
        for _, event in events_of(watch):
            entry = names.key(event.key)
            if event.kind == DELETE or (event.revision, entry, value_of(event, names)) in known.strange:
                continue
            there = known.before(event.revision, entry)[1] != DELETED
            if event.created == there:
                claim = "to create the key, which was there" if there else "to change the key, which was not there"
                said = f"a watch was told that revision {event.revision} of key {event.key} was {claim}"
                yield WrongWatch("watch-wrong-previous", said, watch)


def _wrong_versions(watches: Sequence[Watched], changes: Changes) -> Iterator[WrongWatch]:
    """Events whose previous value is right and its version wrong."""
    version = {
        (revision, key): entry.version
        for revision, own in changes.items()
        for key, entry in own.items()
        if entry is not None
    }
    for watch in watches:
        for _, event in events_of(watch):
            before = event.before
            right = version.get((before.revision, event.key)) if before is not None else None
            if before is not None and right is not None and before.version != right:
                what = f"revision {event.revision} of key {event.key}"
                said = f"a watch was told that {what} came after version {before.version}, but it came after {right}"
                yield WrongWatch("watch-wrong-previous", said, watch)
