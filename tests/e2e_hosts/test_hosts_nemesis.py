"""Each fault on real hosts: its effect and its healing seen from outside, its proof, and what happens without it.

The nodes are small programs of the test's own that answer on a port; the faults, packet filters, signals and
hosts are real.
"""

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import msgspec
import pytest
from host_support import BACKENDS, make
from leading import leads, subjects_of

from chaos.core.clock import NS_PER_S, Deadline, now_ns
from chaos.core.event_files import read_events
from chaos.core.events import EventLog, Fault
from chaos.core.runinfo import NodeInfo
from cluster.cluster import Cluster, Node
from cluster.host import NodeSpec, hosts_up
from cluster.hosts import interface
from cluster.network import packet_filter, probe_matrix
from cluster.nodes import process
from cluster.system import Launch
from nemesis.faults.registry import faults
from nemesis.plan.nemesis_names import catalog
from nemesis.plan.plan import make_plan
from nemesis.plan.sequence import Step, Steps, plan_steps
from nemesis.runner import Nemesis

pytestmark = pytest.mark.e2e

KINDS = {"namesrv": "other", "controller": "controller", "broker": "replica"}
SPECS = [
    NodeSpec(name=name, role=role)
    for role, name in [
        ("namesrv", "n1"),
        ("controller", "c1"),
        ("controller", "c2"),
        ("controller", "c3"),
        ("broker", "b1"),
        ("broker", "b2"),
        ("broker", "b3"),
    ]
]
LEADERS = leads("b2", "c1", epoch=3)
RUN = f"nemesis-e2e-{os.getpid()}"
SERVER = b"""
import socket, sys, threading
listener = socket.create_server(("", 7000), backlog=64)
def idle():
    threading.Event().wait()
for _ in range(3):
    threading.Thread(target=idle, daemon=True).start()
print("serving", flush=True)
while True:
    connection, _ = listener.accept()
    connection.sendall(b"here")
    connection.close()
"""
ASK = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], 7000), timeout=1.5) as connection:
        print(connection.recv(16).decode() or "closed")
except OSError as error:
    print(type(error).__name__)
"""


@contextmanager
def cluster_up(work, backend="netns"):
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("CHAOS_CACHE", str(work / "cache"))
        hosts = stack.enter_context(hosts_up(make(backend), RUN, SPECS, work))
        nodes = {}
        for spec in SPECS:
            info = NodeInfo(name=spec.name, role=spec.role, address=hosts[spec.name].address)
            launch = Launch(
                argv=("python3", "-I", "-S", "server.py"),
                env={},
                files={"server.py": SERVER},
                ready_pattern="^serving$",
                logs=(process.STDOUT,),
                data=(),
            )
            nodes[spec.name] = Node(info, hosts[spec.name], launch)
            process.start(nodes[spec.name], RUN)
        deadline = Deadline("the test's nodes", 30)
        for node in nodes.values():
            process.await_ready(node, deadline)
        yield Cluster(RUN, nodes, KINDS, subjects_of(SPECS)), hosts["client"]


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
        assert packet_filter.listed(node.host) == ()
        seen = process.state(node)
        assert seen.alive
        assert not seen.stopped
        assert interface.is_up(node.host)
    assert packet_filter.listed(client) == ()


def all_ask(pairs):
    """(source host, node) → what it gets, all at the same time."""
    with ThreadPoolExecutor(32) as pool:
        return list(pool.map(lambda pair: ask(*pair), pairs))


def ask(source, node):
    """What a client on ``source`` gets from the node's port: 'here' if it serves."""
    return source.run("python3", "-I", "-S", "-c", ASK, node.host.address, timeout_s=20).text


