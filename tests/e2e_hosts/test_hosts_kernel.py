"""Faults in a host's kernel: what programs on hosts go through, that it is seen to vanish, and the host as it was."""

import os
import threading
from contextlib import closing

import pytest
from host_support import BACKENDS
from test_hosts_connections import Held, held
from test_hosts_nemesis import Run, all_ask, ask, cluster_up, healed, in_force

from chaos.core.clock import Deadline
from cluster.network import probe_matrix
from nemesis.faults.registry import faults

pytestmark = pytest.mark.e2e

ROUTES = "ip -4 route show; ip -4 neigh show nud permanent; ip -o link show dev eth0 | sed 's/ qdisc.*//'"
RANGE = "cat /proc/sys/net/ipv4/ip_local_port_range; ls -A | grep [.]pid$; true"
WHY = """
import errno, socket, sys
try:
    socket.create_connection((sys.argv[1], 7000), timeout=0.5)
    print("connected")
except OSError as error:
    print(errno.errorcode.get(error.errno, type(error).__name__))
"""
SIZED = """
import errno, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    port.setsockopt(socket.IPPROTO_IP, 10, int(sys.argv[3]))
    try:
        print(port.sendto(bytes(int(sys.argv[2])), (sys.argv[1], 7012)))
    except OSError as error:
        print(errno.errorcode[error.errno])
"""
COUNT = """
import socket
server = socket.create_server(("", 7005))
print("ready", flush=True)
peer, _ = server.accept()
got = 0
while data := peer.recv(65536):
    got += len(data)
    print(got, flush=True)
"""
WATCHDOG = """
nohup python3 -I -S -c "import time; time.sleep(60)" '{"heal_after_s": 1}' >/dev/null 2>&1 &
echo $! > watchdog.pid; echo 1 > heartbeat
"""


class OneWay(Held):
    """A connection that carries bytes to the other end, and none back."""

    talk = COUNT

    def pour(self, size):
        """Send so many bytes, the first of all, and wait until all are there."""
        self._send(size)
        self._await(self._pids[0][0], f"test $(tail -n 1 talk.log) = {size}")


@pytest.fixture(scope="module", params=BACKENDS)
def up(request, tmp_path_factory):
    with cluster_up(tmp_path_factory.mktemp("nodes"), request.param) as (cluster, client):
        yield cluster, client


@pytest.fixture
def able(up, request):
    """The cluster, if its hosts can do the fault of the test; every host must be left as it was."""
    cluster, client = up
    fault = faults()[request.getfixturevalue("nemesis").removeprefix("leader-").partition("@")[0].partition(":")[0]]
    why = fault.obstacle(cluster.nodes["b2"].host)
    if why is not None:
        assert not os.environ.get("CI"), why
        pytest.skip(why)
    before = {name: state(node.host) for name, node in cluster.nodes.items()}
    yield cluster, client
    assert {name: state(node.host) for name, node in cluster.nodes.items()} == before
    others = ((node.host, cluster.nodes["b2"]) for name, node in cluster.nodes.items() if name != "b2")
    assert all_ask(others) == ["here"] * 6


def state(host):
    return host.run("sh", "-c", f"{ROUTES}; {RANGE}", timeout_s=20).check().text


def why(source, node):
    """How the kernel answers a connection."""
    return source.run("python3", "-I", "-S", "-c", WHY, node.host.address, timeout_s=20).text


def sized(source, node, size, discover):
    """How many bytes a datagram took, or the error."""
    argv = ("python3", "-I", "-S", "-c", SIZED, node.host.address, str(size), str(discover))
    return source.run(*argv, timeout_s=20).text


def undone_by_somebody(run, host, *script):
    """Whether the last look sees that somebody undid it."""
    (injection,) = run.nemesis._unhealed
    assert injection.fault.verify_still().proven
    host.run("sh", "-c", *script, timeout_s=20).check()
    return not injection.fault.verify_still().proven


