"""Delay on hosts: as nodes and clients feel it, what it leaves alone, what becomes of it without its program."""

import json
from concurrent.futures import ThreadPoolExecutor
from statistics import median, quantiles

import pytest
from host_support import BACKENDS
from leading import subjects_of
from test_hosts_nemesis import KINDS, SPECS, Run, cluster_up, healed, in_force
from test_hosts_packets import until_there

from cluster.network import packet_filter
from nemesis.plan.sequence import Step, Steps, plan_steps

pytestmark = pytest.mark.e2e

CONNECTS = """
import socket, sys, time
took = []
for _ in range(5):
    began = time.monotonic()
    with socket.create_connection((sys.argv[1], 7000), timeout=10):
        took.append(time.monotonic() - began)
print(min(took) * 1000)
"""
HEAR = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    port.bind(("", 7002))
    port.settimeout(10)
    heard = []
    while not heard or heard[-1] != 299:
        heard.append(int(port.recv(16)))
print(*heard)
"""
SAY = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    time.sleep(2)
    for number in range(300):
        port.sendto(b"%d" % number, (sys.argv[1], 7002))
        time.sleep(0.001)
"""
TIMED = 500
# How long each datagram was under way, in ms: the hosts of a test have the monotonic clock of one kernel.
HEAR_TIMED = """
import json, socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    port.bind(("", int(sys.argv[1])))
    open(f"hears-{sys.argv[1]}", "w").close()
    port.settimeout(30)
    took = []
    while len(took) < int(sys.argv[2]):
        sent_ns = int(port.recv(100))
        took.append((time.monotonic_ns() - sent_ns) / 1e6)
print(json.dumps(took))
"""
SAY_TIMED = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    for _ in range(int(sys.argv[3])):
        port.sendto(b"%d" % time.monotonic_ns(), (sys.argv[1], int(sys.argv[2])))
        time.sleep(0.01)