class Run:
    """A nemesis in a thread."""

    def __init__(self, up, tmp_path, nemesis, duration_s, leadership=lambda: LEADERS, rows=1):
        self.cluster, self.client = up
        self.path = tmp_path / "run.events"
        self.log = EventLog(self.path)
        self.stop = threading.Event()
        plan = nemesis
        if isinstance(nemesis, str):
            plan = make_plan(
                nemesis,
                KINDS,
                SPECS,
                interval_s=0.2,
                duration_s=duration_s,
                time_limit_s=rows * (duration_s + 0.2),
                seed=7,
                fault_nodes=("b3", "c2") if "fixed-" in nemesis else (),
                subjects=subjects_of(SPECS),
            )
        self.nemesis = Nemesis(plan, self.cluster, leadership, self.log, now_ns(), self.client)
        self.thread = threading.Thread(target=self.nemesis.run, args=(self.stop,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(120)
        self.nemesis.heal_all()
        self.log.close()
        assert not self.thread.is_alive()

    def events(self):
        return [event for event in read_events(self.path) if isinstance(event, Fault)]

    def await_stage(self, stage):
        deadline = Deadline(f"stage {stage}", 60)
        while True:
            found = [event for event in self.events() if event.stage == stage]
            if found:
                return found[-1]
            deadline.check(str(self.events()))
            threading.Event().wait(0.02)

    def finish(self):
        self.thread.join(120)
        assert not self.thread.is_alive()
        return self.events()


def in_force(run):
    """Wait until the fault is proven; returns its event."""
    event = run.await_stage("active")
    assert event.evidence.proven, event
    return event


def healed(run):
    """End the fault early; returns the last event."""
    run.stop.set()
    events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "healed"], events
    assert events[-1].evidence.proven, events[-1]
    assert run.nemesis.unhealed() == ()
    return events[-1]


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
        interface.up(cluster.nodes["b2"].host)
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


@pytest.mark.parametrize(
    ("nemesis", "sides"),
    [
        ("leader-partition", ({"b2"}, {"b1", "b3", "c1", "c2", "c3"})),
        ("leader-partition@broker", ({"b2"}, {"b1", "b3"})),
        ("leader-partition@controller", ({"c1"}, {"c2", "c3"})),
        ("random-partition", None),
    ],
)
def test_partition_cuts_exactly_the_links_it_names(healthy, tmp_path, nemesis, sides):
    cluster, client = healthy
    with Run(healthy, tmp_path, nemesis, 600) as run:
        event = in_force(run)
        scope = {"b1", "b2", "b3", "c1", "c2", "c3"}
        one, other = sides or (set(event.targets), scope - set(event.targets))
        assert set(event.targets) == one
        cut = 2 * len(one) * len(other)
        assert event.evidence.summary.startswith(f"{cut} of {cut} links across the cut dropped all 20 probes, ")
        nodes = cluster.nodes.values()
        pairs = [(a, b) for a in nodes for b in nodes if a.name != b.name]
        got = all_ask((a.host, b) for a, b in pairs)
        for (a, b), answer in zip(pairs, got, strict=True):
            apart = (a.name in one and b.name in other) or (a.name in other and b.name in one)
            assert answer == ("TimeoutError" if apart else "here"), (a.name, b.name)
        assert all_ask((client, node) for node in nodes) == ["here"] * 7
        rules = {name: len(packet_filter.counters(node.host, RUN)) for name, node in cluster.nodes.items()}
        assert {name: count for name, count in rules.items() if count} == {
            **dict.fromkeys(one, len(other)),
            **dict.fromkeys(other, len(one)),
        }
        last = healed(run)
    assert "no rule left" in last.evidence.summary
    assert last.evidence.summary.startswith("56 of 56 links passed all 20 probes")


def apart_in(nemesis, targets):
    """The directed links that a shape of cut drops, by its definition, of the six nodes and these targets."""
    scope = {"b1", "b2", "b3", "c1", "c2", "c3"}
    everything = {(a, b) for a in scope for b in scope if a != b}
    place = {name: targets.index(name) for name in targets}
    match nemesis:
        case "all-partition":
            return everything
        case "one-way-partition" | "leader-partition-in":
            return {(a, b) for a, b in everything if b in targets and a not in targets}
        case "leader-partition-out" | "fixed-partition-out":
            return {(a, b) for a, b in everything if a in targets and b not in targets}
        case "bridge":
            return {(a, b) for a, b in everything if (place[a] - 3) * (place[b] - 3) < 0}
        case "partition-majorities-ring":  # four of six are a majority: two neighbours on either side
            return {(a, b) for a, b in everything if abs(place[a] - place[b]) == 3}
    raise AssertionError(nemesis)


HEAR = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    port.bind(("", 7001))
    port.settimeout(4)
    try:
        print(port.recv(16).decode())
    except TimeoutError:
        print("silence")
"""
SAY = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    for _ in range(30):
        port.sendto(b"heard", (sys.argv[1], 7001))
        time.sleep(0.1)
"""


def hears(listener, speaker):
    """What a node hears of another by datagrams that need no answer."""
    with ThreadPoolExecutor(2) as pool:
        heard = pool.submit(lambda: listener.host.run("python3", "-I", "-S", "-c", HEAR, timeout_s=20).text)
        speaker.host.run("python3", "-I", "-S", "-c", SAY, listener.host.address, timeout_s=20)
        return heard.result()


@pytest.mark.parametrize(
    "nemesis",
    [
        "all-partition",
        "one-way-partition",
        "leader-partition-in",
        "leader-partition-out",
        "fixed-partition-out",
        "bridge",
        "partition-majorities-ring",
    ],
)
def test_each_shape_of_cut_drops_the_directions_it_names_and_no_other(healthy, tmp_path, nemesis):
    cluster, _ = healthy
    with Run(healthy, tmp_path, nemesis, 600) as run:
        event = in_force(run)
        cut = apart_in(nemesis, event.targets)
        received = event.evidence.details["received"]
        assert {tuple(link.split(">")) for link, count in received.items() if count == 0} == cut
        assert all(count in (0, 20) for count in received.values())
        assert {
            (a, b)
            for b, node in cluster.nodes.items()
            for a, other in cluster.nodes.items()
            if any(counter.rule.address == other.host.address for counter in packet_filter.counters(node.host, RUN))
        } == cut, "rules stand at the receiving end of each direction and nowhere else"
        if nemesis == "leader-partition-out":
            assert hears(cluster.nodes["b1"], cluster.nodes["b2"]) == "silence"
            assert hears(cluster.nodes["b2"], cluster.nodes["b1"]) == "heard"
        last = healed(run)
    assert last.evidence.summary.startswith("56 of 56 links passed all 20 probes")


def test_loss_drops_its_share_each_way_and_nothing_elsewhere(healthy, tmp_path):
    cluster, _ = healthy
    with Run(healthy, tmp_path, "random-loss", 600) as run:
        event = in_force(run)
        received = event.evidence.details["received"]
        scope = {"b1", "b2", "b3", "c1", "c2", "c3"}
        links = {(a, b) for a in {*scope, "n1", "client"} for b in {*scope, "n1", "client"} if a != b}
        for a, b in links:
            hit = {a, b} <= scope and bool({a, b} & set(event.targets))
            assert received[f"{a}>{b}"] < 100 if hit else received[f"{a}>{b}"] == 200
        shares = {
            counter.rule.probability
            for node in cluster.nodes.values()
            for counter in packet_filter.counters(node.host, RUN)
        }
        assert [round(share, 6) for share in shares] == [0.8]
        healed(run)


def test_faults_at_once_on_the_same_nodes_are_each_proven_and_healed(healthy, tmp_path):
    """A cut, loss on the same links and more, a killed and a suspended node among them, ending one after the other."""
    cluster, _ = healthy
    steps = (
        Step(nemesis="leader-partition@broker", at=0.2, duration=14),
        Step(nemesis="all-loss@broker", at=0.4, duration=24),
        Step(nemesis="leader-kill@broker", at=2, duration=10),
        Step(nemesis="leader-suspend@controller", at=3, duration=20),
        Step(nemesis="leader-disconnect@controller", at=27, duration=9),
    )
    plan = plan_steps(Steps(steps=steps), KINDS, SPECS, time_limit_s=60, seed=7, subjects=subjects_of(SPECS))
    with Run(healthy, tmp_path, plan, 0) as run:
        events = run.finish()
    for row in plan:
        own = [event for event in events if event.id == row.row]
        assert [event.stage for event in own] == ["inject", "active", "heal", "healed"], own
        assert all(event.evidence.proven for event in own if event.evidence), own
        assert own[2].evidence is not None, "looked at again at its end"
    by_time = sorted(events, key=lambda event: event.time_ns)
    assert [event.id for event in by_time if event.stage == "inject"] == [1, 2, 3, 4, 5]
    assert run.nemesis.unhealed() == ()
    assert all(packet_filter.listed(node.host) == () for node in cluster.nodes.values())


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
