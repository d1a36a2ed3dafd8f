"""Kept runs judged again, where only the checks have changed since: the row of each says so, and takes the old one's place.

What a run did was decided by the system, the faults and the workload, and stays; what is said of it by the checks.
"""

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from rows import Row, age, clean_commit, counted, identity, older, replace, stored
from runs import Told, judgement
from sources import CHECKS_OF, ROOT, today

DEADLINE_S = 300


def only_checks_changed(row: Row) -> bool:
    """Whether today's code would have made the same run, and may say something else of it."""
    changed = older(row)
    return bool(changed) and all(name.startswith(CHECKS_OF) for name in changed or ())


def judge_again(path: Path, store: Path, more: Told | None = None) -> None:
    """Judge the runs of a file's rows again whose folders are in a store and whose checks have changed.

    Args:
        path: the file.
        store: where a series put its runs.
        more: what the page needs beside.

    Raises:
        SystemExit: the tree has changes; a run could not be judged.
    """
    commit = clean_commit()
    for row in filter(only_checks_changed, counted(stored(path))):
        folder = next(store.glob(f"series-*/*/{row['run']}"), None)
        if folder is None:
            print(f"{row['run']}: its folder is not in {store}", flush=True)
            continue
        new = judged_again(row, folder, commit)
        new |= more(folder, new) if more is not None else {}
        replace(path, new, _is(row), f"judged again: {age(row)}")
        print(f"{row['run']} exit {new['exit']}  {new['sentence'] or new['reason']}", flush=True)


def judged_again(row: Row, folder: Path, commit: str) -> Row:
    """The row of a run after today's checks, which are of this commit, have judged it."""
    said = judgement(folder, _judge(folder))
    began = datetime.now(UTC).isoformat(timespec="milliseconds")
    code = {name: today()[name] for name in row["code"]}
    return {**row, **said, "code": code, "judged": {"commit": commit, "began": began}}


def _is(row: Row) -> Callable[[Row], bool]:
    name = identity(row)
    return lambda one: identity(one) == name


def _judge(folder: Path) -> int:
    """The exit code of the verdict on a run by today's checks, which is kept in its folder."""
    argv = [sys.executable, "-m", "chaos", "check", str(folder), "--engine", "local"]
    out = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    if out.returncode not in (0, 1, 2):
        raise SystemExit(f"{folder}: exit {out.returncode}\n{out.stdout[-3000:]}{out.stderr[-3000:]}")
    return out.returncode
