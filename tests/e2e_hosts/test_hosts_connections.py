"""Faults of connections on hosts: what a connection that was there and a new one go through, and what passes."""

import threading
from contextlib import contextmanager

import pytest
from host_support import BACKENDS
from leading import subjects_of
from test_hosts_nemesis import KINDS, SPECS, Run, all_ask, ask, cluster_up, healed, in_force

from chaos.core.clock import Deadline
from cluster.network import packet_filter, probe_matrix
from nemesis.faults.connections.cut_after import CutAfter
from nemesis.plan.sequence import Step, Steps, plan_steps

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

TALK = """
import socket, sys
server = socket.create_server(("", 7005))
print("ready", flush=True)
peer, _ = server.accept()
while data := peer.recv(65536):
    peer.sendall(data)
"""
HOLD = """
import os, socket, sys, time
link = socket.create_connection((sys.argv[1], 7005), timeout=3)
while True:
    while not os.path.exists("say"):
        time.sleep(0.02)
    size = int(open("say").read())
    os.remove("say")
    try:
        link.sendall(bytes(size))
        got = 0
        while got < size:
            data = link.recv(65536)
            if not data:
                raise ConnectionResetError
            got += len(data)
        said = "passed"
    except OSError as error:
        said = type(error).__name__
    with open("said.partial", "w") as out:
        out.write(said)
    os.rename("said.partial", "said")
"""
START = 'nohup python3 -I -S -c "$1" $2 > "$3.log" 2>&1 & echo $!'


@pytest.fixture(scope="module", params=BACKENDS)
def up(request, tmp_path_factory):
    with cluster_up(tmp_path_factory.mktemp("nodes"), request.param) as (cluster, client):
        yield cluster, client


class Held:
    """A connection from one host to another that stays open; ``talk``: what the other end runs."""

    talk = TALK

    def __init__(self, source, target):
        self.source = source
        self._pids = [(target, self._start(target, self.talk, "", "talk"))]
        self._await(target, "grep -q ready talk.log")
        self._pids.append((source, self._start(source, HOLD, target.address, "hold")))

    def _start(self, host, program, argument, name):
        done = host.run("sh", "-c", START, "sh", program, argument, name, timeout_s=20)
        return done.check().text

    def _await(self, host, condition):
        deadline = Deadline(condition, 20)
        while host.run("sh", "-c", condition, timeout_s=20).returncode != 0:
            deadline.check()
            threading.Event().wait(0.05)

    def say(self, size):
        """What becomes of so many bytes that are to come back."""
        self._send(size)
        self._await(self.source, "test -e said")
        return self.source.run("cat", "said", timeout_s=20).text

    def _send(self, size):
        self.source.run("sh", "-c", f"rm -f said; echo {size} > s && mv s say", timeout_s=20).check()

    def close(self):
        for host, pid in self._pids:
            host.run("kill", "-KILL", pid, timeout_s=20)


@contextmanager
def held(source, target):
    connection = Held(source, target)
    try:
        assert connection.say(10) == "passed"
        yield connection
    finally:
        connection.close()


def arm(cluster):
    """As a run does before nodes start: whoever is connected later is counted."""
    for node in cluster.nodes.values():
        CutAfter.arming.arm(node)


def as_before(cluster):
    assert all(packet_filter.own_lines(node.host) == () for node in cluster.nodes.values())
    assert (
        all_ask((node.host, cluster.nodes["b2"]) for name, node in cluster.nodes.items() if name != "b2")
        == ["here"] * 6
    )


def datagrams(cluster, *names):
    """Whether datagrams pass among these nodes."""
    seen = probe_matrix.measure({name: cluster.nodes[name].host for name in names}, 20)
    return seen.complete() == seen.received.keys()


@pytest.mark.parametrize(
    ("nemesis", "new", "small", "large"),
    [
        ("leader-reset@broker", "ConnectionRefusedError", "ConnectionResetError", None),
        ("leader-syn-drop@broker", "TimeoutError", "passed", "passed"),
        ("leader-refuse@broker", "ConnectionRefusedError", "passed", "passed"),
        ("leader-large-drop:bytes=700@broker", "here", "passed", "TimeoutError"),
        ("leader-cut-after:bytes=50000@broker", "here", "passed", "ConnectionResetError TimeoutError"),
        ("leader-block-port:port=7000@broker", "TimeoutError", "passed", "passed"),
        ("leader-block-port@broker", "TimeoutError", "passed", "passed"),
    ],
)
def test_what_connections_go_through(up, tmp_path, nemesis, new, small, large):
    cluster, client = up
    node = cluster.nodes
    if CutAfter.name in nemesis:
        arm(cluster)
    with held(node["b1"].host, node["b2"].host) as link, Run(up, tmp_path, nemesis, 600) as run:
        event = in_force(run)
        assert event.targets == ("b2",)
        assert ask(node["b1"].host, node["b2"]) == new
        assert link.say(20) == small
        if large:
            assert link.say(60_000) in large.split()
        assert ask(node["b1"].host, node["b3"]) == "here"
        assert ask(node["c1"].host, node["b2"]) == "here", "links of the named roles alone"
        assert ask(client, node["b2"]) == "here", "clients are never touched"
        assert datagrams(cluster, "b1", "b2", "b3")
        last = healed(run)
    assert "no rule left" in last.evidence.summary
    as_before(cluster)


def test_a_port_on_which_nobody_listens_is_no_fault(up, tmp_path):
    cluster, _ = up
    with Run(up, tmp_path, "leader-block-port:port=7009@broker", 4) as run:
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "broke", "heal", "healed"], events
    assert "nothing answers on the port even before the fault: b2" in events[1].note
    as_before(cluster)


@pytest.mark.parametrize(("nemesis", "lossy"), [("leader-loss-in", ("b1", "b2")), ("leader-loss-out", ("b2", "b1"))])
def test_loss_of_one_way(up, tmp_path, nemesis, lossy):
    cluster, _ = up
    with Run(up, tmp_path, f"{nemesis}:probability=0.6@broker", 600) as run:
        in_force(run)
        hosts = {name: cluster.nodes[name].host for name in ("b1", "b2", "b3")}
        arrived = dict.fromkeys((("b1", "b2"), ("b2", "b1"), ("b1", "b3")), 0)
        for _ in range(10):
            seen = probe_matrix.measure(hosts, 200, arrived)
            arrived = {link: count + seen.received[link] for link, count in arrived.items()}
        healed(run)
    least, most = probe_matrix.binomial_bounds(2000, 0.4)
    assert least <= arrived.pop(lossy) <= most
    assert set(arrived.values()) == {2000}
    as_before(cluster)


def test_connections_at_once_with_a_cut_and_loss_are_each_proven(up, tmp_path):
    steps = (
        Step(nemesis="leader-reset@broker", at=0.2, duration=30),
        Step(nemesis="all-loss@controller", at=4, duration=20),
        Step(nemesis="leader-partition@broker", at=10, duration=12),
    )
    plan = plan_steps(Steps(steps=steps), KINDS, SPECS, time_limit_s=60, seed=7, subjects=subjects_of(SPECS))
    with Run(up, tmp_path, plan, 0) as run:
        events = run.finish()
    for row in (1, 2, 3):
        own = [event for event in events if event.id == row]
        assert [event.stage for event in own] == ["inject", "active", "heal", "healed"], own
        assert all(event.evidence.proven for event in own if event.evidence), own
    as_before(up[0])
