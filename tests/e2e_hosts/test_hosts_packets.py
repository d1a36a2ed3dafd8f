"""Faults of packets on hosts: what 2,000 datagrams and a connection of the test's own go through, and what passes."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from host_support import BACKENDS
from leading import subjects_of
from test_hosts_nemesis import KINDS, SPECS, Run, cluster_up, healed, in_force

from chaos.core.clock import Deadline
from cluster.network import packet_filter
from cluster.network.probe_matrix import binomial_bounds
from nemesis.plan.sequence import Step, Steps, plan_steps

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

SENT = 2000
HEAR = """
import json, socket, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    port.bind(("", 7002))
    open("hears", "w").close()
    port.settimeout(30)
    heard, times = [], []
    while True:
        word = port.recv(2000).rstrip(b".")
        if word == b"end":
            break
        heard.append(int(word))
        times.append(time.monotonic())
        port.settimeout(10)
lines = [line.split() for line in open("/proc/net/snmp") if line.startswith("Udp:")]
bad = dict(zip(*lines))["InCsumErrors"]
print(json.dumps({"heard": heard, "took_s": times[-1] - times[0], "bad": int(bad)}))
"""
SAY = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    for number in range(int(sys.argv[2])):
        port.sendto(b"%d" % number + b"." * int(sys.argv[3]), (sys.argv[1], 7002))
        time.sleep(0.001)
    time.sleep(0.5)
    for _ in range(200):
        port.sendto(b"end", (sys.argv[1], 7002))
        time.sleep(0.01)
"""
ALIVE = 'cat "$1"/.*-*.pid 2>/dev/null | while read -r pid; do [ ! -d "/proc/$pid" ] || echo "$pid"; done'
TALK = """
import socket
server = socket.create_server(("", 7006))
open("talks", "w").close()
server.settimeout(60)
peer, _ = server.accept()
data = b""
while len(data) < 1 << 20:
    more = peer.recv(65536)
    if not more:
        break
    data += more
peer.close()
print("right" if data == bytes(1 << 20) else "wrong")
"""
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 7006), timeout=60) as link:
    link.sendall(bytes(1 << 20))
    link.recv(1)
