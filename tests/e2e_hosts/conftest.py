"""What every backend owes its users: the same tests on each."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host_support import BACKENDS, Sandbox, sandboxes


@pytest.fixture(params=BACKENDS)
def sandbox(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Sandbox]]:
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path / "cache"))
    yield from sandboxes(request.param, tmp_path)
