"""The parts of a run folder that a report is made of.

A thin shell: it reads files and decides nothing. What a crashed run never wrote is None or empty; what
is there and cannot be read is an error with the file's name.
"""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import msgspec

from chaos import plugins
from chaos.core.errors import HistoryError, UsageError
from chaos.core.events import Event
from chaos.core.log_lines import DatesLogLines
from chaos.core.series import Series
from chaos.core.verdict import Results
from chaos.storage.manifest import read_checked
from chaos.storage.runinfo import RunInfo, read_run
from checkers.history.events import events_of
from checkers.history.folder_integrity import check_plan, manifest_of
from reports.node_logs import LogFile, read_logs

MAX_FILES = 400
"""Files listed at most; the page says of how many."""


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
    logs: tuple[LogFile, ...] = ()


def read_parts(folder: Path, made: Collection[str] = (), *, logs: bool = True) -> Parts:
    """Read a run folder.

    Args:
        folder: the run's.
        made: what reporters write there, which is not listed.
        logs: read what nodes logged as well.

    Raises:
        HistoryError: no ``run.json``, or a file that is there and cannot be read.
    """
    run = read_run(folder)
    check_plan(folder, manifest_of(folder, run))
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".partial"))
    files = [path for path in files if path.parent != folder or path.name not in made]
    files.sort(key=lambda path: (len(path.relative_to(folder).parts), path))
    config = folder / "config.yaml"
    return Parts(
        folder=str(folder),
        run=run,
        results=read_checked(folder / "results.json", Results),
        series=read_checked(folder / "series.json", Series),
        events=read_events_of(folder, run),
        plan=_plan(folder / "plan.jsonl"),
        config=config.read_text(errors="replace") if config.exists() else "",
        files=tuple((path.relative_to(folder).as_posix(), path.stat().st_size) for path in files[:MAX_FILES]),
        file_count=len(files),
        logs=read_logs(folder, [node.name for node in run.nodes], dating_of(run.system)) if logs else (),
    )


def dating_of(system: str) -> Callable[[str], str]:
    """How a system dates lines; as is usual where the system cannot be had here."""
    try:
        found = plugins.load("systems", system)()
    except UsageError:
        return str
    return found.dated if isinstance(found, DatesLogLines) else str


def _plan(path: Path) -> tuple[dict[str, Any], ...]:
    if not path.exists():
        return ()
    rows = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            rows.append(msgspec.json.decode(line, type=dict[str, Any]))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise HistoryError(f"{path}:{number}: {error}") from None
    return tuple(rows)


def read_events_of(folder: Path, run: RunInfo) -> tuple[Event, ...]:
    """The events of a run; none where it left none.

    Raises:
        HistoryError: they cannot be read, or were altered.
    """
    manifest, history = manifest_of(folder, run), folder / "history"
    if manifest is None and not any(history.glob("*events*")):
        return ()
    return tuple(events_of(history, manifest, keep=False))
