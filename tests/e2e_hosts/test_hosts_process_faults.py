"""More faults of processes on hosts: what clients and /proc see while they last, and that nothing is left of them."""

import pytest
from host_support import BACKENDS
from test_hosts_nemesis import Run, ask, cluster_up, healed, in_force

from chaos.core.clock import Deadline
from cluster.nodes import process

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

LIMITS = 'grep -E "Max (open files|address space)" "/proc/$1/limits"'
STATES = """
import sys, time
seen = []
for _ in range(300):
    seen.append(open(f"/proc/{sys.argv[1]}/stat").read().rpartition(")")[2].split()[0])
    time.sleep(0.005)
print(seen.count("T") / len(seen))
"""


@pytest.fixture(scope="module", params=BACKENDS)
def up(request, tmp_path_factory):
    with cluster_up(tmp_path_factory.mktemp("nodes"), request.param) as (cluster, client):
        yield cluster, client


def states(cluster):
    return {name: process.state(node) for name, node in cluster.nodes.items()}


def serves(up):
    cluster, client = up
    assert {name: ask(client, node) for name, node in cluster.nodes.items()} == dict.fromkeys(cluster.nodes, "here")
    for node in cluster.nodes.values():
        left = node.host.run("sh", "-c", 'ls -a "$1" | grep -c "[.]pid$"', "sh", node.host.home, timeout_s=20).text
        assert left == "1", "nothing but the file of the node's own process"


def limits(node):
    pid = process.state(node).pid
    return node.host.run("sh", "-c", LIMITS, "sh", str(pid), timeout_s=20).check().text


def test_paused_and_killed(up, tmp_path):
    cluster, client = up
    before = states(cluster)
    with Run(up, tmp_path, "leader-pause-kill", 600) as run:
        event = in_force(run)
        assert event.targets == ("b2",)
        now = states(cluster)
        assert now["b2"].stopped
        assert now["b2"].pid == before["b2"].pid
        assert ask(client, cluster.nodes["b2"]) == "TimeoutError", "its kernel takes connections, and nobody answers"
        healed(run)
    after = states(cluster)
    assert after["b2"].start_time != before["b2"].start_time
    assert all(after[name] == before[name] for name in before if name != "b2")
    serves(up)


def test_killed_again_and_again(up, tmp_path):
    cluster, _ = up
    before = states(cluster)
    with Run(up, tmp_path, "leader-crash-loop:up_s=0.2,down_s=0.2", 600) as run:
        event = in_force(run)
        assert "b2 killed " in event.evidence.summary
        healed(run)
    log = cluster.nodes["b2"].host.run("grep", "-c", "serving", "logs/stdout.log", timeout_s=20).text
    assert int(log) >= 2
    after = states(cluster)
    assert after["b2"].start_time != before["b2"].start_time
    assert all(after[name] == before[name] for name in before if name != "b2")
    serves(up)


def test_killed_before_it_serves(up, tmp_path):
    with Run(up, tmp_path, "leader-crash-loop:up_s=0.01,down_s=0", 600) as run:
        in_force(run)
        healed(run)
    serves(up)


def test_restarted_one_by_one(up, tmp_path):
    cluster, _ = up
    before = states(cluster)
    with Run(up, tmp_path, "all-rolling-restart:pause_s=0.5@controller", 12) as run:
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "healed"], events
    assert all(event.evidence.proven for event in events if event.evidence), events
    after = states(cluster)
    begun = {name: after[name].start_time for name in ("c1", "c2", "c3")}
    assert all(begun[name] > before[name].start_time for name in begun)
    first, second, third = sorted(begun.values())
    assert second - first >= 50
    assert third - second >= 50, "each waited for the one before"
    assert all(after[name] == before[name] for name in before if name not in begun)
    serves(up)


def test_a_rolling_restart_that_the_end_overtakes_is_not_proven(up, tmp_path):
    with Run(up, tmp_path, "all-rolling-restart:pause_s=60@controller", 8) as run:
        events = run.finish()
    assert any("was not restarted before the fault's end" in event.note for event in events), events
    serves(up)


def test_running_for_moments_only(up, tmp_path):
    cluster, client = up
    before = states(cluster)
    node = cluster.nodes["b2"]
    with Run(up, tmp_path, "leader-stutter:on_ms=10,off_ms=40", 600) as run:
        in_force(run)
        stood = float(node.host.run("python3", "-I", "-S", "-c", STATES, str(before["b2"].pid), timeout_s=20).text)
        assert 0.5 < stood < 0.95
        assert ask(client, node) == "here"
        healed(run)
    assert states(cluster) == before
    stood = float(node.host.run("python3", "-I", "-S", "-c", STATES, str(before["b2"].pid), timeout_s=20).text)
    assert stood == 0
    serves(up)


def test_stutter_without_its_program_did_not_last(up, tmp_path):
    cluster, _ = up
    node = cluster.nodes["b2"]
    kill = 'kill -KILL $(cat "$1"/.stutter-*.pid)'
    with Run(up, tmp_path, "leader-stutter:on_ms=10,off_ms=40", 12) as run:
        in_force(run)
        node.host.run("sh", "-c", kill, "sh", node.host.home, timeout_s=20).check()
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"], events
    assert "no longer runs for moments only" in events[3].note
    assert events[4].evidence.proven, "what the program left stopped goes on"
    serves(up)


def test_out_of_descriptors(up, tmp_path):
    cluster, client = up
    before, usual = states(cluster), limits(cluster.nodes["b2"])
    with Run(up, tmp_path, "leader-descriptor-limit", 600) as run:
        in_force(run)
        assert limits(cluster.nodes["b2"]) != usual
        assert limits(cluster.nodes["b1"]) == usual
        assert ask(client, cluster.nodes["b1"]) == "here"
        healed(run)
    assert limits(cluster.nodes["b2"]) == usual
    assert states(cluster) == before
    serves(up)


def test_out_of_descriptors_is_felt_by_who_asks(up, tmp_path):
    cluster, client = up
    with Run(up, tmp_path, "leader-descriptor-limit", 15) as run:
        in_force(run)
        ask(client, cluster.nodes["b2"])  # accept(2) that waits already has its descriptor
        assert ask(client, cluster.nodes["b2"]) != "here"
        events = run.finish()
    assert events[-1].stage in ("broke", "healed"), events
    node = cluster.nodes["b2"]
    if not process.state(node).alive:  # "too many open files" ended this server: that is its answer to the fault
        assert "too many open files" in node.host.run("tail", "-n", "3", "logs/stdout.log", timeout_s=20).text.lower()
        process.start(node, cluster.run_id)
        process.await_ready(node, Deadline("b2", 30))


def test_out_of_memory(up, tmp_path):
    cluster, _ = up
    before, usual = states(cluster), limits(cluster.nodes["b3"])
    with Run(up, tmp_path, "all-memory-limit:spare_mib=4@broker", 600) as run:
        event = in_force(run)
        assert "MiB" in event.evidence.summary
        assert limits(cluster.nodes["b3"]) != usual
        healed(run)
    assert limits(cluster.nodes["b3"]) == usual
    assert states(cluster) == before
    serves(up)
