"""Runs of the command as a user types it, for controls that must go a known way."""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple


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
