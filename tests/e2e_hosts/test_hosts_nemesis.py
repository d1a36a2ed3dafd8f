"""Each fault on real hosts: its effect and its healing seen from outside, its proof, and what happens without it.

The nodes are small programs of the test's own that answer on a port; the faults, packet filters, signals and
hosts are real.
"""

import os
import stat

import msgspec
import pytest
from fault_nodes import ASK, KINDS, LEADERS, RUN, SPECS, Run, all_ask, ask, cluster_up, healed, in_force
from host_support import BACKENDS
from leading import leads, subjects_of

from chaos.core.clock import NS_PER_S, Deadline
from cluster.cluster import Cluster
from cluster.hosts import interface
from cluster.network import packet_filter, probe_matrix
from cluster.nodes import process
from nemesis.faults.registry import faults
from nemesis.plan.nemesis_names import catalog
from nemesis.plan.plan import make_plan

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module", params=BACKENDS)
def up(request, tmp_path_factory):
    with cluster_up(tmp_path_factory.mktemp("nodes"), request.param) as (cluster, client):
        yield cluster, client


@pytest.fixture
def healthy(up):
    """The shared cluster; every test must leave it as it found it."""
    cluster, client = up
    yield cluster, client
    for node in cluster.nodes.values():
        assert packet_filter.own_lines(node.host) == ()
        seen = process.state(node)
        assert seen.alive
        assert not seen.stopped
        assert interface.is_up(node.host)
    assert packet_filter.own_lines(client) == ()


@pytest.mark.parametrize("nemesis", ["follower-kill", "follower-suspend", "follower-partition"])
def test_a_fault_of_a_follower_that_is_never_healed_lasts_until_it_is_ended(healthy, tmp_path, nemesis):
    cluster, _client = healthy
    plan = make_plan(
        nemesis, KINDS, SPECS, interval_s=0.2, duration_s=6, time_limit_s=6.2, seed=7, subjects=subjects_of(SPECS)
    )
    plan = tuple(msgspec.structs.replace(row, heals=False) for row in plan)
    with Run(healthy, tmp_path, plan, 6) as run:
        active = run.await_stage("active")
        run.thread.join(60)
        run.nemesis.heal_all(but_left=True)
        assert [event.stage for event in run.events()] == ["inject", "active"]
        (name,) = active.targets
        assert run.nemesis.left_in_force() == {name}
        assert name.startswith("b")
        assert name != LEADERS["brokers"].leader
        seen = process.state(cluster.nodes[name])
        assert (seen.alive, seen.stopped) == (nemesis != "follower-kill", nemesis == "follower-suspend")
        run.nemesis.end_left()
        events = run.events()
    assert [event.stage for event in events] == ["inject", "active", "heal", "healed"]
    assert all(event.evidence.proven for event in events[1:]), [event.evidence.summary for event in events[1:]]


def test_kill_is_gone_until_the_end_and_serves_again(healthy, tmp_path):
    cluster, client = healthy
    before = {name: process.state(node) for name, node in cluster.nodes.items()}
    with Run(healthy, tmp_path, "leader-kill", 600) as run:
        event = in_force(run)
        assert event.targets == ("b2",)
        assert f"b2 pid {before['b2'].pid} gone" in event.evidence.summary
        assert ask(client, cluster.nodes["b2"]) == "ConnectionRefusedError"
        for name, node in cluster.nodes.items():
            seen = process.state(node)
            assert seen.gone == (name == "b2")
            assert seen.pid == before[name].pid
        last = healed(run)
    now = process.state(cluster.nodes["b2"])
    assert now.alive
    assert now.start_time != before["b2"].start_time
    assert f"restarted as pid {now.pid}" in last.evidence.summary
    assert ask(client, cluster.nodes["b2"]) == "here"


