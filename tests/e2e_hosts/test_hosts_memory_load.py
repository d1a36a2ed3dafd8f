"""Memory that is filled on hosts: what /proc says of every process there, and that nothing is left of it."""

import json

import pytest
from disk_nodes import fault, nodes_up
from test_hosts_nemesis import healed, in_force

from cluster.nodes import process

pytestmark = pytest.mark.e2e

SERVER = b"""
import time
print("serving", flush=True)
while True:
    time.sleep(1)
"""
# The memory, the hard limit and who ends first, of each program on the host with over 50 MiB of its own.
LOOK = """
import json, os, sys
found = {}
for one in filter(str.isdigit, os.listdir("/proc")):
    try:
        pages = [line.split() for line in open(f"/proc/{one}/smaps_rollup")]
        limit = next(line for line in open(f"/proc/{one}/limits") if line.startswith("Max address space")).split()[-3:]
        bad = open(f"/proc/{one}/oom_score_adj").read().strip()
    except OSError:
        continue
    held = next((int(words[1]) // 1024 for words in pages if words[0] == "Anonymous:"), 0)
    if held > 50:
        found[one] = [held, int(limit[1]) // 2**20 if limit[1].isdigit() else None, bad]
print(json.dumps(found))
"""


def large(node):
    """Every program of much memory on the host: its memory in MiB, its hard limit in MiB, who ends first."""
    return list(json.loads(node.host.run("python3", "-I", "-S", "-c", LOOK, timeout_s=30).check().text).values())


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    with nodes_up(tmp_path_factory.mktemp("nodes"), SERVER, arming=None) as (cluster, client):
        yield cluster, client


def test_memory_is_filled_beside_the_process_and_given_back(up, tmp_path):
    node, other = up[0].nodes["b2"], up[0].nodes["b1"]
    assert large(node) == []
    with fault(up, tmp_path, "leader-memory-load:mib=300") as run:
        assert in_force(run).evidence.summary.startswith("b2 has 30")
        ((held, limit, first),) = large(node)
        assert 300 <= held < 320
        assert 300 <= limit < 400
        assert first == "1000"
        assert large(other) == []
        healed(run)
    assert large(node) == []
    assert process.state(node).alive
    listing = node.host.run("ls", "-a", node.host.home, timeout_s=20).text
    assert not [name for name in listing.split() if "memory" in name]


def test_at_zero_nothing_happens_and_it_is_not_proven(up, tmp_path):
    with fault(up, tmp_path, "leader-memory-load:mib=0") as run:
        assert not run.await_stage("active").evidence.proven
        assert large(up[0].nodes["b2"]) == []
        run.stop.set()
        assert run.finish()[-1].evidence.proven


def test_more_than_there_is_is_not_taken(up, tmp_path):
    node = up[0].nodes["b2"]
    with fault(up, tmp_path, "leader-memory-load:mib=100000") as run:
        assert "give fewer mib" in run.await_stage("broke").note
        run.stop.set()
        assert run.finish()[-1].evidence.proven
    assert large(node) == []
    assert process.state(node).alive


def test_memory_that_is_gone_early_did_not_last(up, tmp_path):
    node = up[0].nodes["b2"]
    kill = 'kill -KILL $(cat "$1"/.memory-load-*.pid)'
    with fault(up, tmp_path, "leader-memory-load:mib=100", 15) as run:
        in_force(run)
        node.host.run("sh", "-c", kill, "sh", node.host.home, timeout_s=20).check()
        events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "broke", "healed"], events
    assert "has no memory filled beside it any more" in events[3].note
    assert events[4].evidence.proven
