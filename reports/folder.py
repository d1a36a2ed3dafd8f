"""The parts of a run folder that a report is made of.

A thin shell: it reads files and decides nothing. What a crashed run never wrote is None or empty; what
is there and cannot be read is an error with the file's name.
"""

from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow.parquet as pq

from chaos.core.errors import HistoryError
from chaos.core.events import Event
from chaos.core.history import all_events
from chaos.core.runinfo import RunInfo, read_run
from chaos.core.series import Series
from chaos.core.verdict import Results

MAX_FILES = 400
"""Files listed at most; the page says of how many."""

_Shape = TypeVar("_Shape", Results, Series)


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. ``files``: (path relative to the folder, bytes), bounded; ``file_count``: all of them."""

    folder: str
    run: RunInfo
    results: Results | None
    series: Series | None
    events: tuple[Event, ...]
    plan: tuple[dict[str, Any], ...]
    config: str
    files: tuple[tuple[str, int], ...]
    file_count: int


def read_parts(folder: Path) -> Parts:
    """Read a run folder.

    Raises:
        HistoryError: no ``run.json``, or a file that is there and cannot be read.
    """
    run = read_run(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".partial"))
    files = [path for path in files if path != folder / "report.html"]
    files.sort(key=lambda path: (len(path.relative_to(folder).parts), path))
    config = folder / "config.yaml"
    return Parts(
        folder=str(folder),
        run=run,
        results=_decoded(folder / "results.json", Results),
        series=_decoded(folder / "series.json", Series),
        events=read_events_of(folder / "history"),
        plan=_plan(folder / "plan.jsonl"),
        config=config.read_text(errors="replace") if config.exists() else "",
        files=tuple((path.relative_to(folder).as_posix(), path.stat().st_size) for path in files[:MAX_FILES]),
        file_count=len(files),
    )


def _decoded(path: Path, shape: type[_Shape]) -> _Shape | None:
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=shape)
    except msgspec.DecodeError as error:
        raise HistoryError(f"{path}: {error}; `chaos check` writes it again") from None


def _plan(path: Path) -> tuple[dict[str, Any], ...]:
    if not path.exists():
        return ()
    rows = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            rows.append(msgspec.json.decode(line, type=dict[str, Any]))
        except msgspec.DecodeError as error:
            raise HistoryError(f"{path}:{number}: {error}") from None
    return tuple(rows)


def read_events_of(history: Path) -> tuple[Event, ...]:
    """Events as they were written, or from the merged table where only that was kept."""
    table = history / "events.parquet"
    try:
        if any(history.glob("*.events")):
            return tuple(all_events(history))
        if not table.exists():
            return ()
        decoder = msgspec.json.Decoder(Event)
        return tuple(decoder.decode(text) for text in pq.read_table(table, columns=["event"])["event"].to_pylist())
    except msgspec.DecodeError as error:
        raise HistoryError(f"{history}: an event that cannot be read: {error}") from None
