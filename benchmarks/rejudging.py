"""Judges kept runs again where only the checks have changed since they were made.

System, faults and workload decided what a run did, and that stays. Its checks decide what is said of it: a new row says
so, and takes the old one's place.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from rows import Row, age, changed_sources, clean_commit, counted_rows, identity, now_text, replace_row, stored_rows
from runs import Told, judgement
from sources import CHECKS_OF, ROOT, hashes_of_today

DEADLINE_S = 300


def only_checks_changed(row: Row) -> bool:
    """Whether nothing but the checks of a row has changed, so that its run would be the same today."""
    changed = changed_sources(row)
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
    for row in filter(only_checks_changed, counted_rows(stored_rows(path))):
        folder = next(store.glob(f"series-*/*/{row['run']}"), None)
        if folder is None:
            print(f"{row['run']}: its folder is not in {store}", flush=True)
            continue
        new = row_of_today(row, folder, commit)
        new |= more(folder, new) if more is not None else {}
        replace_row(path, new, _is(row), f"judged again: {age(row)}")
        print(f"{row['run']} exit {new['exit']}  {new['sentence'] or new['reason']}", flush=True)


def row_of_today(row: Row, folder: Path, commit: str) -> Row:
    """The row of a run that today's checks have judged; ``commit`` is theirs."""
    code = _judge(folder)
    said = judgement(folder, code, json.loads((folder / "run.json").read_text()))
    sources = {name: hashes_of_today()[name] for name in row["code"]}
    return {**row, **said, "code": sources, "judged": {"commit": commit, "began": now_text()}}


def _is(row: Row) -> Callable[[Row], bool]:
    name = identity(row)
    return lambda one: identity(one) == name


def _judge(folder: Path) -> int:
    """Let today's checks judge a run, which keeps their verdict in its folder; the exit code."""
    argv = [sys.executable, "-m", "chaos", "check", str(folder), "--engine", "local"]
    out = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    if out.returncode not in (0, 1, 2):
        raise SystemExit(f"{folder}: exit {out.returncode}\n{out.stdout[-3000:]}{out.stderr[-3000:]}")
    return out.returncode
