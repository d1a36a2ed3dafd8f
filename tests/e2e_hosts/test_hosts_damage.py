"""Damaged files on hosts: what is changed and what is not, and how a node comes back that will not have them."""

import pytest
from disk_nodes import fault, listing, nodes_up
from test_hosts_nemesis import healed, in_force

from cluster.nodes import process

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

# Three files: one grows, one is laid out with zeros, one never changes. Ends if the last is not as it should be.
SERVER = b"""
import os, sys, time
os.makedirs("data/inner", exist_ok=True)
if not os.path.exists("data/inner/fixed"):
    with open("data/inner/fixed", "wb") as file:
        file.write(b"0123456789" * 1000)
        os.fsync(file.fileno())
    with open("data/laid-out", "wb") as file:
        file.truncate(1 << 30)
        file.write(b"head" * 100)
fixed = open("data/inner/fixed", "rb").read()
if STRICT and fixed != b"0123456789" * 1000:
    sys.exit("damaged")
log = open("data/log", "ab", buffering=0)
print("serving", flush=True)
for number in range(1 << 30):
    log.write(b"%08d" % number)
    time.sleep(0.01)
"""


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    with nodes_up(tmp_path_factory.mktemp("nodes"), b"STRICT = False" + SERVER, arming=None) as (cluster, client):
        yield cluster, client


def held(node):
    """The contents of its files, but for the gigabyte of zeros at the end of the one that is laid out."""
    found = listing(node, "laid-out")
    head = node.host.run("head", "-c", "400", f"{node.host.home}/data/laid-out", timeout_s=20).stdout
    return found | {"laid-out": head}


def difference(before, after):
    """How many bits are turned, file by file."""
    return {
        name: sum((a ^ b).bit_count() for a, b in zip(before[name], after[name], strict=True))
        for name in before
        if before[name] != after[name]
    }


def test_bits_are_turned_and_nothing_else(up, tmp_path):
    cluster, _ = up
    node, other = cluster.nodes["b2"], process.state(cluster.nodes["b1"])
    before = held(node)
    with fault(up, tmp_path, "leader-bit-flip:bits=5") as run:
        assert "5 bits turned in " in in_force(run).evidence.summary
        after = held(node)
        before["log"], grown = after["log"], before["log"]
        turned = difference(before, after)
        turned["log"] = sum((a ^ b).bit_count() for a, b in zip(grown, after["log"], strict=False))
        assert sum(turned.values()) <= 5
        healed(run)
    assert process.state(node).alive
    assert process.state(cluster.nodes["b1"]) == other
    assert node.host.run("sh", "-c", f"ls -a {node.host.home} | grep -c damage", timeout_s=10).text == "0"


def test_no_bit_at_zero(up, tmp_path):
    _ = up
    with fault(up, tmp_path, "leader-bit-flip:bits=0") as run:
        event = run.await_stage("active")
        assert not event.evidence.proven
        assert "0 bits turned in 0 files; 0 of 3 files are not as before" in event.evidence.summary
        run.stop.set()
        assert run.finish()[-1].evidence.proven


def test_the_end_of_the_last_file_is_cut_off(up, tmp_path):
    cluster, _ = up
    node = cluster.nodes["b2"]
    with fault(up, tmp_path, "leader-cut-file:bytes=20") as run:
        event = in_force(run)
        (copy,) = node.host.run("sh", "-c", f"echo {node.host.home}/.damage-*/data/log", timeout_s=10).text.split()
        was = node.host.run("cat", copy, timeout_s=10).stdout
        assert held(node)["log"] == was[:-20]
        assert f"log cut from {len(was):,} to {len(was) - 20:,} bytes; 1 of 3 files" in event.evidence.summary
        healed(run)


def test_an_empty_disk_has_nothing_and_the_node_begins_anew(up, tmp_path):
    cluster, _ = up
    node = cluster.nodes["b2"]
    with fault(up, tmp_path, "leader-empty-disk") as run:
        assert "its disk emptied; 3 of 3 files are not as before" in in_force(run).evidence.summary
        assert node.host.run("ls", "-A", f"{node.host.home}/data", timeout_s=10).text == ""
        healed(run)
    assert held(node)["log"][:8] == b"00000000"


def test_a_stale_disk_is_one_of_some_seconds_ago(up, tmp_path):
    cluster, _ = up
    node = cluster.nodes["b2"]
    with fault(up, tmp_path, "leader-stale-disk:age_s=1") as run:
        assert "set back by 1 s; 1 of 3 files are not as before" in in_force(run).evidence.summary
        count = "for at in .damage-*; do case $at in *-old) ;; *) cat $at/data/log | wc -c;; esac; done"
        killed_with = node.host.run("sh", "-c", f"cd {node.host.home} && {count}", timeout_s=10).text
        assert 0 < len(held(node)["log"]) < int(killed_with)
        healed(run)


def test_a_node_that_refuses_damaged_files_gets_its_own_back(tmp_path):
    with nodes_up(tmp_path, b"STRICT = True" + SERVER, arming=None) as up:
        node = up[0].nodes["b2"]
        with fault(up, tmp_path, "leader-bit-flip:bits=1000") as run:
            in_force(run)
            assert held(node)["inner/fixed"] != b"0123456789" * 1000
            assert "would not start on damaged files and got its own back" in healed(run).evidence.summary
        assert held(node)["inner/fixed"] == b"0123456789" * 1000
