"""What a kill's heal says of a process that does not come back: whose doing it is, and its last words."""

from pathlib import Path

import msgspec
import pytest

from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError
from chaos.core.node_notes import ENDED, SILENT
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Cluster, Node
from cluster.nodes import process, process_end
from cluster.system import Launch
from nemesis.faults.fault import Scene
from nemesis.faults.processes.kill import Kill
from nemesis.faults.processes.suspend import Suspend
from nemesis.targets.targets import Targets

pytestmark = pytest.mark.e2e

SERVER = b"""
import pathlib, sys, time
if pathlib.Path("mood").exists():
    if pathlib.Path("mood").read_text() == "silent":
        time.sleep(5000)
    sys.exit("the log is damaged; restore it")
pathlib.Path(sys.argv[1]).read_text()
print("serving", flush=True)
time.sleep(5000)
"""


@pytest.fixture
def scene(sandbox):
    up = sandbox("b1")
    host = up.hosts["b1"]
    host.put(b"what it needs", f"{host.home}/needed")
    launch = Launch(
        argv=("python3", "-I", "-S", "server.py", f"{host.home}/needed"),
        env={},
        files={"server.py": SERVER},
        ready_pattern="^serving",
        logs=(),
        data=(),
    )
    node = Node(NodeInfo(name="b1", role="broker", address=host.address), host, launch)
    process.start(node, up.run_id)
    process.await_ready(node, Deadline("b1", 20))
    targets = Targets(names=("b1",), participants=(), grudge={}, description="b1")
    cluster = Cluster(up.run_id, {"b1": node}, {"broker": "replica"})
    return Scene(cluster, targets, up.hosts["client"], serve_within_s=20.0)


def killed(scene):
    fault = Kill(scene)
    fault.act()
    assert fault.verify().proven
    return fault, scene.cluster.nodes["b1"]


def failed(fault):
    with pytest.raises(ChaosError):
        fault.heal()
    seen = fault.verify_healed()
    assert not seen.proven
    return seen.details["failed"]["b1"]


def test_one_that_serves_again_has_not_failed(scene):
    fault, _ = killed(scene)
    fault.heal()
    seen = fault.verify_healed()
    assert (seen.proven, seen.details["failed"]) == (True, {})


def test_one_that_ends_by_itself(scene):
    fault, node = killed(scene)
    node.host.put(b"broken", f"{node.host.home}/mood")
    assert failed(fault) == ENDED
    assert process_end.last_words(node) == "the log is damaged; restore it"


def test_one_that_runs_and_never_serves(scene):
    fault, node = killed(msgspec.structs.replace(scene, serve_within_s=2.0))
    node.host.put(b"silent", f"{node.host.home}/mood")
    assert failed(fault) == SILENT
    assert process.state(node).alive


def test_one_whose_files_are_gone_was_failed_by_the_harness(scene):
    fault, node = killed(scene)
    Path(node.host.home, "needed").unlink()
    assert failed(fault) == f"cannot start without {node.host.home}/needed"


def test_one_that_ended_while_it_was_suspended(scene):
    fault = Suspend(scene)
    fault.act()
    assert fault.verify().proven
    process.kill(scene.cluster.nodes["b1"])
    fault.heal()
    assert fault.verify_healed().details["failed"] == {"b1": ENDED}


def test_time_on_a_cpu_and_waits_for_one_are_counted_for_each_thread(scene):
    node = scene.cluster.nodes["b1"]
    before, after = (process_end.cpu_times(node) for _ in range(2))
    assert before
    assert all(time.ran_ns > 0 for time in before.values())
    for thread, time in before.items():
        assert after[thread].ran_ns >= time.ran_ns
        assert after[thread].waited_ns >= time.waited_ns
    assert process_end.oom_kills(node) is not None
