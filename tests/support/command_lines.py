"""Command lines of chaos, given one after the other in one process: a process for each starts a Python for each."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from repository import ROOT, TESTS

from chaos.cli import main

DEADLINE_S = 120


class Said(NamedTuple):
    """The exit code of a command, and what it said."""

    code: int
    out: str
    err: str


def said_here(*argv: str) -> Said:
    """Of a command line that is given inside this process."""
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.object(sys, "argv", ["chaos", *argv]), redirect_stdout(out), redirect_stderr(err):
        code = main.run()
    return Said(code, out.getvalue(), err.getvalue())


def said_of_each(
    lines: Sequence[Sequence[str]], *, before: Sequence[str] = (), site: Path | None = None, **options: str | Path
) -> list[Said]:
    """Of command lines in a process of their own, started by ``before``; it sees the packages of ``site``."""
    path = ":".join(str(one) for one in (site, TESTS / "support", ROOT) if one is not None)
    env: Mapping[str, str] = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [*before, sys.executable, __file__, json.dumps([list(line) for line in lines])],
        env=env,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return [Said(*json.loads(line)) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    for line in json.loads(sys.argv[1]):
        print(json.dumps(said_here(*line)))
