"""Load of a processor on hosts: where the process may run, what it gets, and that nothing is left of it."""

import json

import pytest
from disk_nodes import fault, nodes_up
from host_support import BACKENDS
from test_hosts_nemesis import healed, in_force

from chaos.core.clock import Deadline
from cluster.nodes import process

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

# Wants a processor all the time, in a thread that begins later as well.
SERVER = b"""
import threading, time
def loop():
    while True:
        pass
def later():
    while True:
        threading.Thread(target=time.sleep, args=(0.2,)).start()
        time.sleep(0.1)
print("serving", flush=True)
threading.Thread(target=later, daemon=True).start()
loop()
"""
LOOK = """
import contextlib, json, os, sys, time
pid = int(sys.argv[1])
def ran():
    with open(f"/proc/{pid}/stat") as file:
        user, kernel = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(kernel)) / os.sysconf("SC_CLK_TCK")  # of threads that have ended too
def allowed(one):
    with open(f"/proc/{one}/status") as file:
        return next(line.split()[1] for line in file if line.startswith("Cpus_allowed_list"))
hogs = []
for one in os.listdir("/proc"):
    if one.isdigit():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{one}/cmdline") as file:
            if '"ho' + 'gs"' in file.read():
                hogs.append(allowed(one))
began, before = time.monotonic(), ran()
time.sleep(1)
share = (ran() - before) / (time.monotonic() - began)
print(json.dumps({"share": share, "allowed": allowed(pid), "beside": hogs}))
"""


def look(node):
    """What an independent program sees: the share of a processor that the process gets, and where it may run."""
    pid = process.state(node).pid
    done = node.host.run("python3", "-I", "-S", "-c", LOOK, str(pid), timeout_s=30)
    return json.loads(done.check().stdout)


@pytest.fixture(scope="module", params=BACKENDS)
def up(request, tmp_path_factory):
    with nodes_up(tmp_path_factory.mktemp("nodes"), SERVER, arming=None, backend=request.param) as (cluster, client):
        yield cluster, client


def test_a_process_gets_little_of_one_processor(up, tmp_path):
    node, other = up[0].nodes["b2"], up[0].nodes["b1"]
    before, others = look(node), look(other)["allowed"]
    with fault(up, tmp_path, "leader-cpu-load:hogs=9") as run:
        assert "another loop on processor" in in_force(run).evidence.summary
        seen = look(node)
        assert seen["allowed"].isdigit(), "one processor"
        assert seen["beside"].count(seen["allowed"]) == 9
        assert seen["share"] < 0.25
        assert look(other)["allowed"] == others
        healed(run)
    after = look(node)
    assert (after["allowed"], after["beside"]) == (before["allowed"], [])
    assert not [name for name in node.host.run("ls", "-a", node.host.home, timeout_s=20).text.split() if "cpu" in name]


def test_at_zero_nothing_happens_and_it_is_not_proven(up, tmp_path):
    node = up[0].nodes["b2"]
    before = look(node)["allowed"]
    with fault(up, tmp_path, "leader-cpu-load:hogs=0") as run:
        assert not run.await_stage("active").evidence.proven
        seen = look(node)
        assert (seen["allowed"], seen["beside"]) == (before, [])
        run.stop.set()
        assert run.finish()[-1].evidence.proven


def test_loops_end_with_their_program_and_the_fault_did_not_last(up, tmp_path):
    node = up[0].nodes["b2"]
    before = look(node)["allowed"]
    kill = 'kill -KILL $(cat "$1"/.cpu-load-*.pid)'
    with fault(up, tmp_path, "leader-cpu-load", 15) as run:
        in_force(run)
        node.host.run("sh", "-c", kill, "sh", node.host.home, timeout_s=20).check()
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"], events
    assert "has no loops beside it any more" in events[3].note
    assert events[4].evidence.proven
    seen = look(node)
    assert (seen["allowed"], seen["beside"]) == (before, [])


def test_loops_end_with_the_process(tmp_path):
    with nodes_up(tmp_path, SERVER, arming=None) as up, fault(up, tmp_path, "leader-cpu-load", 60) as run:
        in_force(run)
        node, other = up[0].nodes["b2"], up[0].nodes["b1"]
        process.kill(node)
        deadline = Deadline("the loops to end", 20)
        listing = "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[h]ogs'; exit 0"
        while node.host.run("sh", "-c", listing, timeout_s=20).text != "0":
            deadline.check()
        assert process.state(other).alive
