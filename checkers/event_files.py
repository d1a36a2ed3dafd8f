"""The events of a history: from their table, or from the files that it was made of.

On this machine the table is made again when a file is newer. Elsewhere times say nothing, since files were copied in
any order: there the table is taken if it holds the last event of each file. The module refuses to interpret events.
"""

from typing import Any, Final

import msgspec
import pyarrow as pa

from chaos.core.errors import HistoryError
from chaos.core.events import Event
from chaos.core.history import all_events, materialise_events
from chaos.core.place import Place, Remote
from checkers.table import opened, remedy

_TAIL_BYTES: Final = 1 << 20
"""Far more than the last event of a file."""


def _texts(table: Place) -> list[str]:
    with opened(table) as file:
        texts: list[str] = file.read(columns=["event"])["event"].to_pylist()
        return texts


def _last_line(path: Remote) -> bytes:
    """The last whole line of a file, empty if there is none."""
    with path.source() as file:
        file.seek(max(0, file.size() - _TAIL_BYTES))
        data: bytes = file.read()
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    return lines[-1] if lines else b""


def _has_all(table: Remote, files: list[Remote]) -> bool:
    """Whether a table holds the last event of each file: events are appended, so it holds them all."""
    known = set(_texts(table))
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Event)
    lasts = [decoder.decode(line) for line in map(_last_line, files) if line]
    return all(msgspec.json.encode(event).decode() in known for event in lasts)


def holders(history: Remote) -> list[Remote]:
    """The files that together hold all events of a history elsewhere: their table alone if it has them all.

    Raises:
        HistoryError: there are none, or they cannot be read.
    """
    files, tables = list(history.glob("*.events")), list(history.glob("events.parquet"))
    if not files and not tables:
        raise HistoryError(f"{history}: neither events.parquet nor *.events; {remedy(history)}")
    try:
        return tables if tables and _has_all(tables[0], files) else files
    except (msgspec.DecodeError, pa.ArrowException, OSError) as error:
        raise _unreadable(history, error) from None


def events_of(history: Place) -> list[Event]:
    """All events, in order of time.

    Raises:
        HistoryError: they cannot be read.
    """
    table = history / "events.parquet"
    try:
        if isinstance(history, Remote):
            if holders(history)[0].name != table.name:
                return all_events(history)
        elif not table.exists() or any(
            path.stat().st_mtime_ns > table.stat().st_mtime_ns for path in history.glob("*.events")
        ):
            materialise_events(history)
        decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Event)
        return [decoder.decode(text) for text in _texts(table)]
    except (msgspec.DecodeError, pa.ArrowException, OSError) as error:
        raise _unreadable(history, error) from None


def _unreadable(history: Place, error: Exception) -> HistoryError:
    return HistoryError(f"{history}: an event that cannot be read: {(str(error).splitlines() or [''])[0]}")
