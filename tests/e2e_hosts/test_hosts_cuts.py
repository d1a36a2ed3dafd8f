"""Cuts and losses of links on real hosts, alone and several at once: what they drop, and what they leave alone."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from fault_nodes import KINDS, RUN, SPECS, Run, all_ask, cluster_up, healed, in_force
from host_support import BACKENDS
from leading import subjects_of

from cluster.hosts import interface
from cluster.network import packet_filter
from cluster.nodes import process
from nemesis.plan.sequence import Step, Steps, plan_steps

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
    assert all(packet_filter.own_lines(node.host) == () for node in cluster.nodes.values())
