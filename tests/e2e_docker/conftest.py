"""Hosts in containers for tests: brought up for one test, taken down after it, whatever happens.

Every run removes what dead ones left in the engine, and takes the next free range of addresses; tests look at all that
is there. So one of them at a time uses the engine, in whatever process it runs.
"""

import fcntl
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host_support import Sandbox, sandboxes


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Sandbox]]:
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path / "cache"))
    yield from sandboxes("docker", tmp_path)


@pytest.fixture(autouse=True)
def _engine_alone() -> Iterator[None]:
    with (Path(tempfile.gettempdir()) / "chaos-tests-of-docker.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
