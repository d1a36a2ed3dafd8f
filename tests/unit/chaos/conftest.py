"""What this machine can do is tried once for all commands that are given inside the processes of tests.

Each of them would bring up hosts of its own to look: half a second, hundreds of times. What a run or a fault needs and
was not there is looked for again. The doctor's own tests are elsewhere and look for themselves.
"""

import fcntl
import os
import zlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec
import pytest

from cluster import doctor
from cluster.doctor import NO_TRIES, Fact, Try
from nemesis.plan import capabilities

look = doctor.namespaces


def looked_once(folder: Path, tries: Mapping[str, Try] = NO_TRIES) -> list[Fact]:
    """``cluster.doctor.namespaces``, remembered in a folder by what is to be tried, by the first process that asks."""
    path = folder / f"{zlib.crc32(' '.join(sorted(tries)).encode())}.json"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return msgspec.json.decode(path.read_bytes(), type=list[Fact])
        facts = look(tries)
        if all(fact.ok or (fact.optional and not fact.fault) for fact in facts):
            path.write_bytes(msgspec.json.encode(facts))
    return facts


@pytest.fixture(scope="session")
def _looks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what was found, the same for all workers."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "looks-at-the-machine"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def _one_look_at_the_machine(_looks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (doctor, capabilities):
        monkeypatch.setattr(place, "namespaces", partial(looked_once, _looks))
