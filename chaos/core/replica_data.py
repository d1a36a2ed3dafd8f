"""What each replica itself holds at the end of a run, whatever is kept there: the same words for every system.

A system gives the whole content of each replica (``ReplicaData``). The history keeps of it, in a note for each replica,
the digests of all of it and the entries in which replicas differ (``notes_of``), so a note stays short however much was
written. ``checkers.cluster.replica_data`` compares the notes.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec

from chaos.core.events import Note

REPLICA_DATA: Final = "replica-data"
"""The name of the notes."""

WHOLE: Final = "all entries"
"""The digest that is made here, of all that a replica was asked for."""

DIFFERING_MOST: Final = 200
"""A note keeps so many entries, the first by key; the digests tell of the others."""

_SHOWN: Final = 80


class ReplicaData(msgspec.Struct, frozen=True, kw_only=True):
    """What one replica of a subject holds, as it says itself.

    ``position``: how much of the subject's log it has applied, by which replicas know that they are equally far; None:
    it did not say. ``entries``: key → content, for people. ``digests``: what the system itself makes of all its data,
    by what it is called; only digests of one name are compared. ``differing``: in a note, how many entries differ, of
    which the first were kept. ``error``: why it could not be asked.
    """

    node: str
    subject: str
    position: int | None = None
    entries: dict[str, str] = {}
    digests: dict[str, str] = {}
    differing: int = 0
    error: str = ""


def notes_of(found: Sequence[ReplicaData], at_ns: int) -> list[Note]:
    """The notes of a history: a replica each, with the entries in which replicas of its subject differ. Pure."""
    differing = {subject: _differing(found, subject) for subject in {one.subject for one in found}}
    return [_note(one, differing[one.subject], at_ns) for one in found]


def data_in(note: Note) -> ReplicaData:
    """What a note says; ``entries`` are those that were kept."""
    return msgspec.convert(note.data, ReplicaData)


def _differing(found: Sequence[ReplicaData], subject: str) -> list[str]:
    """The keys that not all replicas which were asked have alike."""
    had = [one.entries for one in found if one.subject == subject and not one.error]
    keys = sorted({key for one in had for key in one})
    return [key for key in keys if len({one.get(key) for one in had}) > 1]


def _note(one: ReplicaData, differing: Sequence[str], at_ns: int) -> Note:
    if one.error:
        text = f"{one.node} does not show its data: {one.error}"
        return Note(time_ns=at_ns, name=REPLICA_DATA, node=one.node, text=text, data=msgspec.to_builtins(one))
    whole = hashlib.sha256(msgspec.json.encode(sorted(one.entries.items()))).hexdigest()[:16]
    kept = {key: _short(one.entries[key]) for key in differing[:DIFFERING_MOST] if key in one.entries}
    told = msgspec.structs.replace(one, entries=kept, digests={**one.digests, WHOLE: whole}, differing=len(differing))
    text = f"{one.node} holds {len(one.entries)} entries, digest {whole}"
    return Note(time_ns=at_ns, name=REPLICA_DATA, node=one.node, text=text, data=msgspec.to_builtins(told))


def _short(content: str) -> str:
    """A long content by its beginning and a digest: two that differ behind it still differ."""
    if len(content) <= _SHOWN:
        return content
    return f"{content[:_SHOWN]}… ({hashlib.sha256(content.encode()).hexdigest()[:8]})"
