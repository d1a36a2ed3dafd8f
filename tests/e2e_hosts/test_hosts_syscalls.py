"""Faults of system calls on hosts: what they do to programs that know of no fault, and that nothing of them is left."""

import errno
import json

import pytest
from disk_nodes import RUN, fault, nodes_up
from host_support import BACKENDS
from test_hosts_nemesis import healed, in_force

from chaos.core.clock import Deadline
from cluster.nodes import process
from nemesis.faults.syscalls.supervised_start import PROGRAM, Supervised, ask, socket_of

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

# Syncs, renames and connects in turn and prints what became of each as JSON lines, whatever it was.
SERVER = b"""
import json, os, socket, time
os.chdir("data")
held = os.open("held", os.O_RDWR | os.O_CREAT)
def rename():
    open("old", "w").close()
    os.rename("old", "new")
kinds = {"fsync": lambda: os.fsync(held), "fdatasync": lambda: os.fdatasync(held), "rename": rename}
print("serving", flush=True)
while True:
    for word, action in kinds.items():
        began = time.monotonic()
        try:
            action()
            said = 0
        except OSError as error:
            said = error.errno
        print(json.dumps([word, said, time.monotonic() - began]), flush=True)
    time.sleep(0.01)
"""
FRAGILE = SERVER.replace(b"said = error.errno", b"raise")
# Starts a thread in turn and prints what became of it.
SPAWNS = b"""
import errno, json, threading, time
print("serving", flush=True)
while True:
    said = 0
    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        said = errno.EAGAIN
    print(json.dumps(["thread", said, 0]), flush=True)
    time.sleep(0.01)
"""
CALLS = Supervised(frozenset({"fsync", "fdatasync", "rename"}))


@pytest.fixture(scope="module", params=BACKENDS)
def up(request, tmp_path_factory):
    with nodes_up(tmp_path_factory.mktemp("nodes"), SERVER, arming=CALLS, backend=request.param) as (cluster, client):
        yield cluster, client


def lines(node, begun):
    """What the node's program has printed from that line of its log on."""
    text = node.host.run("tail", "-n", f"+{begun + 1}", f"{node.host.home}/{process.STDOUT}", timeout_s=20).text
    return [json.loads(line) for line in text.splitlines()[:-1] if line.startswith("[")]


def length(node):
    return len(node.host.run("cat", f"{node.host.home}/{process.STDOUT}", timeout_s=20).text.splitlines())


def next_calls(node, count=30):
    """What became of calls that the node's program makes from now on, by their names."""
    begun, deadline = length(node), Deadline("the node to make its calls", 30)
    while len(found := lines(node, begun)) < 3 * count + 1:
        deadline.check()
        Deadline("a moment", 0.05).wait()
    out = {}
    for word, said, took_s in found[1:]:  # the first may have begun before
        out.setdefault(word, []).append((said, took_s))
    return out


def errors(node, word, count=30):
    return [said for said, _ in next_calls(node, count)[word]]


def test_calls_fail_with_the_errno_and_others_do_not(up, tmp_path):
    cluster, _ = up
    hit, other = cluster.nodes["b2"], cluster.nodes["b1"]
    with fault(up, tmp_path, "leader-syscall-error:call=fdatasync,errno=ENOSPC") as run:
        event = in_force(run)
        assert "100 of 100 probes of fdatasync fail with ENOSPC and 0 beside the supervisor" in event.evidence.summary
        assert event.evidence.details["probes"] == {"b2": {"fdatasync": {"hit": 100, "of": 100, "beside": 0}}}
        seen = next_calls(hit)
        assert {said for said, _ in seen["fdatasync"]} == {errno.ENOSPC}
        assert {said for word in ("fsync", "rename") for said, _ in seen[word]} == {0}
        assert set(errors(other, "fdatasync")) == {0}
        healed(run)
    assert set(errors(hit, "fdatasync")) == {0}


def test_every_third_fails_and_no_other(up, tmp_path):
    hit = up[0].nodes["b2"]
    with fault(up, tmp_path, "leader-syscall-error:call=fsync,every=3") as run:
        in_force(run)
        said = errors(hit, "fsync")
        first = said.index(errno.EIO)
        assert [one == errno.EIO for one in said] == [(at - first) % 3 == 0 for at in range(len(said))]
        healed(run)


def test_a_share_fails(up, tmp_path):
    hit = up[0].nodes["b2"]
    with fault(up, tmp_path, "leader-syscall-error:call=rename,share=0.3") as run:
        in_force(run)
        said = errors(hit, "rename", 100)
        assert set(said) == {0, errno.EIO}
        assert 10 <= said.count(errno.EIO) <= 50
        healed(run)
    assert set(errors(hit, "rename")) == {0}


def test_calls_wait_as_long_as_was_asked_for(up, tmp_path):
    hit, other = up[0].nodes["b2"], up[0].nodes["b1"]
    with fault(up, tmp_path, "leader-syscall-delay:call=fdatasync,delay_ms=150") as run:
        assert "10 of 10 probes of fdatasync take 150 ms or longer" in in_force(run).evidence.summary
        seen = next_calls(hit, 5)
        assert all(took_s >= 0.15 for _, took_s in seen["fdatasync"])
        assert {said for said, _ in seen["fdatasync"]} == {0}, "they are done, later"
        assert min(took_s for _, took_s in seen["fsync"]) < 0.15
        assert min(took_s for _, took_s in next_calls(other, 5)["fdatasync"]) < 0.15
        healed(run)
    assert min(took_s for _, took_s in next_calls(hit, 5)["fdatasync"]) < 0.15


