"""Exchanged disks on hosts: each node has what another had, and one that will not have it gets its own back."""

import pytest
from disk_nodes import fault, listing, nodes_up
from test_hosts_nemesis import healed, in_force

from cluster.nodes import process

pytestmark = pytest.mark.e2e

# Writes a name of its own and a file of zeros with something in the middle, and goes on with what is there.
SERVER = b"""
import os, sys, time, uuid
os.makedirs("data/inner", exist_ok=True)
if not os.path.exists("data/inner/name"):
    with open("data/inner/name", "w") as file:
        file.write(uuid.uuid4().hex)
    with open("data/laid-out", "wb") as file:
        file.truncate(1 << 22)
        file.seek(1 << 21)
        file.write(os.urandom(10))
own = open("data/inner/name").read()
if os.path.exists("own") and open("own").read() != own:
    if STRICT:
        sys.exit("the disk of another")
else:
    open("own", "w").write(own)
print("serving", flush=True)
while True:
    time.sleep(1)
"""


def names(cluster):
    """What the nodes' disks say whose they are, and the place of what the file of zeros has in it."""
    held = {name: listing(node) for name, node in cluster.items()}
    return {name: (files["inner/name"], files["laid-out"].strip(b"\0")) for name, files in held.items()}


def left(node):
    return node.host.run("sh", "-c", f"ls -a {node.host.home} | grep -c damage", timeout_s=20).text


@pytest.mark.parametrize("strict", [False, True])
def test_each_has_the_disk_of_the_next(tmp_path, strict):
    with nodes_up(tmp_path, b"STRICT = %s" % str(strict).encode() + SERVER, arming=None) as up:
        cluster = up[0].nodes
        before = names(cluster)
        assert len(set(before.values())) == 3
        with fault(up, tmp_path, "all-swap-disks") as run:
            summary = in_force(run).evidence.summary
            assert "b1 pid" in summary
            assert "it has the disk of b2; 2 of 2 files are not as before" in summary
            swapped = {"b1": before["b2"], "b2": before["b3"], "b3": before["b1"]}
            assert names(cluster) == swapped
            event = healed(run)
        assert names(cluster) == (before if strict else swapped)
        assert ("got its own back" in event.evidence.summary) == strict
        assert all(process.state(node).alive and left(node) == "0" for node in cluster.values())


def test_one_disk_is_not_exchanged(tmp_path):
    with nodes_up(tmp_path, b"STRICT = False" + SERVER, arming=None) as up:
        before, states = names(up[0].nodes), process.state(up[0].nodes["b2"])
        with fault(up, tmp_path, "fixed-swap-disks", fault_nodes=("b2",)) as run:
            assert "two nodes of one kind at least" in run.await_stage("broke").note
            run.stop.set()
            run.finish()
        assert (names(up[0].nodes), process.state(up[0].nodes["b2"])) == (before, states)
