"""Looks at a run folder again and again and tells what is new. A thin shell around ``Following``."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.verdict import Results
from chaos.serve.following import Following, Told
from chaos.serve.tail import EventTail, StreamTail
from chaos.storage.manifest import read_checked
from chaos.storage.runinfo import read_run

REPORTED_WITHIN_S: Final = 60.0
"""A run whose page does not come for so long after its verdict has none."""
_EVENTS: Final = ("run.events", "observer.events")


class Follower:
    """Follows one run folder, from its beginning.

    Args:
        folder: the run's.
        told: what an event is to who looks on.

    Raises:
        HistoryError: it has no ``run.json``, or one that cannot be read.
    """

    def __init__(self, folder: Path, told: Told) -> None:
        self._folder = folder
        self._following = Following(read_run(folder), told)
        self._events: dict[str, EventTail] = {}
        self._streams: dict[str, StreamTail] = {}
        self._opened: tuple[str, ...] | None = None

    def step(self) -> Iterator[dict[str, Any]]:
        """What is new, how it stands, and at last ``end``. The nodes of a run are known only once it was deployed."""
        following, folder = self._following, self._folder
        events = [event for tail in self._event_tails() for event in tail.new()]
        following.run = read_run(folder)  # behind the events: it is written before the load's first one
        nodes = tuple(node.name for node in following.run.nodes)
        if nodes != self._opened:
            self._opened = nodes
            yield following.opening(_plan(folder / "plan.jsonl"))
        for event in events:
            if (one := following.take_event(event)) is not None:
                yield one
        for stream in self._stream_tails():
            for records, refused in stream.new():
                following.take_records(records, refused)
        quiet_s = self._quiet_s()
        yield following.beat(quiet_s)
        end, reported = following.end(_results(folder)), (folder / "report.html").is_file()
        if end is not None and (reported or quiet_s > REPORTED_WITHIN_S):
            yield {**end, "report": reported}

    def _event_tails(self) -> list[EventTail]:
        history = self._folder / "history"
        for name in _EVENTS:
            if name not in self._events and (history / name).is_file():
                self._events[name] = EventTail(history / name)
        return list(self._events.values())

    def _stream_tails(self) -> list[StreamTail]:
        for path in sorted((self._folder / "history").glob("w*.ops")):
            if path.name not in self._streams and not path.is_symlink():
                self._streams[path.name] = StreamTail(path, self._following.run.refusals)
        return list(self._streams.values())

    def _quiet_s(self) -> float:
        """Seconds since one of the files of events was written, as its file system says."""
        paths = [self._folder / "run.json", *(self._folder / "history" / name for name in _EVENTS)]
        newest = max((path.stat().st_mtime for path in paths if path.exists()), default=0.0)
        return max(0.0, time.time() - newest)


def _plan(path: Path) -> list[dict[str, Any]]:
    try:
        return [msgspec.json.decode(line, type=dict[str, Any]) for line in path.read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError):
        return []


def _results(folder: Path) -> Results | None:
    try:
        return read_checked(folder / "results.json", Results)
    except HistoryError:
        return None