def test_stop_asks_first_and_kills_who_does_not_listen(healthy, tmp_path):
    cluster, client = healthy
    deaf = cluster.nodes["c1"]
    process.kill(deaf)
    deafened = msgspec.structs.replace(deaf.launch, argv=("sh", "-c", "trap '' TERM; exec python3 -I -S server.py"))
    nodes = {**cluster.nodes, "c1": msgspec.structs.replace(deaf, launch=deafened)}
    process.start(nodes["c1"], RUN)
    process.await_ready(nodes["c1"], Deadline("c1", 30))
    before = {name: process.state(node) for name, node in nodes.items()}
    up = (Cluster(RUN, nodes, KINDS, subjects_of(SPECS)), client)
    with Run(up, tmp_path, "leader-stop@broker+controller", 600) as run:
        event = in_force(run)
        assert event.description == "leader b2, active controller c1, stopped"
        assert f"b2 pid {before['b2'].pid} ended by itself after 0." in event.evidence.summary
        killed = f"c1 pid {before['c1'].pid} did not end by itself and was killed after 10."
        assert killed in event.evidence.summary
        assert {name for name, node in nodes.items() if process.state(node).gone} == {"b2", "c1"}
        assert all_ask((client, node) for node in nodes.values()) == [
            "ConnectionRefusedError" if name in ("b2", "c1") else "here" for name in nodes
        ]
        healed(run)
    assert all_ask((client, node) for node in nodes.values()) == ["here"] * 7


def test_restart_leaves_another_process_that_serves(healthy, tmp_path):
    cluster, client = healthy
    before = {name: process.state(node) for name, node in cluster.nodes.items()}
    with Run(healthy, tmp_path, "leader-restart", 600) as run:
        event = in_force(run)
        now = process.state(cluster.nodes["b2"])
        assert now.start_time != before["b2"].start_time
        assert f"b2 pid {before['b2'].pid} ended by itself after " in event.evidence.summary
        assert event.evidence.summary.endswith(f", pid {now.pid} lives")
        last = healed(run)
    assert f"b2 restarted as pid {now.pid}" in last.evidence.summary
    assert process.state(cluster.nodes["b2"]) == now
    assert ask(client, cluster.nodes["b2"]) == "here"
    for name in cluster.nodes.keys() - {"b2"}:
        assert process.state(cluster.nodes[name]) == before[name]


def test_disconnect_takes_a_node_from_everybody_and_leaves_its_process(healthy, tmp_path):
    cluster, client = healthy
    before = {name: process.state(node) for name, node in cluster.nodes.items()}
    b2 = cluster.nodes["b2"]
    with Run(healthy, tmp_path, "leader-disconnect", 600) as run:
        event = in_force(run)
        assert event.evidence.summary.startswith("14 of 14 links across the cut dropped all 20 probes, 42 of 42 others")
        assert not interface.is_up(b2.host)
        assert ask(client, b2) in ("TimeoutError", "OSError")
        assert ask(b2.host, cluster.nodes["b1"]) == "OSError"
        assert b2.host.run("python3", "-I", "-S", "-c", ASK, "127.0.0.1", timeout_s=20).text == "here"
        others = [node for name, node in cluster.nodes.items() if name != "b2"]
        assert all_ask((client, node) for node in others) == ["here"] * 6
        last = healed(run)
    assert last.evidence.summary.startswith("56 of 56 links passed all 20 probes")
    assert {name: process.state(node) for name, node in cluster.nodes.items()} == before
    assert ask(client, b2) == "here"


def test_a_link_that_somebody_puts_up_again_did_not_last(healthy, tmp_path):
    cluster, _ = healthy
    with Run(healthy, tmp_path, "leader-disconnect", 6) as run:
        in_force(run)
        interface.put_up(cluster.nodes["b2"].host)
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"]
    assert events[3].note == "did not last: NOT: b2 is on the network"


