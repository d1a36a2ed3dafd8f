"""A low priority on hosts: how long the process runs and waits by the kernel, and that it runs again as it did."""

import json
import os

import pytest
from disk_nodes import fault, nodes_up
from test_hosts_cpu_load import SERVER
from test_hosts_nemesis import healed, in_force

from cluster.nodes import process
from nemesis.faults.registry import faults

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

# How long all threads of a process ran and waited in two seconds, and how nice they and their session are.
LOOK = """
import json, os, sys, time
pid = int(sys.argv[1])
def times():
    rows = [open(f"/proc/{pid}/task/{one}/schedstat").read().split() for one in os.listdir(f"/proc/{pid}/task")[:1]]
    return [sum(int(row[i]) for row in rows) / 1e9 for i in (0, 1)]
def nice(one):
    return int(open(f"/proc/{pid}/task/{one}/stat").read().rpartition(")")[2].split()[16])
before = times()
time.sleep(2)
now = times()
try:
    session = open(f"/proc/{pid}/autogroup").read().split()[-1]
except OSError:
    session = None
print(json.dumps({"ran": now[0] - before[0], "waited": now[1] - before[1], "nice": nice(pid), "session": session}))
"""


def look(node):
    pid = process.state(node).pid
    return json.loads(node.host.run("python3", "-I", "-S", "-c", LOOK, str(pid), timeout_s=30).check().text)


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    with nodes_up(tmp_path_factory.mktemp("nodes"), SERVER, arming=None) as (cluster, client):
        yield cluster, client


@pytest.fixture
def able(up):
    """The cluster, if its hosts can raise a priority again."""
    why = faults()["priority"].obstacle(up[0].nodes["b2"].host)
    if why is not None:
        assert "sched_autogroup_enabled" in why
        pytest.skip(why)
    if os.getpriority(os.PRIO_PROCESS, 0) > 10:
        pytest.skip("run the tests with the usual priority: nothing can be lowered here")
    return up


def test_a_process_waits_for_what_others_leave(able, tmp_path):
    node, other = able[0].nodes["b2"], able[0].nodes["b1"]
    before, others = look(node), look(other)
    with fault(able, tmp_path, "leader-priority:nice=19,hogs=2") as run:
        assert "one of nice 19 gets" in in_force(run).evidence.summary
        seen = look(node)
        assert seen["waited"] > 10 * seen["ran"], seen
        assert "19" in (str(seen["nice"]), seen["session"])
        now = look(other)
        assert (now["nice"], now["session"]) == (others["nice"], others["session"])
        healed(run)
    after = look(node)
    assert (after["nice"], after["session"]) == (before["nice"], before["session"])
    assert after["ran"] * seen["waited"] > 3 * seen["ran"] * after["waited"], (seen, after)
    assert not [name for name in node.host.run("ls", "-a", node.host.home, timeout_s=20).text.split() if "prio" in name]


def test_at_zero_nothing_happens_and_it_is_not_proven(able, tmp_path):
    node = able[0].nodes["b2"]
    before = look(node)
    with fault(able, tmp_path, "leader-priority:nice=0") as run:
        assert not run.await_stage("active").evidence.proven
        seen = look(node)
        assert (seen["nice"], seen["session"]) == (before["nice"], before["session"])
        run.stop.set()
        assert run.finish()[-1].evidence.proven


def test_a_priority_that_somebody_raised_did_not_last(able, tmp_path):
    node = able[0].nodes["b2"]
    raised = "import os, sys; [os.setpriority(0, int(one), 0) for one in os.listdir(f'/proc/{sys.argv[1]}/task')]"
    with fault(able, tmp_path, "leader-priority", 20) as run:
        in_force(run)
        pid = str(process.state(node).pid)
        node.host.run("python3", "-I", "-S", "-c", raised, pid, timeout_s=20).check()
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"], events
    assert "has another priority" in events[3].note
    assert events[4].evidence.proven
