"""The clock of a node on a machine reached by SSH: moved, read and given back for its processes alone."""

import time

import pytest

from chaos.core.clock import Deadline
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Cluster, Node
from cluster.nodes import process
from cluster.system import Launch
from nemesis.faults.clocks.clock_jump import ClockJump, ClockJumpParams
from nemesis.faults.fault import Scene
from nemesis.targets.targets import Targets

pytestmark = pytest.mark.e2e

TICKER = b"""
import time
while True:
    print(time.time_ns() // 1_000_000_000, flush=True)
    time.sleep(0.05)
"""


def shown(node):
    """The newest second that the node's process has printed after now."""
    node.host.run("sh", "-c", "sleep 0.3", timeout_s=20)
    return int(node.host.run("tail", "-n", "1", process.STDOUT, timeout_s=20).text)


def test_only_the_processes_of_the_node_see_it(lab):
    hosts = lab("b1").up()
    host = hosts["b1"]
    launch = Launch(
        argv=("python3", "-I", "-S", "ticker.py"),
        env={},
        files={"ticker.py": TICKER},
        ready_pattern="^[0-9]",
        logs=(),
        data=(),
    )
    node = Node(NodeInfo(name="b1", role="node", address=host.address), host, launch)
    process.start(node, "clock")
    process.await_ready(node, Deadline("b1", 30))
    targets = Targets(names=("b1",), participants=(), grudge={}, description="")
    scene = Scene(Cluster("clock", {"b1": node}, {}), targets, hosts["client"], params=ClockJumpParams(seconds=-3_600))
    assert ClockJump.obstacle(host) is None
    fault = ClockJump(scene)
    try:
        fault.act()
        assert fault.verify().proven
        assert -3_610 < shown(node) - time.time() < -3_590
        assert abs(int(host.run("date", "+%s", timeout_s=20).text) - time.time()) < 10, (
            "commands have the machine's clock"
        )
        assert fault.verify_still().proven
    finally:
        fault.heal()
    assert fault.verify_healed().proven
    assert abs(shown(node) - time.time()) < 10
    fault.heal()