def test_what_waits_goes_on_at_the_end(up, tmp_path):
    hit = up[0].nodes["b2"]
    with fault(up, tmp_path, "leader-syscall-delay:call=fdatasync,delay_ms=600000") as run:
        assert "10 of 10 probes of fdatasync take 1000 ms or longer" in in_force(run).evidence.summary
        before = length(hit)
        Deadline("a moment", 0.5).wait()
        assert length(hit) == before, "its only thread waits"
        healed(run)
    next_calls(hit, 5)


@pytest.mark.parametrize("nemesis", ["syscall-error", "syscall-delay"])
def test_at_zero_nothing_happens_and_it_is_not_proven(nemesis, up, tmp_path):
    hit = up[0].nodes["b2"]
    with fault(up, tmp_path, f"leader-{nemesis}:share=0") as run:
        assert not run.await_stage("active").evidence.proven
        assert ask(hit.host, "tell", "0")["rules"] == "0"
        assert set(errors(hit, "fsync")) == {0}
        run.stop.set()
        assert run.finish()[-1].evidence.proven


def test_a_process_gets_no_new_threads(tmp_path):
    with nodes_up(tmp_path, SPAWNS, arming=Supervised(frozenset({"clone"}))) as up:
        hit, other = up[0].nodes["b2"], up[0].nodes["b1"]
        assert set(errors(hit, "thread")) == {0}
        with fault(up, tmp_path, "leader-syscall-error:call=clone,errno=EAGAIN") as run:
            in_force(run)
            assert set(errors(hit, "thread")) == {errno.EAGAIN}
            assert set(errors(other, "thread")) == {0}
            healed(run)
        assert set(errors(hit, "thread")) == {0}


def test_a_node_that_makes_no_such_call_was_not_hit(tmp_path):
    idle = b"import time\nprint('serving', flush=True)\ntime.sleep(1000)\n"
    with nodes_up(tmp_path, idle, arming=CALLS) as up, fault(up, tmp_path, "leader-syscall-error", 12) as run:
        in_force(run)
        events = run.finish()
        assert "its own process made 0 of these calls, 0 were hit" in events[3].note, events
        assert events[-1].evidence.proven


def test_a_node_without_a_supervisor_is_refused(tmp_path):
    with nodes_up(tmp_path, SERVER, arming=None) as up, fault(up, tmp_path, "leader-syscall-error", 60) as run:
        note = run.await_stage("broke").note
        assert "only those are that chaos run has started" in note or "No such file" in note, note


def test_a_process_that_ended_by_it_is_started_again_under_the_supervisor(tmp_path):
    with nodes_up(tmp_path, FRAGILE, arming=CALLS) as up:
        hit = up[0].nodes["b2"]
        for again in ("first", "second"):
            (tmp_path / again).mkdir()
            with fault(up, tmp_path / again, "leader-syscall-error") as run:
                in_force(run)
                deadline = Deadline("the process to end by the error", 20)
                while process.state(hit).alive:
                    deadline.check()
                assert "its process had ended and serves after" in healed(run).evidence.summary
            assert process.state(hit).alive


def test_a_killed_supervisor_is_no_proof(tmp_path):
    with nodes_up(tmp_path, SERVER, arming=CALLS) as up:
        hit = up[0].nodes["b2"]
        with fault(up, tmp_path, "leader-syscall-error", 12) as run:
            in_force(run)
            ask(hit.host, "quit")
            events = run.finish()
        assert any(event.stage == "broke" and "supervisor is gone" in event.note for event in events), events
        assert not events[-1].evidence.proven
        process.kill(hit)
        process.start(hit, RUN)
        process.await_ready(hit, Deadline("b2", 30))
        assert set(errors(hit, "fsync")) == {0}


def test_a_process_that_waits_can_be_killed_and_nothing_outlives_the_node(tmp_path):
    with nodes_up(tmp_path, SERVER, arming=CALLS) as up:
        hit = up[0].nodes["b2"]
        with fault(up, tmp_path, "leader-syscall-delay:delay_ms=600000") as run:
            in_force(run)
            assert process.kill(hit).gone
            healed(run)
        process.kill(hit)
        CALLS.disarm(hit)
        assert ask(hit.host, "tell", "0") is None
        listed = hit.host.run("sh", "-c", "cat /proc/[0-9]*/comm", timeout_s=20).text.split()
        assert not [name for name in listed if "supervisor" in name]


def test_a_filter_asks_for_its_calls_and_for_no_other(up):
    host = up[0].nodes["b1"].host
    argv = (PROGRAM.path_in(host.home), "run", socket_of(host.home), "probe", "fsync", "sed", "-n", "/^Seccomp:/p")
    assert host.run(*argv, "/proc/self/status", timeout_s=20).text.split() == ["Seccomp:", "2"]
    assert ask(host, "tell", "0")["rules"] == "0"
