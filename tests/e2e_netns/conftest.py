"""Hosts in namespaces for tests: brought up for one test, taken down after it, whatever happens."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host_support import Sandbox, sandboxes


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Sandbox]]:
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path / "cache"))
    yield from sandboxes("netns", tmp_path)
