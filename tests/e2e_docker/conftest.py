"""Hosts in containers for tests: brought up for one test, taken down after it, whatever happens.

Every run removes what dead ones left in the engine, and takes the next free range of addresses. A test that counts on
either asks for ``alone``; it begins when no other has the engine.
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


@pytest.fixture
def alone() -> None:
    """Asked for by tests beside which none of another process may use the engine."""


@pytest.fixture(autouse=True)
def _use_of_the_engine(request: pytest.FixtureRequest) -> Iterator[None]:
    with (Path(tempfile.gettempdir()) / "chaos-tests-of-docker.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if "alone" in request.fixturenames else fcntl.LOCK_SH)
        yield
