"""The fingerprints of today's code are made once for all workers: each takes the whole repository apart into tokens."""

import fcntl
import importlib
import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from repository import BENCHMARKS


def made_once(path: Path, make: Callable[[], dict[str, str]]) -> dict[str, str]:
    """What ``make`` gives, remembered in a file by the first process that asks."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            path.write_text(json.dumps(make()))
        found: dict[str, str] = json.loads(path.read_text())
    return found


@pytest.fixture(scope="session", autouse=True)
def _one_set_of_fingerprints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    own = tmp_path_factory.getbasetemp()
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        sources = importlib.import_module("sources")
    make = sources.hashes_of_today
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "hashes_of_today", cache(lambda: made_once(folder / "fingerprints.json", make)))
        yield
