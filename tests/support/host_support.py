"""What the tests of hosts share: backends by name, hosts brought up for one test, and looks from outside."""

import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from chaos.core.errors import CapabilityError
from cluster import clean
from cluster.cleanup import run_records
from cluster.host import Backend, NodeSpec
from cluster.hosts.docker.backend import DockerBackend
from cluster.hosts.docker.engine import connect
from cluster.hosts.netns import NetnsBackend

BACKENDS = ("netns", "docker")


@cache
def missing(name: str) -> str | None:
    """Why a backend cannot be tested here, in the words of `chaos doctor`."""
    if name != "docker":
        return None
    try:
        connect().check_enterable()
    except CapabilityError as error:
        return str(error)
    return None


def make(name: str, **options: str) -> Backend:
    """A backend, ready to be brought up; a test skips without the capability, but never in CI."""
    reason = missing(name)
    if reason is not None:
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)
    backend: Backend = DockerBackend(**options) if name == "docker" else NetnsBackend()
    backend.prepare([], lambda _line: None)
    return backend


class Sandbox:
    """A backend that is up, with what tests ask of it most."""

    def __init__(self, backend: Backend, run_id: str, work: Path, names: tuple[str, ...]) -> None:
        self.run_id = run_id
        self.work = work
        self.backend = backend
        self.hosts = backend.up(run_id, [NodeSpec(name=name, role="node") for name in names], work)

    def nodes(self):
        return {name: host for name, host in self.hosts.items() if name != "client"}


def sandboxes(name: str, tmp_path: Path, **options: str):
    """A generator for a fixture: yields what brings hosts up, and takes all of them down."""
    made: list[Sandbox] = []

    def up(*names: str) -> Sandbox:
        work = tmp_path / f"work{len(made)}"
        work.mkdir()
        made.append(Sandbox(make(name, **options), f"test-{os.getpid()}-{time.monotonic_ns()}", work, names))
        return made[-1]

    yield up
    for each in made:
        each.backend.down()
        until(lambda run_id=each.run_id: not marked(run_id), "the hosts' processes to be gone")


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
        if pid and clean.environment(pid).get(run_records.RUN) == run_id and run_records.start_time(pid) is not None:
            try:
                found[pid] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue  # it has just ended
    return found
