"""Whole runs whose replicas say what they hold: equal ones are valid; a fork, and a history altered to one, are not."""

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from chaos.core.events import EventLog, Note
from chaos.core.replica_data import REPLICA_DATA, ReplicaData
from chaos.storage.event_files import read_events
from chaos.storage.manifest import write_manifest
from chaos.storage.runinfo import Promises
from chaos.testing import FakeSystem, run
from chaos.testing.fake_system import GROUP
from checkers.engine import local_engine

pytestmark = pytest.mark.broad


class Reader:
    """Says what it was told to say of each replica."""

    def __init__(self, found):
        self._found = found

    async def read(self, timeout_s):
        return self._found

    async def close(self):
        return


class Replicated(FakeSystem):
    """A fake system whose replicas can be asked. ``contents``: what each holds under one key."""

    def __init__(self, contents):
        super().__init__(leads=True, promises=Promises(replicas_read=True))
        self._contents = contents

    def replica_reader(self, view):
        named = zip(view.nodes, self._contents, strict=True)
        return Reader(
            tuple(ReplicaData(node=node.name, subject=GROUP, position=9, entries={"k": c}) for node, c in named)
        )


def altered(folder: Path, copy: Path) -> Path:
    """A copy of a run folder in whose history the last replica holds something else."""
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*.parquet", "*.facts.json", "results.json"))
    path = copy / "history" / "observer.events"
    events = list(read_events(path))
    last = max(i for i, one in enumerate(events) if isinstance(one, Note) and one.name == REPLICA_DATA)
    digests = {"all entries": "0"}
    events[last] = msgspec.structs.replace(events[last], data={**events[last].data, "digests": digests})
    path.unlink()
    log = EventLog(path)
    for event in events:
        log.emit(event)
    log.close()
    write_manifest(copy)
    return copy


def test_equal_replicas_are_told_and_a_fork_in_the_history_is_found(tmp_path):
    done = run(tmp_path / "store", Replicated(["7", "7", "7"]), workload="register")
    assert (done.check("replica-data").valid, done.check("replica-data").examined) == (True, "3 replicas")
    assert "replicas 3 of 3 replicas' data read" in done.lines
    busy = done.results.valid == "unknown"  # the machine could not keep the load's schedule, and the sentence says so
    assert busy or "3 replicas hold the same data" in done.results.sentence
    assert "replicas" in json.loads((done.folder / "run.json").read_text())["timings_s"]
    found = local_engine.judge_folder(altered(done.folder, tmp_path / "altered")).results
    assert (found.valid, found.anomalies["replica-fork"].count) == (False, 1)


def test_a_fork_is_invalid_and_told_first(tmp_path):
    done = run(tmp_path, Replicated(["7", "7", "6"]), workload="set", reports=())
    assert done.exit_code == 1
    assert done.results.sentence.startswith("1 place at which replicas differ: after the load f3 holds 6 under k")


def test_systems_whose_replicas_cannot_be_asked_have_no_row(tmp_path):
    done = run(tmp_path, FakeSystem(), workload="counter", reports=())
    assert "replica-data" not in {row.name for row in done.results.checks}
