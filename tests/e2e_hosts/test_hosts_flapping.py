"""Cuts that come and go on hosts: what an independent program hears of each link, and that nothing is left cut."""

import itertools
import json

import pytest
from host_support import BACKENDS
from test_hosts_nemesis import Run, all_ask, ask, cluster_up, healed, in_force

from chaos.core.clock import NS_PER_S
from cluster.network import packet_filter, probe_matrix
from nemesis.faults.links.link_fault import LinkFault

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

SCOPE = ("b1", "b2", "b3")
SAY = """
import os, socket, sys, time
if os.fork():
    os._exit(0)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        try:
            port.sendto(b"tick", (sys.argv[1], 7011))
        except OSError:
            pass
        time.sleep(0.01)
"""
HEAR = """
import json, socket, sys, time
found, last = [], None
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    port.bind(("", 7011))
    port.settimeout(float(sys.argv[1]))
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        try:
            port.recv(16)
        except TimeoutError:
            break
        now = time.monotonic()
        if last is not None and now - last > 0.3:
            found.append(now - last)
        last = now
print(json.dumps(found))
"""


@pytest.fixture(scope="module", params=BACKENDS)
def up(request, tmp_path_factory):
    with cluster_up(tmp_path_factory.mktemp("nodes"), request.param) as (cluster, client):
        yield cluster, client


def silences(source, target, seconds):
    """How long each silence was that one host heard of another."""
    source.run("python3", "-I", "-S", "-c", SAY, target.address, str(seconds), timeout_s=20).check()
    done = target.run("python3", "-I", "-S", "-c", HEAR, str(seconds), timeout_s=seconds + 20).check()
    return json.loads(done.text)


def as_before(cluster):
    for node in cluster.nodes.values():
        assert packet_filter.own_lines(node.host) == ()
        assert node.host.run("sh", "-c", "ls -A | grep beacon", timeout_s=20).text == ""
    others = ((node.host, cluster.nodes["b2"]) for name, node in cluster.nodes.items() if name != "b2")
    assert all_ask(others) == ["here"] * 6


def passes(cluster, *names):
    """Whether each link among these nodes carries datagrams."""
    seen = probe_matrix.measure({name: cluster.nodes[name].host for name in names}, 20)
    return {f"{a}>{b}": count == 20 for (a, b), count in seen.received.items()}


def test_flapping_links_fall_silent_again_and_again(up, tmp_path):
    cluster, client = up
    node = cluster.nodes
    with Run(up, tmp_path, "leader-flap:period_s=1.6@broker", 600) as run:
        event = in_force(run)
        assert event.targets == ("b2",)
        assert event.description == "leader {b2 | b1 b3} cut for 0.8 of every 1.6 s"
        assert event.evidence.summary.startswith("cut and opened ")
        heard = silences(node["b2"].host, node["b1"].host, 5)
        assert 2 <= len(heard) <= 3, heard
        assert all(0.6 < one < 1.6 for one in heard), heard
        assert silences(node["b3"].host, node["b1"].host, 2) == []
        assert ask(client, node["b2"]) == "here", "clients are never touched"
        last = healed(run)
    assert "no rule left" in last.evidence.summary
    as_before(cluster)


def test_the_history_says_how_often_and_nothing_is_left_cut(up, tmp_path):
    cluster, _ = up
    with Run(up, tmp_path, "leader-flap:period_s=2,share=0.7@broker", 9) as run:
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "healed"], events
    assert all(event.evidence.proven for event in events if event.evidence), events
    said = events[2].evidence
    assert said.details["cuts"] >= 3, said
    assert "4 of 4 links fell silent" in said.summary
    assert "52 of 52 others carried all along" in said.summary
    assert all(all(passes(cluster, *SCOPE).values()) for _ in range(3)), "the rhythm has ended"
    as_before(cluster)


def test_a_share_of_nothing_does_nothing(up, tmp_path):
    cluster, _ = up
    with Run(up, tmp_path, "leader-flap:share=0@broker", 600) as run:
        event = run.await_stage("active")
        assert not event.evidence.proven
        assert event.evidence.summary == "share 0: nothing was done"
        assert silences(cluster.nodes["b2"].host, cluster.nodes["b1"].host, 2) == []
        assert packet_filter.own_lines(cluster.nodes["b1"].host) == ()
        run.stop.set()
        assert run.finish()[-1].evidence.proven
    as_before(cluster)


@pytest.mark.parametrize("nemesis", ["leader-flap@broker", "leader-staged-heal:whole_s=6@broker"])
def test_a_cut_that_a_rule_of_somebody_else_keeps_from_acting_is_not_proven(up, tmp_path, nemesis):
    cluster, _ = up
    host = cluster.nodes["b1"].host
    rule = ("INPUT", "-s", "198.18.0.0/15", "-j", "ACCEPT")
    acts = LinkFault._put

    def accepted_first(self, name, rules):
        acts(self, name, rules)
        if name == "b1":
            host.run(packet_filter.variant(host), "-w", "5", "-I", *rule, timeout_s=10).check()

    with pytest.MonkeyPatch.context() as patch, Run(up, tmp_path, nemesis, 600) as run:
        patch.setattr(LinkFault, "_put", accepted_first)
        event = run.await_stage("active")
        assert not event.evidence.proven, event
        assert "b2→b1" in event.evidence.summary
        patch.undo()
        run.stop.set()
        run.finish()
        host.run(packet_filter.variant(host), "-w", "5", "-F", "INPUT", timeout_s=10).check()
    as_before(cluster)


@pytest.mark.parametrize("by", ["link", "node"])
def test_links_of_a_partition_open_in_stages(up, tmp_path, by):
    cluster, _ = up
    # It lasts longer than its stages: each look of the harness at a link delays them.
    nemesis = f"leader-staged-heal:whole_s=6,over_s=6,by={by}@broker"
    with Run(up, tmp_path, nemesis, 20) as run:
        event = in_force(run)
        assert event.evidence.summary.startswith("4 of 4 links across the cut dropped all 20 probes")
        seen = []
        while run.thread.is_alive() and len(seen) < 100:
            now = passes(cluster, *SCOPE)
            across = frozenset(link for link, good in now.items() if good and "b2" in link)
            if not seen or seen[-1] != across:
                seen.append(across)
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "healed"], events
    assert all(event.evidence.proven for event in events if event.evidence), events
    assert "4 of 4 links were silent for as long as they were cut" in events[2].evidence.summary
    assert all(before < after for before, after in itertools.pairwise(seen)), "nothing is cut again"
    assert seen[-1] == {"b1>b2", "b2>b1", "b2>b3", "b3>b2"}
    assert any(0 < len(one) < 4 for one in seen), seen
    cut_s = events[2].evidence.details["cut_s"]
    assert len(set(cut_s.values())) == (2 if by == "node" else 4)
    assert by == "link" or (cut_s["b1>b2"], cut_s["b3>b2"]) == (cut_s["b2>b1"], cut_s["b2>b3"]), "both ways at once"
    assert events[2].time_ns - events[0].time_ns > 12 * NS_PER_S
    as_before(cluster)


def test_an_end_before_the_last_stage_opens_all_and_is_not_proven(up, tmp_path):
    cluster, _ = up
    with Run(up, tmp_path, "leader-staged-heal:whole_s=4,over_s=60@broker", 9) as run:
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"], events
    assert "the end came before 3 of 4 links were opened; let it last longer" in events[3].note
    assert events[4].evidence.proven
    as_before(cluster)
