"""Clocks of nodes on hosts: what running programs of several runtimes print of the time, before, during and after."""

import os
import time
from contextlib import ExitStack, contextmanager

import clock_programs
import pytest
from clock_programs import SECOND_NS
from host_support import BACKENDS, make
from leading import leads, subjects_of
from test_hosts_nemesis import Run, healed, in_force

from chaos.core.clock import Deadline
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Cluster, Node
from cluster.host import NodeSpec, hosts_up
from cluster.nodes import process
from cluster.system import Launch
from nemesis.faults.clocks import mover
from nemesis.faults.registry import faults

pytestmark = pytest.mark.e2e

KINDS = {"broker": "replica"}
SPECS = [NodeSpec(name=name, role="broker") for name in ("b1", "b2", "b3")]
LEADERS = leads("b2", None)
RUN = f"clock-e2e-{os.getpid()}"
UNITS = {"time": SECOND_NS, "jvm": SECOND_NS // 1_000}
FINE_NS = SECOND_NS // 1_000
"""What programs tell in units finer than that is compared as if it were that fine."""
TICKERS = {"c", "gettimeofday", "time", "python"}
TRACED = 'for status in /proc/[0-9]*/task/[0-9]*/status; do grep -h "^TracerPid:" "$status"; done 2>/dev/null | sort -u'


@contextmanager
def cluster_up(work, backend):
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("CHAOS_CACHE", str(work / "cache"))
        made = clock_programs.build(work)
        hosts = stack.enter_context(hosts_up(make(backend), RUN, SPECS, work))
        nodes = {}
        for spec in SPECS:
            info = NodeInfo(name=spec.name, role=spec.role, address=hosts[spec.name].address)
            argv = ("sh", "run.sh") if spec.name == "b2" else ("python3", "-I", "-S", "ticker.py")
            ready = "^serving$" if spec.name == "b2" else "^python "
            launch = Launch(argv=argv, env={}, files={}, ready_pattern=ready, logs=(process.STDOUT,), data=())
            nodes[spec.name] = Node(info, hosts[spec.name], launch)
            clock_programs.put(hosts[spec.name], made)
            process.start(nodes[spec.name], RUN)
        deadline = Deadline("the test's nodes", 60)
        for node in nodes.values():
            process.await_ready(node, deadline)
        until(lambda: expected(nodes["b2"]) <= clocks(nodes["b2"]).keys(), "every program to print")
        yield Cluster(RUN, nodes, KINDS, subjects_of(SPECS)), hosts["client"]


@pytest.fixture(scope="module", params=BACKENDS)
def up(request, tmp_path_factory):
    with cluster_up(tmp_path_factory.mktemp("nodes"), request.param) as (cluster, client):
        yield cluster, client


def until(condition, what):
    deadline = Deadline(what, 60)
    while not condition():
        deadline.check("not yet")
        time.sleep(0.05)


def expected(node):
    """The programs that this host can run."""
    found = node.host.run("sh", "-c", "ls; command -v java", timeout_s=20).text.split()
    return TICKERS | ({"go"} if "ticker-go" in found else set()) | ({"jvm"} if found[-1].endswith("/java") else set())


def clocks(node, since_ns=0):
    """What programs have printed of the time since then, by name."""
    text = node.host.run("tail", "-c", "400000", process.STDOUT, timeout_s=20).text
    found = {name: [one for one in seen if one.since >= since_ns] for name, seen in clock_programs.parse(text).items()}
    return {name: seen for name, seen in found.items() if seen}


def printed(node, names, least=3):
    """What these programs print from now on; waits until each has printed so many lines."""
    since_ns = time.monotonic_ns()
    until(lambda: all(len(clocks(node, since_ns).get(name, ())) >= least for name in names), "new lines")
    return clocks(node, since_ns)


def ahead(line, name, wanted_ns):
    return line.allows(wanted_ns, UNITS.get(name, FINE_NS))


def all_ahead(node, names, wanted_ns):
    seen = printed(node, names)
    for name in names:
        assert all(ahead(line, name, wanted_ns) for line in seen[name]), (name, wanted_ns, seen[name])
    return seen


def untouched(node):
    all_ahead(node, expected(node) | {"syscall"}, 0)
    left = node.host.run("sh", "-c", 'ls -a "$1" | grep -c "[.]pid$"', "sh", node.host.home, timeout_s=20).text
    assert left == "1", "nothing but the file of the node's own process"


def monotonic_times(node):
    """Go's own elapsed time beside the kernel's, of the lines that it has printed."""
    text = node.host.run("grep", "^go ", process.STDOUT, timeout_s=20).text
    lines = [tuple(map(int, line.split()[2:4])) for line in text.splitlines() if len(line.split()) == 4]
    return [elapsed - monotonic for monotonic, elapsed in lines]


@pytest.mark.parametrize("seconds", [60, -86_400])
def test_every_runtime_sees_the_other_time_and_its_own_again(up, tmp_path, seconds):
    cluster, _ = up
    node, names = cluster.nodes["b2"], expected(cluster.nodes["b2"])
    before = {name: process.state(one) for name, one in cluster.nodes.items()}
    untouched(node)
    with Run(up, tmp_path, f"leader-clock-jump:seconds={seconds}", 600, lambda: LEADERS) as run:
        event = in_force(run)
        assert event.targets == ("b2",)
        assert "monotonic time untouched" in event.evidence.summary
        seen = all_ahead(node, names | {"young"}, seconds * SECOND_NS)
        assert all(ahead(line, "syscall", 0) for line in seen["syscall"]), "the kernel's clock is nobody's"
        all_ahead(cluster.nodes["b1"], {"python"}, 0)
        told = event.evidence.details["clocks"]["b2"]
        assert {one["name"] for one in told.values()} >= {"sh", "ticker", "python3"}
        assert all(one["ahead_s"][0] <= seconds <= one["ahead_s"][1] for one in told.values()), told
        healed(run)
    untouched(node)
    for name, one in cluster.nodes.items():
        now = process.state(one)
        assert (now.pid, now.start_time) == (before[name].pid, before[name].start_time)
    drifted = monotonic_times(node)
    assert not drifted or max(drifted) - min(drifted) <= SECOND_NS, "Go's monotonic time goes on through it all"


def test_at_zero_nothing_is_done(up, tmp_path):
    cluster, _ = up
    node = cluster.nodes["b2"]
    node.host.run("rm", "-f", mover.PROGRAM.on_host, timeout_s=20).check()
    with Run(up, tmp_path, "leader-clock-jump:seconds=0", 3, lambda: LEADERS) as run:
        event = run.await_stage("active")
        assert not event.evidence.proven
        assert "nothing was done" in event.evidence.summary
        assert node.host.run("test", "-e", mover.PROGRAM.on_host, timeout_s=20).returncode != 0, (
            "so there is nobody to trace"
        )
        assert node.host.run("sh", "-c", TRACED, timeout_s=60).text == "TracerPid:\t0"
        run.stop.set()
        assert run.finish()[-1].evidence.proven, "its clock is right"


def test_a_clock_drifts_at_the_rate_that_was_asked(up, tmp_path):
    cluster, ppm = up[0], -100_000
    node, names = cluster.nodes["b2"], {"c", "python", *({"go"} & expected(cluster.nodes["b2"]))}
    with Run(up, tmp_path, f"leader-clock-drift:ppm={ppm}", 600, lambda: LEADERS) as run:
        in_force(run)
        for name, lines in printed(node, names, least=60).items():
            low, high = clock_programs.rate(lines)
            assert name not in names or low <= ppm / 1e6 <= high < 0, (name, low, high)
        healed(run)
    untouched(node)


def test_a_strobe_is_seen_on_both_sides(up, tmp_path):
    cluster, _ = up
    node, names = cluster.nodes["b2"], expected(cluster.nodes["b2"]) - {"time"}
    with Run(up, tmp_path, "leader-clock-strobe:seconds=-30,period_ms=130", 600, lambda: LEADERS) as run:
        event = in_force(run)
        assert "-30 s ahead in " in event.evidence.summary
        seen = printed(node, names, least=40)
        for name in names:
            away = {line for line in seen[name] if ahead(line, name, -30 * SECOND_NS)}
            right = {line for line in seen[name] if ahead(line, name, 0)}
            assert len(away) > 4, (name, seen[name])
            assert len(right) > 4, (name, seen[name])
            assert away | right == set(seen[name]), (name, seen[name])
        healed(run)
    untouched(node)


def test_clocks_disagree(up, tmp_path):
    cluster, _ = up
    with Run(up, tmp_path, "all-clock-offset:seconds=4@broker", 600, lambda: LEADERS) as run:
        event = in_force(run)
        wanted = dict(zip(event.targets, (4, -4, 2), strict=True))
        for name, seconds in wanted.items():
            all_ahead(cluster.nodes[name], {"python"}, seconds * SECOND_NS)
        healed(run)
    for node in cluster.nodes.values():
        all_ahead(node, {"python"}, 0)


def test_a_node_that_starts_again_has_the_clock_too_and_is_healed(up, tmp_path):
    cluster, _ = up
    node = cluster.nodes["b1"]
    with Run(up, tmp_path, "all-clock-jump:seconds=60@broker", 600, lambda: LEADERS) as run:
        in_force(run)
        process.kill(node)
        process.start(node, RUN)
        since_ns = time.monotonic_ns()
        until(lambda: len(clocks(node, since_ns).get("python", ())) > 5, "the new process")
        all_ahead(node, {"python"}, 60 * SECOND_NS)
        run.stop.set()
        assert run.finish()[-1].evidence.proven
    all_ahead(node, {"python"}, 0)


def test_a_program_that_is_killed_did_not_last_and_leaves_no_clock(up, tmp_path):
    cluster, _ = up
    node = cluster.nodes["b2"]
    with Run(up, tmp_path, "leader-clock-jump:seconds=60", 6, lambda: LEADERS) as run:
        in_force(run)
        kill = 'kill -KILL $(cat "$1"/.vclock-*.pid)'
        node.host.run("sh", "-c", kill, "sh", node.host.home, timeout_s=20).check()
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"], events
    assert "nobody moves the clock of processes that begin on b2" in events[3].note
    assert events[4].evidence.proven
    untouched(node)


def test_clocks_whose_program_is_gone_are_right_again_by_themselves(up):
    """As after the death of a harness on a cluster that outlives it."""
    cluster, _ = up
    node = cluster.nodes["b2"]
    mover.move(node.host, "0000000abc", mover.Shift(base_ns=60 * SECOND_NS), lease_s=2)
    pid_file = mover.pid_file(node.host, "0000000abc")
    all_ahead(node, {"c"}, 60 * SECOND_NS)
    node.host.run("sh", "-c", 'kill -KILL $(cat "$1"); rm "$1"', "sh", pid_file, timeout_s=20).check()
    until(lambda: ahead(printed(node, {"c"})["c"][-1], "c", 0), "the clock to be right")
    mover.restore(node.host, "0000000abc")
    untouched(node)


def test_hosts_can_do_it(up):
    cluster, _ = up
    assert faults()["clock-jump"].obstacle(cluster.nodes["b1"].host) is None