@pytest.mark.parametrize(
    ("nemesis", "error", "undo"),
    [
        ("leader-blackhole@broker", "EINVAL", "ip -4 route flush proto 231"),
        ("leader-blackhole:kind=unreachable@broker", "EHOSTUNREACH", "ip -4 route flush proto 231"),
        ("leader-blackhole:kind=prohibit@broker", "EACCES", "ip -4 route flush proto 231"),
        ("leader-wrong-arp@broker", "TimeoutError", "ip -4 neigh flush nud permanent"),
    ],
)
def test_what_the_targets_send_to_the_others_gets_lost(able, tmp_path, nemesis, error, undo):
    cluster, client = able
    node = cluster.nodes
    b1, b2 = node["b1"].host, node["b2"].host
    with held(b2, b1) as link, Run(able, tmp_path, nemesis, 600) as run:
        event = in_force(run)
        assert event.targets == ("b2",)
        assert event.evidence.summary.startswith("2 of 2 links across the cut dropped all 20 probes")
        assert why(b2, node["b1"]) == error
        assert why(b1, node["b2"]) == "TimeoutError", "the answers are lost"
        assert ask(b1, node["b3"]) == ask(client, node["b2"]) == ask(b2, node["c1"]) == "here"
        assert undone_by_somebody(run, b2, undo)
        assert link.say(20) == "passed"
        healed(run)


@pytest.mark.parametrize("nemesis", ["leader-mtu:bytes=1300@broker"])
def test_a_small_mtu_lets_small_packets_pass(able, tmp_path, nemesis):
    cluster, client = able
    node = cluster.nodes
    b1, b2 = node["b1"].host, node["b2"].host
    with held(b1, b2) as to, closing(OneWay(b2, b1)) as fro, Run(able, tmp_path, nemesis, 600) as run:
        event = in_force(run)
        assert event.evidence.summary.startswith("7 of 7 links carried small packets, and large ones only in fragments")
        assert "mtu 1300" in state(b2)
        assert sized(b2, node["b1"], 1300 - 28, 2) == str(1300 - 28)
        assert sized(b2, node["b1"], 1300 - 27, 2) == "EMSGSIZE"
        assert sized(b2, node["b1"], 1300 - 27, 0) == str(1300 - 27)
        assert sized(b1, node["b2"], 1400, 2) == "1400", "nobody tells the sender"
        fro.pour(60_000)  # what the target sends adapts
        assert to.say(20) == "passed"
        assert to.say(1400) == "TimeoutError", "one segment, longer than what the target takes"
        assert ask(client, node["b2"]) == "here"
        assert undone_by_somebody(run, b2, "ip link set dev eth0 mtu 1400")
        healed(run)


@pytest.mark.parametrize("up", ["netns"], indirect=True)
@pytest.mark.parametrize("nemesis", ["leader-port-exhaustion@broker"])
def test_no_port_is_left_for_new_connections(able, tmp_path, nemesis):
    cluster, client = able
    node = cluster.nodes
    b1, b2 = node["b1"].host, node["b2"].host
    with held(b2, b1) as link, Run(able, tmp_path, nemesis, 600) as run:
        event = in_force(run)
        assert event.evidence.summary == "7 of 7 connections found no port, 49 of 49 others passed"
        assert why(b2, node["b1"]) == why(b2, node["c1"]) == "EADDRNOTAVAIL"
        assert link.say(60_000) == "passed"
        assert ask(b1, node["b2"]) == ask(client, node["b2"]) == ask(b1, node["b3"]) == "here"
        seen = probe_matrix.measure({"b1": b1, "b2": b2}, 20)
        assert seen.complete() == seen.received.keys(), "datagrams have ports"
        assert undone_by_somebody(run, b2, "echo 32768 60999 > /proc/sys/net/ipv4/ip_local_port_range")
        assert why(b2, node["b1"]) == "connected"
        healed(run)


@pytest.mark.parametrize("up", ["docker"], indirect=True)
def test_a_container_says_what_it_lacks_to_run_out_of_ports(up):
    cluster, _ = up
    assert "a container needs --privileged" in faults()["port-exhaustion"].obstacle(cluster.nodes["b2"].host)


@pytest.mark.parametrize("nemesis", ["leader-blackhole@broker"])
def test_a_machine_whose_harness_is_gone_takes_it_back_by_itself(able, tmp_path, nemesis):
    cluster, _ = able
    b2 = cluster.nodes["b2"].host
    b2.run("sh", "-c", WATCHDOG, timeout_s=20).check()
    try:
        with Run(able, tmp_path, nemesis, 600) as run:
            run.await_stage("active")
            deadline = Deadline("the route to go", 20)
            while "blackhole" in b2.run("sh", "-c", "ip -4 route", timeout_s=20).text:
                deadline.check()
                threading.Event().wait(0.1)
            run.stop.set()
            assert run.finish()[-1].evidence.proven
    finally:
        b2.run("sh", "-c", "kill $(cat watchdog.pid); rm -f watchdog.pid heartbeat", timeout_s=20)
