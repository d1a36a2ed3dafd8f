"""Sandboxes for tests: brought up for one test, taken down after it, whatever happens."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host_contract import Up

from cluster import reap, records
from cluster.host import NodeSpec
from cluster.netns import NetnsBackend


class Sandbox:
    """A backend that is up, with what tests ask of it most."""

    def __init__(self, run_id: str, work: Path, names: tuple[str, ...]) -> None:
        self.run_id = run_id
        self.work = work
        self.backend = NetnsBackend()
        self.hosts = self.backend.up(run_id, [NodeSpec(name=name, role="node") for name in names], work)

    def nodes(self):
        return {name: host for name, host in self.hosts.items() if name != "client"}


def until(condition: Callable[[], object], what: str, timeout_s: float = 10.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"waited {timeout_s} s for {what}"
        time.sleep(0.01)


def marked(run_id: str) -> dict[int, str]:
    """Live processes of a run as the machine's own /proc shows them: pid -> command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        pid = int(entry.name) if entry.name.isdigit() else 0
        if pid and reap.environment(pid).get(records.RUN) == run_id and records.start_time(pid) is not None:
            try:
                found[pid] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue  # it has just ended
    return found


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Sandbox]]:
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path / "cache"))
    made: list[Sandbox] = []

    def up(*names: str) -> Sandbox:
        work = tmp_path / f"work{len(made)}"
        work.mkdir()
        made.append(Sandbox(f"test-{os.getpid()}-{time.monotonic_ns()}", work, names))
        return made[-1]

    yield up
    for each in made:
        each.backend.down()
        until(lambda run_id=each.run_id: not marked(run_id), "the sandbox's processes to be gone")


@pytest.fixture
def contract(sandbox: Callable[..., Sandbox]) -> Callable[..., Up]:
    def up(*names: str) -> Up:
        made = sandbox(*names)
        return Up(made.backend, made.hosts)

    return up
