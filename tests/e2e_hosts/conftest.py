"""What every backend owes its users: the same tests on each."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host_support import BACKENDS, Sandbox, sandboxes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let several processes share these tests: those of one file and one backend stay together."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            backend = next((name for name in BACKENDS if f"[{name}" in item.name), "")
            item.add_marker(pytest.mark.xdist_group(f"{item.path.stem} {backend}"))


@pytest.fixture(params=BACKENDS)
def sandbox(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Sandbox]]:
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path / "cache"))
    yield from sandboxes(request.param, tmp_path)
