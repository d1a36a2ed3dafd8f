"""The rows under docs/data that pages are made of: where each came from, how old it is, and what took its place.

A row is a line of JSON. It says which command made it, when, at which commit, and the fingerprints of the code that
decided it (``code``: the name of a source to its hash; see sources.py). Files are only appended to. A row that no longer
counts stays, and a later line ``{"supersedes": ..., "by": ..., "why": ...}`` says what took its place, if anything did,
and why. ``judged`` says which checks judged the run of a row again later: their commit, and when.
"""

import json
import subprocess
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sources import FAULT, ROOT, hashes_of_today

DATA = ROOT / "docs" / "data"
Row = dict[str, Any]
Code = dict[str, str]


def git(*argv: str) -> str:
    """What git says."""
    return subprocess.run(["git", *argv], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def now_text() -> str:
    """This moment, as rows have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def clean_commit() -> str:
    """The commit that is here.

    Raises:
        SystemExit: something outside docs/ differs from it, so that a row would name code that no commit holds.
    """
    changed = git("status", "--porcelain", "--", ".", ":(exclude)docs")
    if changed:
        raise SystemExit(f"no row is kept of a tree with changes; commit them first:\n{changed}")
    return git("rev-parse", "--short=10", "HEAD")


def origin(sources: Iterable[str], command: str) -> Row:
    """The part of a row that says where it comes from.

    Raises:
        SystemExit: see ``clean_commit``.
    """
    code = {name: hashes_of_today()[name] for name in sources}
    return {"command": command, "commit": clean_commit(), "began": now_text(), "code": code}


def stored_rows(path: Path) -> list[Row]:
    """Every line of a file, oldest first."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def append_row(path: Path, row: Row) -> None:
    """Append a line.

    Raises:
        ValueError: a row that names no commit, or a commit and changes.
    """
    if "supersedes" not in row and ("-dirty" in row["commit"] or not row["commit"]):
        raise ValueError(f"a row of {path.name} names no commit that holds its code: {row['commit']!r}")
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def identity(row: Row) -> str:
    """The name of a row: its run's, and when that was judged again; or what it measured and when."""
    if "run" in row:
        return f"{row['run']} judged {row['judged']['began']}" if "judged" in row else str(row["run"])
    members = ("name", "scale", "backend", "part", "series", "began", "commit")
    return " ".join(str(row[name]) for name in members if name in row)


def counted_rows(rows: Sequence[Row]) -> list[Row]:
    """Pure: the rows that nothing supersedes."""
    gone = {row["supersedes"] for row in rows if "supersedes" in row}
    return [row for row in rows if "supersedes" not in row and identity(row) not in gone]


def supersede_row(path: Path, old: Row, why: str, new: Row | None = None) -> None:
    """Say that a row does not count any more, and what took its place."""
    by = identity(new) if new is not None else None
    append_row(path, {"supersedes": identity(old), "by": by, "why": why, "began": now_text()})


def replace_row(path: Path, row: Row, same: Callable[[Row], bool], why: str = "") -> None:
    """Append a row in the place of the counted rows for which ``same`` holds.

    ``why`` is the reason; without one it is the age of the row that goes.
    """
    old = [one for one in counted_rows(stored_rows(path)) if same(one)]
    append_row(path, row)
    for one in old:
        supersede_row(path, one, why or age(one) or "it was measured again", row)


def changed_sources(row: Row, now: Code | None = None) -> list[str] | None:
    """Pure, given ``now``: the sources that have changed since a row was made; None if it has no fingerprint."""
    now = hashes_of_today() if now is None else now
    made: Code | None = row.get("code")
    return None if made is None else [name for name, value in made.items() if now.get(name) != value]


def source_names(names: Iterable[str]) -> list[str]:
    """Pure: the names of sources as a sentence has them, each once; several faults are told as ``faults``."""
    listed = list(dict.fromkeys(names))
    several = sum(name.startswith(FAULT) for name in listed) > 1
    return list(dict.fromkeys("faults" if several and name.startswith(FAULT) else name for name in listed))


def age(row: Row, now: Code | None = None) -> str:
    """How old a row is, in words; empty if today's code made it."""
    changed = changed_sources(row, now)
    if changed is None:
        return "it has no fingerprint of the code that made it"
    return f"older than today's {' and '.join(source_names(changed))}" if changed else ""


def date_of(row: Row) -> str:
    """When a row was made, as a date; ``?`` if it does not say."""
    return str(row.get("began") or row.get("series") or "?")[:10]


def _judged_text(row: Row) -> str:
    return f", judged by {row['judged']['commit']}" if "judged" in row else ""


def code_and_dates(rows: Sequence[Row], now: Code | None = None) -> str:
    """A cell of a table: commits and dates of rows, marked where other code than today's made any of them."""
    marks = sorted(
        {"†" if changed_sources(row, now) is None else "‡" for row in rows if changed_sources(row, now) != []}
    )
    seen = dict.fromkeys(
        f"{row.get('commit', '?')}, {date_of(row)}{_judged_text(row)}" for row in sorted(rows, key=date_of)
    )
    return "; ".join(seen) + (f" {''.join(marks)}" if marks else "")


def age_lines(rows: Sequence[Row], now: Code | None = None) -> list[str]:
    """Lines for the head of a page: how many of its rows today's code made, and what the marks mean."""
    rows = counted_rows(rows)
    if not rows:
        return []
    ages = [changed_sources(row, now) for row in rows]
    changed = source_names(name for one in ages for name in one or ())
    said = [f"{ages.count([])} of {len(rows)} rows were made by today's code."]
    if None in ages:
        said.append("†: made before rows had fingerprints of the code that decides, so perhaps older than the checks.")
    if changed:
        said.append(f"‡: made by an older version of {', '.join(changed)}; it does not vouch for today's.")
    return [" ".join(said), ""]


def section(rows: Sequence[Row], says: Callable[[Row], str]) -> list[str]:
    """The end of a page: the rows that do not count any more, by what they were superseded and why."""
    named = {identity(row): row for row in rows if "supersedes" not in row}
    gone = [row for row in rows if "supersedes" in row and row["supersedes"] in named]
    if not gone:
        return []
    lines = [
        "",
        "## Superseded rows",
        "",
        "They stay in the file and are not counted above.",
        "",
        "| row | commit, date | it said | superseded by | why |",
        "|---|---|---|---|---|",
    ]
    for note in gone:
        row = named[note["supersedes"]]
        lines.append(
            f"| {note['supersedes']} | {row.get('commit', '?')}, {date_of(row)} | {says(row)} |"
            f" {note['by'] or 'nothing'} | {note['why']} |"
        )
    return lines
