"""What nodes logged, as it lies in a run folder: lines with the time that each carries.

Thin around ``lines_with_time``.

A line's time is taken where it is written in a usual way: a date and time at its beginning or as a member of a JSON
object, or seconds of the host's monotonic clock. A system that writes it in another way says so (``DatesLogLines``).
Nothing is said of whose clock that is.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

MAX_BYTES: Final = 16 << 20
"""Read at most of one file; whoever shows it says so."""
LONGEST: Final = 300
"""Characters of a line that are kept."""

_DATED: Final = re.compile(
    r"\W?(\d{4})[-/](\d\d)[-/](\d\d)[T _-](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?"
    r"(Z|UTC|[+-]\d\d:?\d\d)?(?!\d)[\]):,]?\s*"
)
_MONOTONIC: Final = re.compile(r"(\d{1,10}\.\d{3,9})\s+")
_STAMPS: Final = ("ts", "time", "timestamp", "@timestamp")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class LogLine(NamedTuple):
    """One line. ``clock``: whether ``time_s`` is since 1970 or of the host's monotonic clock. ``text``: the rest."""

    clock: Literal["wall", "monotonic"]
    time_s: float
    text: str


class LogFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of one node. ``path``: relative to the run folder. ``unstamped``: lines without a time.

    ``cut``: only its first ``MAX_BYTES`` were read.
    """

    node: str
    path: str
    lines: tuple[LogLine, ...]
    unstamped: int = 0
    cut: bool = False


def read_logs(folder: Path, nodes: Iterable[str], dated: Callable[[str], str] = str) -> tuple[LogFile, ...]:
    """The logs of some nodes; a file that cannot be read is left out, as the files are no evidence.

    ``dated``: brings the date of a line to its beginning.
    """
    found = []
    for node in nodes:
        home = folder / "nodes" / node
        files = (path for path in sorted(home.rglob("*")) if path.name.lower().endswith(("log", ".out")))
        for path in files:
            if path.is_symlink() or not path.is_file():
                continue
            try:
                with path.open("rb") as file:
                    data = file.read(MAX_BYTES + 1)
            except OSError:
                continue
            found.append(_file(node, path.relative_to(folder).as_posix(), data, dated))
    return tuple(one for one in found if one.lines or one.unstamped)


def _file(node: str, path: str, data: bytes, dated: Callable[[str], str]) -> LogFile:
    cut = len(data) > MAX_BYTES
    whole = data[: data.rfind(b"\n", 0, MAX_BYTES) + 1] if cut else data
    text = whole.decode(errors="replace")
    every = [dated(line) for line in text.splitlines() if line.strip()]
    lines = tuple(lines_with_time(every))
    return LogFile(node=node, path=path, lines=lines, unstamped=len(every) - len(lines), cut=cut)


def lines_with_time(lines: Iterable[str]) -> Iterator[LogLine]:
    """The lines that carry a time. Pure."""
    for line in lines:
        if line.startswith("{"):
            found = _of_object(line)
        elif match := _DATED.match(line):
            found = _line_with_date(match, line[match.end() :])
        elif match := _MONOTONIC.match(line):
            found = LogLine("monotonic", float(match[1]), line[match.end() :])
        else:
            continue
        if found is not None:
            yield found._replace(text=_CONTROL.sub(" ", found.text)[:LONGEST])


def _line_with_date(match: re.Match[str], text: str) -> LogLine | None:
    """A line whose date was found; one without a zone is taken to be in UTC."""
    year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
    zone = (match[8] or "Z").replace("UTC", "Z").replace("Z", "+00:00")
    try:
        at = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
        ahead = datetime.strptime(zone.replace(":", ""), "%z").utcoffset()
    except ValueError:
        return None
    part = float(f"0.{match[7] or 0}")
    return LogLine("wall", at.timestamp() + part - (ahead.total_seconds() if ahead is not None else 0.0), text)


def _of_object(line: str) -> LogLine | None:
    """A line that is a JSON object with a time, told as its level, its message and the rest."""
    try:
        row = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        return None
    stamp = next((row.pop(name) for name in _STAMPS if name in row), None)
    first = [str(row.pop(name)) for name in ("level", "msg", "message") if name in row]
    text = " ".join([*first, *(f"{name}={value}" for name, value in row.items())])
    if isinstance(stamp, int | float):
        return LogLine("wall", float(stamp), text)
    match = _DATED.match(stamp) if isinstance(stamp, str) else None
    return None if match is None else _line_with_date(match, text)
