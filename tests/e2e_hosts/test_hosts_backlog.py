"""A full queue of new connections on hosts: who gets through, what the kernel counts, and the host as it was."""

import threading

import pytest
from test_hosts_connections import held
from test_hosts_nemesis import Run, ask, cluster_up, healed, in_force

from chaos.core.clock import Deadline
from cluster.nodes import process
from nemesis.faults.registry import faults

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

# Whatever ss and the kernel's counters say, and the files that are left in the home of the host.
STATE = """
cat /proc/sys/net/ipv4/tcp_syncookies /proc/sys/net/ipv4/tcp_max_syn_backlog
ss -Htan state syn-recv | wc -l
ls -A | grep -c backlog
true
"""
DROPPED = """
rows = [line.split() for line in open("/proc/net/netstat") if line.startswith("TcpExt")]
print(dict(zip(*rows))["TCPReqQFullDrop"])
"""


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    with cluster_up(tmp_path_factory.mktemp("nodes")) as (cluster, client):
        yield cluster, client


@pytest.fixture
def able(up):
    """The cluster, if its hosts can do it."""
    why = faults()["backlog"].obstacle(up[0].nodes["b2"].host)
    if why is not None:
        assert "run as root; a container needs --privileged" in why
        pytest.skip(why)
    return up


def state(host):
    return host.run("sh", "-c", STATE, timeout_s=20).check().text


def dropped(host):
    return int(host.run("python3", "-I", "-S", "-c", DROPPED, timeout_s=20).check().text)


def test_no_connection_begins_while_the_queue_is_full(able, tmp_path):
    cluster, client = able
    node = cluster.nodes
    b1, b2 = node["b1"].host, node["b2"].host
    before, others = state(b2), state(b1)
    with held(b2, b1) as out, held(b1, b2) as link, Run(able, tmp_path, "leader-backlog:port=7000@broker", 600) as run:
        evidence = in_force(run).evidence
        assert evidence.summary.startswith("7 of 7 connections to its ports never began, 56 of 56 connections passed")
        assert "half-open connections" in evidence.summary
        seen, count = state(b2).split(), dropped(b2)
        assert seen[0] == "0"
        assert int(seen[2]) > 1, "by ss"
        assert ask(b1, node["b2"]) == ask(client, node["b2"]) == "TimeoutError"
        assert dropped(b2) > count, "the kernel dropped these because the queue is full"
        assert ask(b2, node["b1"]) == ask(b1, node["b3"]) == "here"
        assert link.say(60_000) == out.say(60_000) == "passed", "what is there goes on"
        assert state(b1) == others
        healed(run)
    assert (state(b2), ask(b1, node["b2"]), ask(client, node["b2"])) == (before, "here", "here")


def test_at_zero_nothing_happens_and_it_is_not_proven(able, tmp_path):
    cluster, client = able
    b2 = cluster.nodes["b2"]
    before = state(b2.host)
    with Run(able, tmp_path, "leader-backlog:most=0@broker", 600) as run:
        assert not run.await_stage("active").evidence.proven
        assert (state(b2.host), ask(client, b2)) == (before, "here")
        run.stop.set()
        assert run.finish()[-1].evidence.proven


def test_a_queue_that_is_too_long_is_not_half_filled(able, tmp_path):
    cluster, client = able
    b2 = cluster.nodes["b2"]
    before = state(b2.host)
    with Run(able, tmp_path, "leader-backlog:most=10@broker", 600) as run:
        assert "give a larger most" in run.await_stage("broke").note
        run.stop.set()
        assert run.finish()[-1].evidence.proven
    assert (state(b2.host), ask(client, b2)) == (before, "here")


def test_a_queue_that_somebody_emptied_did_not_last(able, tmp_path):
    b2 = able[0].nodes["b2"]
    with Run(able, tmp_path, "leader-backlog@broker", 15) as run:
        in_force(run)
        b2.host.run("sh", "-c", "kill -KILL $(cat .backlog-*.filler)", timeout_s=20).check()
        deadline = Deadline("the queue to be empty", 10)
        while int(state(b2.host).split()[2]) > 0:
            deadline.check()
            threading.Event().wait(0.1)
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"], events
    assert "has 0 half-open connections" in events[3].note
    assert events[4].evidence.proven
    assert process.state(b2).alive
    assert ask(able[1], b2) == "here"