"""


@pytest.fixture(scope="module", params=BACKENDS)
def up(request, tmp_path_factory):
    with cluster_up(tmp_path_factory.mktemp("nodes"), request.param) as (cluster, client):
        yield cluster, client


def until_there(host, name):
    deadline = Deadline(name, 20)
    while host.run("test", "-e", name, timeout_s=20).returncode != 0:
        deadline.check()
        threading.Event().wait(0.05)
    host.run("rm", name, timeout_s=20).check()


def run_on(host, program, *arguments):
    return host.run("python3", "-I", "-S", "-c", program, *arguments, timeout_s=90).check().text


def stream(source, target, count=SENT, size=0):
    """What the target hears of numbered datagrams."""
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(run_on, target, HEAR)
        until_there(target, "hears")
        run_on(source, SAY, target.address, str(count), str(size))
        return json.loads(heard.result())


def upload(source, target):
    """What a MiB of zeros is to the target when it has come over a connection. An answer could be altered as well."""
    with ThreadPoolExecutor(1) as pool:
        came = pool.submit(run_on, target, TALK)
        until_there(target, "talks")
        run_on(source, SEND, target.address)
        return came.result()


def late(heard):
    """How many came for the first time after one that was sent later."""
    highest, found, seen = -1, 0, set()
    for number in heard:
        found += number not in seen and number < highest
        highest = max(highest, number)
        seen.add(number)
    return found


def as_before(cluster):
    for node in cluster.nodes.values():
        assert packet_filter.own_lines(node.host) == ()
        assert node.host.run("sh", "-c", ALIVE, "sh", node.host.home, timeout_s=20).text == ""
    hosts = cluster.nodes["b1"].host, cluster.nodes["b2"].host
    assert stream(*hosts, 300)["heard"] == list(range(300))


def under(up, tmp_path, nemesis, look):
    """What is seen from b1 to b2, the leader, while a fault is in force; every other way is whole."""
    cluster, client = up
    host = {name: node.host for name, node in cluster.nodes.items()}
    with Run(up, tmp_path, nemesis, 600) as run:
        event = in_force(run)
        assert event.targets == ("b2",)
        found = look(host["b1"], host["b2"])
        assert stream(host["b1"], host["b3"], 300)["heard"] == list(range(300))
        assert stream(client, host["b2"], 300)["heard"] == list(range(300)), "clients are never touched"
        last = healed(run)
    assert "no rule left" in last.evidence.summary
    as_before(cluster)
    return found


def within(count, share, sent=SENT):
    least, most = binomial_bounds(sent, share)
    return least <= count <= most


def test_duplicates(up, tmp_path):
    heard = under(up, tmp_path, "leader-duplicate:probability=0.3@broker", stream)["heard"]
    assert set(heard) == set(range(SENT))
    assert within(len(heard) - SENT, 0.3)


def test_altered_packets_are_dropped_by_who_receives_them(up, tmp_path):
    seen = under(up, tmp_path, "leader-corrupt:probability=0.2@broker", stream)
    lost = SENT - len(seen["heard"])
    assert within(lost, 0.2)
    assert seen["bad"] >= lost, "the kernel has counted wrong checksums"


@pytest.mark.parametrize(("checksum", "said"), [("wrong", "right"), ("right", "wrong")])
def test_wrong_bytes_arrive_only_under_checksums_that_were_mended(up, tmp_path, checksum, said):
    nemesis = f"leader-corrupt:probability=0.05,checksum={checksum}@broker"
    assert under(up, tmp_path, nemesis, upload) == said


def test_packets_out_of_order(up, tmp_path):
    heard = under(up, tmp_path, "leader-reorder:probability=0.3,delay_ms=40@broker", stream)["heard"]
    assert sorted(heard) == list(range(SENT))
    assert within(late(heard), 0.3, SENT - 40)


def test_a_slow_line(up, tmp_path):
    def look(source, target):
        return stream(source, target, 600, 1000)

    seen = under(up, tmp_path, "leader-throttle:kbit=400,buffer_ms=2000@broker", look)
    kbit = len(seen["heard"]) * 1030 / 125 / seen["took_s"]
    assert 340 <= kbit <= 440
    assert seen["heard"] == sorted(seen["heard"])


def test_bursts(up, tmp_path):
    heard = under(up, tmp_path, "leader-burst-loss:probability=0.3,length=12@broker", stream)["heard"]
    there = set(heard)
    gaps = sum(number not in there and number - 1 in there for number in range(1, SENT))
    assert 0.15 <= 1 - len(heard) / SENT <= 0.45
    assert 6 <= (SENT - len(heard)) / gaps <= 24


@pytest.mark.parametrize("fault", ["loss", "loss-in", "loss-out", "duplicate", "corrupt", "reorder", "burst-loss"])
def test_at_0_nothing_is_done_and_nothing_is_proven(up, tmp_path, fault):
    cluster, _ = up
    with Run(up, tmp_path, f"leader-{fault}:probability=0@broker", 6) as run:
        event = run.await_stage("active")
        assert not event.evidence.proven
        assert event.evidence.summary == "probability 0: nothing was done"
        as_before(cluster)
        last = run.finish()[-1]
    assert (last.stage, last.evidence.proven) == ("healed", True)


def test_packets_beside_a_cut_are_each_proven(up, tmp_path):
    steps = (
        Step(nemesis="all-duplicate@broker", at=0.2, duration=30),
        Step(nemesis="leader-partition@broker", at=8, duration=12),
        Step(nemesis="all-throttle@controller", at=10, duration=15),
    )
    plan = plan_steps(Steps(steps=steps), KINDS, SPECS, time_limit_s=60, seed=7, subjects=subjects_of(SPECS))
    with Run(up, tmp_path, plan, 0) as run:
        events = run.finish()
    for row in (1, 2, 3):
        own = [event for event in events if event.id == row]
        assert [event.stage for event in own] == ["inject", "active", "heal", "healed"], own
        assert all(event.evidence.proven for event in own if event.evidence), own
    as_before(up[0])
