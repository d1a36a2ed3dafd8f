"""The rows under docs/data that pages are made of: where each came from, how old it is, and what took its place.

A row is a line of JSON. It says which command made it, when, at which commit, and the fingerprints of the code that
decided it (``code``: name in ``SOURCES`` to hash). Files are only appended to. A row that no longer counts stays, and a
later line ``{"supersedes": ..., "by": ..., "why": ...}`` says what took its place, if anything did, and why.
"""

import hashlib
import io
import json
import subprocess
import tokenize
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "data"
SYSTEMS = "cluster/systems"
CHECKS = ("*.py", "history", "anomalies", "engine", "log", "consumers", "cluster", "recovery")
SOURCES = {
    **{
        system: (f"{SYSTEMS}/{system}", f"{SYSTEMS}/_shared")
        for system in ("minimq", "rocketmq", "etcd", "redis", "nats")
    },
    "nemesis": ("nemesis",),
    "workload": ("chaos/workload",),
    "checks": tuple(f"checkers/{room}" for room in CHECKS),
    "objects": ("checkers/objects",),
    "hosts": tuple(f"cluster/{room}" for room in ("*.py", "agent", "hosts", "network", "nodes")),
    "engines": ("checkers", "spark_checkers", "chaos/core"),
}
"""What the fingerprints of a row may be of: folders and patterns of files, relative to the repository."""

HASH_CHARACTERS = 10
_BETWEEN_STATEMENTS = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}

Row = dict[str, Any]
Code = dict[str, str]


def code_only(source: bytes) -> bytes:
    """Pure: a Python source without comments, docstrings and breaks inside statements, so that prose ages nothing."""
    kept: list[str] = []
    before, after_docstring = tokenize.ENCODING, False
    tokens = list(tokenize.tokenize(io.BytesIO(source).readline))
    for token, after in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        dropped = token.type in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING) or after_docstring
        docstring = token.type == tokenize.STRING and before in _BETWEEN_STATEMENTS and after.type == tokenize.NEWLINE
        if token.type in (tokenize.INDENT, tokenize.DEDENT):
            kept.append(f"<{token.type == tokenize.INDENT}>")
        elif not dropped and not docstring:
            kept.append(token.string)
        after_docstring = docstring
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type
    return "\x00".join(kept).encode()


def fingerprint(patterns: Iterable[str], root: Path = ROOT) -> str:
    """A hash of the files that the patterns name, by path and content."""
    digest = hashlib.sha256()
    files = {path for pattern in patterns for found in root.glob(pattern) for path in [found, *found.rglob("*")]}
    for path in sorted(file for file in files if file.is_file() and "__pycache__" not in file.parts):
        content = path.read_bytes()
        digest.update(str(path.relative_to(root)).encode() + b"\0")
        digest.update(hashlib.sha256(code_only(content) if path.suffix == ".py" else content).digest())
    return digest.hexdigest()[:HASH_CHARACTERS]


@cache
def today() -> Code:
    """The fingerprints of the code that is here now."""
    return {name: fingerprint(patterns) for name, patterns in SOURCES.items()}


def deciding(system: str, model: str = "log") -> tuple[str, ...]:
    """The sources that decide what a run on a system comes to; ``model`` is what its clients work on."""
    return (system, "nemesis", "workload", "checks", *(() if model == "log" else ("objects",)))


def git(*argv: str) -> str:
    """What git says."""
    return subprocess.run(["git", *argv], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


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
    began = datetime.now(UTC).isoformat(timespec="milliseconds")
    code = {name: today()[name] for name in sources}
    return {"command": command, "commit": clean_commit(), "began": began, "code": code}


def stored(path: Path) -> list[Row]:
    """Every line of a file, oldest first."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep(path: Path, row: Row) -> None:
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
    """The name of a row: its run's, or what it measured and when."""
    if "run" in row:
        return str(row["run"])
    members = ("name", "scale", "backend", "part", "series", "began", "commit")
    return " ".join(str(row[name]) for name in members if name in row)


def counted(rows: Sequence[Row]) -> list[Row]:
    """Pure: the rows that nothing supersedes."""
    gone = {row["supersedes"] for row in rows if "supersedes" in row}
    return [row for row in rows if "supersedes" not in row and identity(row) not in gone]


def supersede(path: Path, old: Row, why: str, new: Row | None = None) -> None:
    """Say that a row does not count any more, and what took its place."""
    by = identity(new) if new is not None else None
    began = datetime.now(UTC).isoformat(timespec="milliseconds")
    keep(path, {"supersedes": identity(old), "by": by, "why": why, "began": began})


def replace(path: Path, row: Row, same: Callable[[Row], bool], why: str = "") -> None:
    """Append a row in the place of the counted rows for which ``same`` holds.

    ``why`` is the reason; without one it is the age of the row that goes.
    """
    old = [one for one in counted(stored(path)) if same(one)]
    keep(path, row)
    for one in old:
        supersede(path, one, why or age(one) or "it was measured again", row)


def older(row: Row, now: Code | None = None) -> list[str] | None:
    """Pure, given ``now``: the sources that have changed since a row was made; None if it has no fingerprint."""
    now = today() if now is None else now
    made: Code | None = row.get("code")
    return None if made is None else [name for name, value in made.items() if now.get(name) != value]


def age(row: Row, now: Code | None = None) -> str:
    """How old a row is, in words; empty if today's code made it."""
    changed = older(row, now)
    if changed is None:
        return "it has no fingerprint of the code that made it"
    return f"older than today's {' and '.join(changed)}" if changed else ""


def dated(row: Row) -> str:
    """When a row was made, as a date; ``?`` if it does not say."""
    return str(row.get("began") or row.get("series") or "?")[:10]


def made(rows: Sequence[Row], now: Code | None = None) -> str:
    """A cell of a table: commits and dates of rows, marked where other code than today's made any of them."""
    marks = sorted({"†" if older(row, now) is None else "‡" for row in rows if older(row, now) != []})
    seen = dict.fromkeys(f"{row.get('commit', '?')}, {dated(row)}" for row in sorted(rows, key=dated))
    return "; ".join(seen) + (f" {''.join(marks)}" if marks else "")


def about_age(rows: Sequence[Row], now: Code | None = None) -> list[str]:
    """Lines for the head of a page: how many of its rows today's code made, and what the marks mean."""
    rows = counted(rows)
    if not rows:
        return []
    ages = [older(row, now) for row in rows]
    changed = [name for name in SOURCES if any(name in (one or ()) for one in ages)]
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
            f"| {note['supersedes']} | {row.get('commit', '?')}, {dated(row)} | {says(row)} |"
            f" {note['by'] or 'nothing'} | {note['why']} |"
        )
    return lines
