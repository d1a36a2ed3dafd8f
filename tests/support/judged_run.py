"""A whole run of a real system by the command, and its verdict."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

DEADLINE_S = 500


def judged_run(store: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    """``chaos run`` with these options: its exit code, what ``results.json`` holds, and what it said.

    It is judged on one machine; a run without a verdict fails the test with what was said.
    """
    argv = [sys.executable, "-m", "chaos", "run", "--engine", "local", "--store", str(store), *options]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    said = done.stdout + done.stderr
    path = store / "current" / "results.json"
    assert path.exists(), said
    return done.returncode, json.loads(path.read_text()), said


def row_of(results: dict[str, Any], check: str) -> dict[str, Any]:
    """The row of a check in the verdict table."""
    return next(row for row in results["checks"] if row["name"] == check)