"""
ALIVE = 'cat "$1"/.delay-*.pid 2>/dev/null | while read -r pid; do [ ! -d "/proc/$pid" ] || echo "$pid"; done'
KILL = 'kill -KILL $(cat "$1"/.delay-*.pid)'


@pytest.fixture(scope="module", params=BACKENDS)
def up(request, tmp_path_factory):
    with cluster_up(tmp_path_factory.mktemp("nodes"), request.param) as (cluster, client):
        yield cluster, client


def programs(cluster):
    """The nodes on which a program holds packets."""
    return {
        name
        for name, node in cluster.nodes.items()
        if node.host.run("sh", "-c", ALIVE, "sh", node.host.home, timeout_s=20).text
    }


def connect_ms(source, node):
    """The quickest of five connections, which takes a round trip."""
    return float(source.run("python3", "-I", "-S", "-c", CONNECTS, node.host.address, timeout_s=60).text)


def took_ms(*pairs):
    """How long each of 500 datagrams was under way, of each pair of hosts; all are sent at the same time."""

    def one(at):
        (source, target), port = pairs[at], str(7003 + at)
        with ThreadPoolExecutor(1) as pool:
            argv = ("python3", "-I", "-S", "-c", HEAR_TIMED, port, str(TIMED))
            heard = pool.submit(lambda: target.run(*argv, timeout_s=90).check().text)
            until_there(target, f"hears-{port}")
            argv = ("python3", "-I", "-S", "-c", SAY_TIMED, target.address, port, str(TIMED))
            source.run(*argv, timeout_s=60).check()
            return json.loads(heard.result())

    with ThreadPoolExecutor(len(pairs)) as pool:
        return list(pool.map(one, range(len(pairs))))


def spread_ms(took):
    """How far apart the ends of the middle half are: 10 ms, if all values within 20 are equally likely."""
    quarters = quantiles(took, n=4)
    return quarters[-1] - quarters[0]


def test_500_datagrams_are_100_ms_later_give_or_take_10(up, tmp_path):
    node = {name: one.host for name, one in up[0].nodes.items()}
    pairs = (node["b1"], node["b2"]), (node["b2"], node["b1"]), (node["b1"], node["b3"])
    with Run(up, tmp_path, "leader-delay:delay_ms=100,jitter_ms=10@broker", 600) as run:
        in_force(run)
        for look in range(3):  # a busy machine is late, where something is delayed more than elsewhere
            *hit, beside = took_ms(*pairs)
            assert min(map(min, hit)) >= 90, "no datagram is earlier than asked for"
            assert min(map(spread_ms, hit)) >= 2, "they are not all delayed alike"
            middle = [median(took) - median(beside) for took in hit]
            if max(middle) <= 110 and max(map(spread_ms, hit)) <= 16 + spread_ms(beside):
                break
            assert look < 2, (middle, *map(spread_ms, hit))
        assert min(middle) >= 90
        healed(run)
    after, usual = took_ms(pairs[0], pairs[2])
    assert abs(median(after) - median(usual)) < 10


def test_every_link_of_the_targets_is_late_each_way_and_no_other(up, tmp_path):
    cluster, client = up
    with Run(up, tmp_path, "leader-delay:delay_ms=60,jitter_ms=10@broker", 600) as run:
        event = in_force(run)
        assert event.targets == ("b2",)
        assert event.description == "leader b2, 60 ± 10 ms later each way"
        assert "round trips on 4 links take 1" in event.evidence.summary
        assert "52 of 52 others are as quick as before" in event.evidence.summary
        assert programs(cluster) == {"b1", "b2", "b3"}
        node = cluster.nodes
        assert connect_ms(node["b1"].host, node["b2"]) >= 2 * 50
        assert connect_ms(node["b2"].host, node["b3"]) >= 2 * 50
        assert connect_ms(node["b1"].host, node["b3"]) < 2 * 50
        assert connect_ms(node["c1"].host, node["b2"]) < 2 * 50, "links of the named roles alone"
        assert connect_ms(client, node["b2"]) < 2 * 50, "clients are never touched"
        last = healed(run)
    assert "no rule left, 56 of 56 links are as quick as before" in last.evidence.summary
    assert programs(cluster) == set()
    assert connect_ms(node["b1"].host, node["b2"]) < 2 * 50
    assert all(packet_filter.own_lines(one.host) == () for one in cluster.nodes.values())


def test_packets_keep_their_order_and_none_is_lost(up, tmp_path):
    cluster, _ = up
    ear, mouth = cluster.nodes["b1"].host, cluster.nodes["b2"].host
    with Run(up, tmp_path, "leader-delay:delay_ms=40,jitter_ms=20@broker", 600) as run, ThreadPoolExecutor(1) as pool:
        in_force(run)
        heard = pool.submit(lambda: ear.run("python3", "-I", "-S", "-c", HEAR, timeout_s=40).text)
        mouth.run("python3", "-I", "-S", "-c", SAY, ear.address, timeout_s=40).check()
        assert heard.result() == " ".join(map(str, range(300)))
        healed(run)


def test_without_its_program_packets_pass_and_the_fault_did_not_last(up, tmp_path):
    cluster, _ = up
    node = cluster.nodes
    with Run(up, tmp_path, "leader-delay:delay_ms=200,jitter_ms=0@broker", 15) as run:
        in_force(run)
        for name in ("b1", "b2"):
            node[name].host.run("sh", "-c", KILL, "sh", node[name].host.home, timeout_s=20).check()
        assert connect_ms(node["b1"].host, node["b2"]) < 2 * 200
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"]
    assert events[3].note.startswith("did not last: ")
    assert events[3].note.endswith("nobody holds packets on b1 b2")
    assert events[4].evidence.proven


def test_delay_and_a_cut_and_loss_at_once_are_each_proven_and_healed(up, tmp_path):

    cluster, _ = up
    steps = (
        Step(nemesis="all-delay@broker", at=0.2, duration=30),
        Step(nemesis="leader-partition@broker", at=8, duration=10),
        Step(nemesis="all-loss@controller", at=10, duration=10),
        Step(nemesis="leader-kill@broker", at=12, duration=6),
    )
    plan = plan_steps(Steps(steps=steps), KINDS, SPECS, time_limit_s=60, seed=7, subjects=subjects_of(SPECS))
    with Run(up, tmp_path, plan, 0) as run:
        events = run.finish()
    for row in (1, 2, 3, 4):
        own = [event for event in events if event.id == row]
        assert [event.stage for event in own] == ["inject", "active", "heal", "healed"], own
        assert all(event.evidence.proven for event in own if event.evidence), own
    assert run.nemesis.unhealed() == ()
    assert all(packet_filter.own_lines(node.host) == () for node in cluster.nodes.values())
