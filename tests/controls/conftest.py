"""Runs of the command as a user types it, for controls that must go a known way."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Ran(NamedTuple):
    """A finished run: exit code, its folder, what it printed."""

    code: int
    folder: Path
    output: str

    def json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

    @property
    def results(self) -> Any:
        return self.json("results.json")

    def check(self, name: str) -> Any:
        return next(row for row in self.results["checks"] if row["name"] == name)


Runner = Callable[..., Ran]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, **(extra or {})}


def argv_of(argv: Sequence[str], store: Path) -> list[str]:
    return [sys.executable, "-m", "chaos", "run", "--system", "rocketmq", *argv, "--store", str(store)]


def folder_in(store: Path) -> Path:
    return (store / "current").resolve()


@pytest.fixture
def chaos_run(tmp_path: Path) -> Runner:
    """Run ``chaos run --system rocketmq ARGV`` to its end in a store of its own."""

    def go(*argv: str, env: Mapping[str, str] | None = None, timeout_s: float = 600) -> Ran:
        done = subprocess.run(
            argv_of(argv, tmp_path / "store"), capture_output=True, text=True, timeout=timeout_s, check=False,
            env=environment(env),
        )  # fmt: skip
        return Ran(done.returncode, folder_in(tmp_path / "store"), done.stdout + done.stderr)

    return go
