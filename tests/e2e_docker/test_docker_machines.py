"""A host as a machine: what killing, freezing and starting it does to what runs there, seen from outside."""

import threading
from pathlib import Path

import pytest
from host_support import marked, until

from chaos.core.clock import Deadline
from chaos.core.errors import DeployError
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Cluster, Node
from cluster.host import Capability
from cluster.network import packet_filter, probe_matrix
from cluster.nodes import process
from cluster.system import Launch
from nemesis.faults.fault import Scene
from nemesis.faults.registry import faults_on
from nemesis.targets.targets import Targets

pytestmark = pytest.mark.e2e

TICKING = """
i=0
echo serving
while :; do i=$((i + 1)); echo $i > ticks.partial; mv ticks.partial ticks; sleep 0.02; done
"""
LAUNCH = Launch(argv=("sh", "-c", TICKING), env={}, files={}, ready_pattern="serving", logs=(), data=())


def ticks(up) -> str:
    path = Path(up.hosts["b1"].home, "ticks")
    return path.read_text() if path.exists() else ""


def scene_of(up, kind) -> Scene:
    """A node that ticks on b1, and it is the target."""
    nodes = {}
    for name in ("b1", "b2"):
        info = NodeInfo(name=name, role="broker", address=up.hosts[name].address)
        nodes[name] = Node(info, up.hosts[name], LAUNCH)
        process.start(nodes[name], up.run_id)
        process.await_ready(nodes[name], Deadline(name, 20))
    cluster = Cluster(up.run_id, nodes, {"broker": "replica"})
    targets = Targets(names=("b1",), grudge={}, participants=(), description="b1")
    return Scene(cluster, targets, up.hosts["client"])


def test_a_killed_host_loses_what_runs_and_comes_back_the_same(sandbox):
    up = sandbox("b1", "b2")
    host = up.hosts["b1"]
    assert Capability.MACHINE in host.capabilities
    packet_filter.apply(host, up.run_id, [packet_filter.Rule(up.hosts["b2"].address)])
    fault = faults_on("container")["kill"](scene_of(up, "kill"))
    fault.act()
    assert fault.verify().proven
    assert fault.verify_still().proven
    up.backend.check()  # it was asked for
    assert not any(host.home in line for line in marked(up.run_id).values())
    fault.heal()
    assert fault.verify_healed().proven
    assert not fault.verify().proven
    assert (host.run("hostname", timeout_s=5).text, host.run("pwd", timeout_s=5).text) == ("b1", host.home)
    assert host.run("ip", "route", "get", "192.0.2.1", timeout_s=5).returncode != 0
    assert packet_filter.own_lines(host) == ()  # a machine that boots has no rules
    seen = probe_matrix.measure(up.hosts, 5)
    assert seen.complete() == seen.received.keys()
    fault.heal()
    up.backend.check()


def test_a_stopped_host_is_asked_first_and_comes_back(sandbox):
    up = sandbox("b1", "b2")
    home = Path(up.hosts["b1"].home)
    fault = faults_on("container")["stop"](scene_of(up, "stop"))
    wait = "trap 'echo asked > asked; exit' TERM; echo ready > ready; while :; do sleep 0.05; done"
    up.hosts["b1"].run("sh", "-c", f"({wait}) >/dev/null 2>&1 &", timeout_s=5).check()
    until((home / "ready").exists, "the process to run")
    fault.act()
    assert (home / "asked").read_text() == "asked\n"
    assert fault.verify().proven
    assert fault.verify_still().proven
    up.backend.check()
    fault.heal()
    assert fault.verify_healed().proven
    assert probe_matrix.measure(up.hosts, 5).silent() == frozenset()


def test_a_restarted_host_is_another_start_of_it(sandbox):
    up = sandbox("b1", "b2")
    fault = faults_on("container")["restart"](scene_of(up, "restart"))
    stood = ticks(up)
    fault.act()
    assert fault.verify().proven
    assert fault.verify_still().proven
    fault.heal()
    assert fault.verify_healed().proven
    until(lambda: ticks(up) not in ("", stood), "the process to tick again")
    up.backend.check()
    assert probe_matrix.measure(up.hosts, 5).silent() == frozenset()


def test_a_host_off_its_network_runs_alone_and_comes_back_with_its_address(sandbox):
    up = sandbox("b1", "b2")
    host = up.hosts["b1"]
    scene = scene_of(up, "disconnect")
    before = process.state(scene.cluster.nodes["b1"])
    fault = faults_on("container")["disconnect"](scene)
    fault.act()
    evidence = fault.verify()
    assert evidence.proven
    assert evidence.summary == "4 of 4 links across the cut dropped all 20 probes, 2 of 2 others passed"
    assert host.run("ip", "-o", "-4", "addr", "show", "to", host.address, timeout_s=5).text == ""
    stood = ticks(up)
    until(lambda: ticks(up) != stood, "the process to tick on")
    assert fault.verify_still().proven
    fault.heal()
    assert fault.verify_healed().proven
    assert not fault.verify_still().proven
    fault.heal()
    after = process.state(scene.cluster.nodes["b1"])
    assert (after.alive, after.pid, after.start_time) == (True, before.pid, before.start_time)
    assert host.run("ip", "route", "get", "192.0.2.1", timeout_s=5).returncode != 0
    up.backend.check()


def test_a_frozen_host_stands_still_and_goes_on_as_it_was(sandbox):
    up = sandbox("b1", "b2")
    scene = scene_of(up, "suspend")
    before = process.state(scene.cluster.nodes["b1"])
    fault = faults_on("container")["suspend"](scene)
    fault.act()
    assert fault.verify().proven
    stood = ticks(up)
    answered = threading.Event()
    asking = threading.Thread(target=lambda: up.hosts["b1"].run("true", timeout_s=60) and answered.set())
    asking.start()
    other = Path(up.hosts["b2"].home, "ticks").read_text()
    until(lambda: int(Path(up.hosts["b2"].home, "ticks").read_text()) > int(other) + 20, "the other host to go on")
    assert ticks(up) == stood
    assert not answered.is_set()
    assert fault.verify_still().proven
    fault.heal()
    asking.join(20)
    assert answered.is_set()
    assert fault.verify_healed().proven
    after = process.state(scene.cluster.nodes["b1"])
    assert (after.pid, after.start_time) == (before.pid, before.start_time)
    until(lambda: ticks(up) != stood, "the ticks to go on")
    fault.heal()


def test_a_host_that_ends_though_nobody_asked_is_told(sandbox):
    up = sandbox("b1")
    up.backend.check()
    up.hosts["b1"].run("sh", "-c", "kill -TERM 1", timeout_s=5)
    until(lambda: said(up), "the host to be told as gone")
    assert "host b1 is gone: its container ended with 0" in said(up)


def said(up) -> str:
    try:
        up.backend.check()
    except DeployError as error:
        return str(error)
    return ""