def test_random_kill_of_both_roles_leaves_a_broker(healthy, tmp_path):
    cluster, client = healthy
    with Run(healthy, tmp_path, "random-kill@broker+controller", 600) as run:
        event = in_force(run)
        roles = {cluster.nodes[name].info.role for name in event.targets}
        assert roles == {"broker", "controller"}
        dead = {name for name, node in cluster.nodes.items() if ask(client, node) != "here"}
        assert dead == set(event.targets)
        healed(run)
    assert all(ask(client, node) == "here" for node in cluster.nodes.values())


def test_suspend_stops_every_thread_and_the_port_still_connects(healthy, tmp_path):
    cluster, client = healthy
    before = {name: process.state(node) for name, node in cluster.nodes.items()}
    with Run(healthy, tmp_path, "major-suspend@controller", 600) as run:
        event = in_force(run)
        assert len(event.targets) == 2
        for name, node in cluster.nodes.items():
            assert process.state(node).stopped == (name in event.targets)
            assert ask(client, node) == ("TimeoutError" if name in event.targets else "here")
            assert (f"{name} pid {before[name].pid} every thread in /proc state T" in event.evidence.summary) == (
                name in event.targets
            )
        healed(run)
    for name, node in cluster.nodes.items():
        assert process.state(node) == before[name]
        assert ask(client, node) == "here"


def test_the_window_is_looked_at_again_at_its_end(healthy, tmp_path):
    with Run(healthy, tmp_path, "leader-partition@broker", 4) as run:
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "healed"]
    assert all(event.evidence.proven for event in events[1:])
    assert events[2].evidence.summary.startswith("4 of 4 rules in place, ")
    assert events[2].time_ns - events[0].time_ns > 3 * NS_PER_S


@pytest.mark.parametrize("nemesis", ["leader-kill", "leader-suspend"])
def test_a_fault_that_somebody_undoes_did_not_last(healthy, tmp_path, nemesis):
    cluster, _ = healthy
    node = cluster.nodes["b2"]
    with Run(healthy, tmp_path, nemesis, 4) as run:
        in_force(run)
        if nemesis == "leader-kill":
            process.start(node, RUN)
        else:
            process.resume(node)
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"]
    assert not events[2].evidence.proven
    assert events[3].note.startswith("did not last: NOT: b2 pid ")
    assert events[4].evidence.proven


def filtered(*change):
    """A change of a host's packet filter that somebody else makes."""
    return lambda host: host.run(packet_filter.variant(host), "-w", "5", *change, timeout_s=10).check()


def arrives(cluster, source, target):
    """How many of 20 probes pass one link."""
    hosts = {name: cluster.nodes[name].host for name in (source, target)}
    return probe_matrix.measure(hosts, 20, [(source, target)]).received[source, target]


@pytest.mark.parametrize(
    ("nemesis", "somebody", "said"),
    [
        ("leader-partition@broker", lambda host: packet_filter.clear(host, RUN), "gone on b1"),
        ("leader-partition@broker", filtered("-F", "INPUT"), "nothing in INPUT leads to them on b1"),
        ("leader-loss@broker", filtered("-F", "INPUT"), "nothing in INPUT leads to them on b1"),
        (
            "leader-partition@broker",
            filtered("-I", "INPUT", "-s", "198.18.0.0/15", "-j", "ACCEPT"),
            "a rule in INPUT accepts packets before them on b1",
        ),
    ],
    ids=["the rules are gone", "no jump to the cut", "no jump to the loss", "accepted before the cut"],
)
def test_rules_that_somebody_takes_out_of_force_did_not_last(healthy, tmp_path, nemesis, somebody, said):
    cluster, _ = healthy
    host = cluster.nodes["b1"].host
    try:
        with Run(healthy, tmp_path, nemesis, 6) as run:
            in_force(run)
            assert arrives(cluster, "b2", "b1") < 20
            somebody(host)
            assert arrives(cluster, "b2", "b1") == 20, "it makes a difference"
            events = run.finish()
    finally:
        filtered("-F", "INPUT")(host)
    assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"]
    assert events[3].note.startswith("did not last: ")
    assert events[3].note.endswith(said)
    assert events[4].evidence.proven


