"""A full table of connections on hosts: what is known goes on, what is new does not, and the host as it was."""

import threading
from contextlib import contextmanager

import pytest
from test_hosts_connections import held
from test_hosts_nemesis import Run, ask, cluster_up, healed, in_force

from chaos.core.clock import Deadline
from cluster.network import probe_matrix
from nemesis.faults.registry import faults

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

STATE = """
iptables -S | grep -c chaos-
grep -c 'src=240[.]' /proc/net/nf_conntrack
ls -A | grep -c conntrack
true
"""
# How many packets the kernel has dropped because there was no entry for them, on all processors.
DROPPED = """
names, *rows = [line.split() for line in open("/proc/net/stat/nf_conntrack")]
print(sum(int(row[names.index("drop")], 16) for row in rows))
"""


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    with cluster_up(tmp_path_factory.mktemp("nodes")) as (cluster, client):
        yield cluster, client


@pytest.fixture
def able(up):
    """The cluster, if its hosts can do it."""
    why = faults()["conntrack"].obstacle(up[0].nodes["b2"].host)
    if why is not None:
        assert "nf_conntrack" in why
        pytest.skip(why)
    return up


def state(host):
    return host.run("sh", "-c", STATE, timeout_s=20).check().text.split()


def dropped(host):
    return int(host.run("python3", "-I", "-S", "-c", DROPPED, timeout_s=20).check().text)


@contextmanager
def busy(link):
    """A connection that carries bytes all the time; gives what waits until it has done so some more times."""
    said, ended = [], threading.Event()

    def talk():
        while not ended.is_set():
            said.append(link.say(20))

    def passed(times):
        deadline, begin = Deadline("a busy connection", 30), len(said)
        while len(said) < begin + times:
            deadline.check(str(said[-3:]))
            threading.Event().wait(0.05)
        assert set(said) == {"passed"}

    thread = threading.Thread(target=talk)
    thread.start()
    try:
        passed(1)
        yield passed
    finally:
        ended.set()
        thread.join(60)


def test_what_the_kernel_does_not_know_is_dropped(able, tmp_path):
    cluster, client = able
    node = cluster.nodes
    b1, b2 = node["b1"].host, node["b2"].host
    with held(b2, b1) as link, busy(link) as passed, Run(able, tmp_path, "leader-conntrack@broker", 600) as run:
        evidence = in_force(run).evidence
        assert evidence.summary.startswith("14 of 14 connections never began, 42 of 42 others passed")
        assert "entries in its table of connections" in evidence.summary
        count = dropped(b2)
        assert ask(b1, node["b2"]) == ask(client, node["b2"]) == ask(b2, node["b1"]) == "TimeoutError"
        assert dropped(b2) > count, "by the kernel"
        assert probe_matrix.measure({"b1": b1, "b2": b2}, 5).received == {("b1", "b2"): 0, ("b2", "b1"): 0}
        assert ask(b1, node["b3"]) == ask(client, node["b1"]) == "here", "tables are of one host each"
        assert state(b1) == ["0", "0", "0"]
        passed(3)  # the kernel knew this connection before the table was full
        healed(run)
    assert (state(b2), ask(b1, node["b2"]), ask(b2, node["b1"])) == (["0", "0", "0"], "here", "here")


def test_at_zero_nothing_happens_and_it_is_not_proven(able, tmp_path):
    cluster, client = able
    b2 = cluster.nodes["b2"]
    with Run(able, tmp_path, "leader-conntrack:most=0@broker", 600) as run:
        assert not run.await_stage("active").evidence.proven
        assert (state(b2.host), ask(client, b2)) == (["0", "0", "0"], "here")
        run.stop.set()
        assert run.finish()[-1].evidence.proven


def test_a_table_that_is_too_long_is_not_half_filled(able, tmp_path):
    cluster, client = able
    b2 = cluster.nodes["b2"]
    with Run(able, tmp_path, "leader-conntrack:most=1000@broker", 600) as run:
        assert "give a larger most" in run.await_stage("broke").note
        run.stop.set()
        assert run.finish()[-1].evidence.proven
    assert (state(b2.host), ask(client, b2)) == (["0", "0", "0"], "here")


def test_a_table_that_somebody_emptied_did_not_last(able, tmp_path):
    b2 = able[0].nodes["b2"]
    undo = 'kill -KILL $(cat .conntrack-*.filler); python3 -I -S .conntrack-*.py "$(cat .conntrack-*.back)"'
    with Run(able, tmp_path, "leader-conntrack@broker", 20) as run:
        in_force(run)
        b2.host.run("sh", "-c", undo, timeout_s=20).check()
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"], events
    assert "entries in its table of connections" in events[3].note
    assert events[4].evidence.proven
    assert (state(b2.host), ask(able[1], b2)) == (["0", "0", "0"], "here")
