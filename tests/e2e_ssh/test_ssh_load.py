"""System calls and the processor of a node on a machine reached by SSH: hit for its processes, and let be again."""

import errno
import json

import pytest

from chaos.core.clock import Deadline
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Cluster, Node
from cluster.nodes import process
from cluster.system import Launch
from nemesis.arming import launch_under
from nemesis.faults.fault import Scene
from nemesis.faults.processes.cpu_load import CpuLoad, CpuLoadParams
from nemesis.faults.syscalls.supervised_start import Supervised, ask
from nemesis.faults.syscalls.syscall_error import SyscallError, SyscallErrorParams
from nemesis.targets.targets import Targets

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

SYNCER = b"""
import json, os, time
held = os.open("held", os.O_RDWR | os.O_CREAT)
while True:
    try:
        os.fdatasync(held)
        said = 0
    except OSError as error:
        said = error.errno
    print(json.dumps([said, sorted(os.sched_getaffinity(0))]), flush=True)
    time.sleep(0.02)
"""


def shown(node):
    """What the node's process has printed last, after now."""
    node.host.run("sh", "-c", "sleep 0.3", timeout_s=20)
    return json.loads(node.host.run("tail", "-n", "1", process.STDOUT, timeout_s=20).text)


def test_calls_fail_and_loops_compete(lab):
    hosts = lab("b1").up()
    host = hosts["b1"]
    arming = Supervised(frozenset({"fdatasync"}))
    launch = Launch(
        argv=("python3", "-I", "-S", "syncer.py"),
        env={},
        files={"syncer.py": SYNCER},
        ready_pattern="^.0",
        logs=(),
        data=(),
    )
    info = NodeInfo(name="b1", role="node", address=host.address)
    node = Node(info, host, launch_under([arming], launch, host.home))
    arming.arm(node)
    process.start(node, "load")
    process.await_ready(node, Deadline("b1", 30))
    said, usual = shown(node)
    assert said == 0
    targets = Targets(names=("b1",), participants=(), grudge={}, description="")
    cluster = Cluster("load", {"b1": node}, {})
    for fault, seen in (
        (SyscallError(Scene(cluster, targets, hosts["client"], params=SyscallErrorParams(("fdatasync",)))), errno.EIO),
        (CpuLoad(Scene(cluster, targets, hosts["client"], params=CpuLoadParams(hogs=3))), 0),
    ):
        try:
            fault.act()
            assert (found := fault.verify()).proven, found
            said, processors = shown(node)
            assert said == seen
            assert len(processors) == (1 if isinstance(fault, CpuLoad) else len(usual))
            assert (found := fault.verify_still()).proven, found
        finally:
            fault.heal()
        assert (found := fault.verify_healed()).proven, found
        assert shown(node) == [0, usual]
    process.kill(node)
    arming.disarm(node)
    assert ask(host, "tell", "0") is None