def test_a_target_that_is_dead_already_is_recorded_and_healed(healthy, tmp_path):
    cluster, client = healthy
    process.kill(cluster.nodes["b2"])
    with Run(healthy, tmp_path, "leader-kill", 600) as run:
        event = run.await_stage("active")
        assert not event.evidence.proven
        assert "b2 was dead already" in event.evidence.summary
        run.stop.set()
        last = run.finish()[-1]
    assert last.evidence.proven
    assert ask(client, cluster.nodes["b2"]) == "here"


def test_a_target_that_dies_while_suspended_is_reported_not_fatal(healthy, tmp_path):
    cluster, _ = healthy
    with Run(healthy, tmp_path, "leader-suspend", 600) as run:
        in_force(run)
        process.kill(cluster.nodes["b2"])
        run.stop.set()
        events = run.finish()
    assert events[-1].stage == "healed"
    assert not events[-1].evidence.proven
    assert events[-1].evidence.summary == "NOT: b2 is dead"
    process.start(cluster.nodes["b2"], RUN)
    process.await_ready(cluster.nodes["b2"], Deadline("b2", 30))


def test_no_leader_is_skipped_and_nothing_is_touched(healthy, tmp_path):
    with Run(healthy, tmp_path, "leader-kill", 0.5, leadership=leads, rows=2) as run:
        events = run.finish()
    assert [(event.id, event.stage) for event in events] == [(1, "skipped"), (2, "skipped")]


OF_MIXES = {fault.name for fault in faults().values() if fault.in_all} | {"delay"}
"""Any other fault has a file of its own."""


@pytest.mark.parametrize("name", [name for name, entry in catalog().items() if entry.fault in OF_MIXES])
def test_every_name_of_a_fault_of_mixes_is_proven_and_healed(healthy, tmp_path, name):
    suffix = "@controller" if name in ("all-kill", "all-suspend") else ""
    with Run(healthy, tmp_path, name + suffix, 600) as run:
        event = in_force(run)
        assert event.targets
        healed(run)


def test_iptables_that_does_nothing_gives_unproven_faults(tmp_path, monkeypatch):
    """The negative control from outside: a program named iptables that says yes and does nothing."""
    fake = tmp_path / "bin"
    fake.mkdir()
    for name in ("iptables", "iptables-restore", "iptables-nft", "iptables-legacy"):
        path = fake / name
        path.write_text("#!/bin/sh\ncat >/dev/null 2>&1 </dev/null\nexit 0\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")
    with cluster_up(tmp_path / "nodes") as up:
        for nemesis in ("random-partition", "random-loss"):
            folder = tmp_path / nemesis
            folder.mkdir()
            with Run(up, folder, nemesis, 4) as run:
                events = run.finish()
            active = next(event for event in events if event.stage == "active")
            assert not active.evidence.proven, active
            assert "wrong: " in active.evidence.summary
            assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"]
            assert {ask(up[1], node) for node in up[0].nodes.values()} == {"here"}


def test_two_runs_of_the_fault_leave_the_rules_of_others_alone(healthy, tmp_path):
    cluster, _ = healthy
    host = cluster.nodes["b1"].host
    rule = ("-s", "198.18.200.1/32", "-j", "DROP")
    host.run("iptables", "-A", "INPUT", *rule, timeout_s=10).check()
    try:
        with Run(healthy, tmp_path, "leader-partition", 2, rows=2) as run:
            events = run.finish()
        assert [event.stage for event in events] == ["inject", "active", "heal", "healed"] * 2
        assert all(event.evidence.proven for event in events if event.evidence)
        assert host.run("iptables", "-C", "INPUT", *rule, timeout_s=10).returncode == 0
    finally:
        host.run("iptables", "-D", "INPUT", *rule, timeout_s=10).check()
