"""The events of a history: from their table, or from the files that it was made of.

The table is taken if it is known to hold all events; on this machine it is made again otherwise. Files of a run that is
over are proven by its manifest, and the table by what was written beside it, ``events.facts.json``.
"""

from typing import Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from chaos.core.errors import HistoryError
from chaos.core.events import RUN_EVENTS, Event
from chaos.storage.event_files import events_in, identity_of
from chaos.storage.history import EVENT_FACTS, EVENT_TABLE, EventFacts, all_events, materialise_events
from chaos.storage.manifest import Manifest, check_document, compare, copy_again, sum_of
from chaos.storage.storage_path import Place, Remote
from checkers.history.table import remedy

_TAIL_BYTES: Final = 1 << 20
"""Far more than the last event of a file."""


class _Listed(NamedTuple):
    """What there is of a history's events, by one listing."""

    files: dict[str, Place]
    table: Place | None
    facts: EventFacts | None


def _listed(history: Place) -> _Listed:
    found: dict[str, Place] = {path.name: path for path in history.glob("*events*")}
    path, facts = found.get(EVENT_FACTS), None
    if path is not None:
        data = path.read_bytes()
        check_document(path, data, must=True)
        facts = msgspec.json.decode(data, type=EventFacts)
    files = {name: path for name, path in sorted(found.items()) if name.endswith(".events")}
    return _Listed(files, found.get(EVENT_TABLE), facts)


def _texts(listed: _Listed) -> list[str]:
    """The table's events as JSON."""
    assert listed.table is not None
    data = listed.table.read_bytes()
    if listed.facts is not None:
        compare(listed.table, sum_of(data), listed.facts.table, EVENT_FACTS)
    with pq.ParquetFile(pa.BufferReader(data)) as file:
        texts: list[str] = file.read(columns=["event"])["event"].to_pylist()
        return texts


def _last_line(path: Remote) -> bytes:
    """The last whole line of a file, empty if there is none."""
    with path.source() as file:
        file.seek(max(0, file.size() - _TAIL_BYTES))
        data: bytes = file.read()
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    return lines[-1] if lines else b""


def _has_last(listed: _Listed) -> bool:
    """Whether a table elsewhere holds the last event of each file: events are appended, so it holds them all."""
    known = {identity_of(text) for text in _texts(listed)}
    lasts = [_last_line(path) for path in listed.files.values() if isinstance(path, Remote)]
    return all(identity_of(line) in known for line in lasts if line)


def _table_has_all(listed: _Listed, manifest: Manifest | None) -> bool:
    """Whether the table is there and holds the events of all files."""
    table, facts = listed.table, listed.facts
    if table is None:
        return False
    if manifest is not None:
        wanted = {name: manifest.of_history(name) for name in manifest.names(".events")}
        if facts is None or facts.made_of != wanted:
            return False
    if facts is not None:
        sizes = {name: own.size for name, own in facts.made_of.items()}
        if any(sizes.get(name) != path.stat().st_size for name, path in listed.files.items()):
            return False
    if isinstance(table, Remote):  # copied in any order: times say nothing
        return facts is not None or _has_last(listed)
    made_ns = table.stat().st_mtime_ns
    return all(path.stat().st_mtime_ns <= made_ns for path in listed.files.values())


def _check_files(history: Place, listed: _Listed, manifest: Manifest | None) -> None:
    """Hold the names of the files against the manifest, which tells of their content."""
    for name in manifest.names(".events") if manifest is not None else ():
        if name not in listed.files:
            raise HistoryError(f"{history}: {name} is missing; {copy_again(history)}")
    if manifest is None and RUN_EVENTS not in listed.files:
        raise HistoryError(f"{history}: neither {EVENT_TABLE} nor {RUN_EVENTS}; {copy_again(history)}")
    for name in listed.files:
        if manifest is not None and manifest.of_history(name) is None:
            raise HistoryError(f"{history}: the manifest knows of no {name}; it belongs to another run")


def holders(history: Remote, manifest: Manifest | None = None) -> list[Remote]:
    """The files that together hold all events of a history elsewhere: their table, or those it is made of.

    Raises:
        HistoryError: there are none, or they cannot be read.
    """
    try:
        listed = _listed(history)
        if not _table_has_all(listed, manifest):
            _check_files(history, listed, manifest)
            return [history / name for name in listed.files]
        return [history / EVENT_TABLE, *([] if listed.facts is None else [history / EVENT_FACTS])]
    except _UNREADABLE as error:
        raise _unreadable(history, error) from None


def events_of(history: Place, manifest: Manifest | None = None, *, keep: bool = True) -> list[Event]:
    """All events, in order of time.

    Args:
        history: the folder ``history``.
        manifest: what the files must be; None where the run left none.
        keep: whether their table is made if it is missing or old, on this machine.

    Raises:
        HistoryError: they cannot be read, or were altered.
    """
    try:
        listed = _listed(history)
        if listed.table is not None and _table_has_all(listed, manifest):
            return list(events_in(_texts(listed)))
        _check_files(history, listed, manifest)
        if isinstance(history, Remote) or not keep:
            return all_events(history, manifest)[0]
        return materialise_events(history, manifest)
    except _UNREADABLE as error:
        raise _unreadable(history, error) from None


_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, pa.ArrowException, OSError, KeyError)


def _unreadable(history: Place, error: Exception) -> HistoryError:
    return HistoryError(
        f"{history}: an event that cannot be read: {(str(error).splitlines() or [''])[0]}; {remedy(history)}"
    )
