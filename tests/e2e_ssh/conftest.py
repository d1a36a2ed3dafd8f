"""Machines for tests, and what is up on them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ssh_support import Lab, Up, laboratory


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Lab]]:
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    folder = tmp_path / "lab"
    folder.mkdir()
    with laboratory(folder) as make:
        yield make


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Up]]:
    """One machine for all tests of a module: a promise is kept again and again."""
    with laboratory(tmp_path_factory.mktemp("lab")) as make:
        made = make("b1")
        hosts = made.up(install=True)
        yield lambda *_: Up(made.backends[-1], hosts)
