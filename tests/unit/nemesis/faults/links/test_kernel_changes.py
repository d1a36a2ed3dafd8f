"""Changes in a host's kernel: what they are made of, what proves them, and the program that keeps one."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chaos.core.clock import Deadline
from cluster.network.connection_matrix import Tried
from nemesis.faults.connections import port_exhaustion
from nemesis.faults.links import kernel_change_program, mtu
from nemesis.faults.links.mtu import Sizes
from nemesis.faults.registry import faults
from nemesis.targets.grudge import all_links, links
from nemesis.targets.selectors import Selector

NODES = ("b1", "b2", "client")
EVERY = all_links(NODES)
OUT = frozenset(link for link in EVERY if link[0] == "b2")
BACK = frozenset(link[::-1] for link in OUT)
NONE: frozenset = frozenset()
WHOLE, NARROW, LOST = Sizes(3, 3, 3), Sizes(3, 0, 3), Sizes(3, 0, 0)
PASSED, NO_PORT = Tried("ok", 60_000, "ok"), Tried("EADDRNOTAVAIL", 0, "")


def sizes(**changes):
    seen = {link: NARROW if link in OUT else LOST if link in BACK else WHOLE for link in EVERY}
    return seen | {tuple(link.split("_")): one for link, one in changes.items()}


def test_a_small_mtu_is_proven_by_two_sizes():
    evidence = mtu.judge(sizes(), OUT, BACK, NONE)
    assert evidence.proven
    assert evidence.summary == (
        "2 of 2 links carried small packets, and large ones only in fragments,"
        " large ones to the targets got lost on 2 of 2, 2 of 2 others carried all"
    )
    assert mtu.judge(sizes(b1_b2=WHOLE), OUT, BACK, NONE).proven, "some interfaces take more than they send"
    assert mtu.judge(dict.fromkeys(EVERY, WHOLE), NONE, NONE, NONE).summary == "6 of 6 links carried all"


@pytest.mark.parametrize(
    "changes",
    [{"b2_b1": WHOLE}, {"b2_b1": LOST}, {"b2_b1": Sizes(0, 0, 0)}, {"b1_b2": Sizes(2, 0, 0)}, {"b1_client": NARROW}],
)
def test_sizes_that_went_otherwise_prove_nothing(changes):
    assert not mtu.judge(sizes(**changes), OUT, BACK, NONE).proven


def test_links_that_another_fault_hits_tell_nothing_of_sizes_or_ports():
    assert mtu.judge(sizes(b2_b1=WHOLE), OUT, BACK, frozenset({("b1", "b2")})).proven
    assert not mtu.judge(sizes(), OUT, BACK, EVERY).proven
    assert port_exhaustion.judge(connections(b2_b1=PASSED), OUT, frozenset({("b1", "b2")})).proven
    assert not port_exhaustion.judge(connections(), OUT, EVERY).proven


def connections(**changes):
    seen = {link: NO_PORT if link in OUT else PASSED for link in EVERY}
    return seen | {tuple(link.split("_")): one for link, one in changes.items()}


def test_exhausted_ports_are_proven_by_connections():
    evidence = port_exhaustion.judge(connections(), OUT, NONE)
    assert evidence.proven
    assert evidence.summary == "2 of 2 connections found no port, 4 of 4 others passed"
    for changes in ({"b2_b1": PASSED}, {"b2_b1": Tried("timeout", 0, "")}, {"b1_b2": NO_PORT}):
        assert not port_exhaustion.judge(connections(**changes), OUT, NONE).proven


def test_routes_and_hardware_addresses_are_of_one_way_among_nodes():
    for name in ("blackhole", "wrong-arp"):
        fault = faults()[name]
        assert links(fault.grudge(Selector.LEADER, ("b2",), ("b1", "b2", "b3"))) == {("b2", "b1"), ("b2", "b3")}
        assert links(fault.grudge(Selector.ALL, ("b1", "b2"), ("b1", "b2"))) == all_links(("b1", "b2"))
    for name in ("blackhole", "wrong-arp", "mtu", "port-exhaustion"):
        assert not faults()[name].in_all


def keep(folder: Path, put, back):
    orders = {"put": put, "back": back, "home": str(folder), "pid_file": str(folder / "kept.pid")}
    argv = [sys.executable, "-I", "-S", kernel_change_program.__file__, json.dumps(orders)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)


def gone(path: Path) -> None:
    deadline = Deadline(f"{path} to go", 20)
    while path.exists():
        deadline.check()
        time.sleep(0.02)


def test_a_kept_change_is_taken_back_when_it_is_asked_to(tmp_path):
    made = tmp_path / "made"
    assert keep(tmp_path, [["touch", str(made)]], [["rm", "-f", str(made)]]).stdout == "ready\n"
    assert made.exists()
    os.kill(int((tmp_path / "kept.pid").read_text()), 15)
    gone(made)


def test_a_change_that_fails_halfway_is_taken_back_at_once(tmp_path):
    made = tmp_path / "made"
    done = keep(tmp_path, [["touch", str(made)], ["ls", str(tmp_path / "nothing")]], [["rm", "-f", str(made)]])
    assert done.returncode == 1
    assert "nothing" in done.stderr
    assert not made.exists()
    assert not (tmp_path / "kept.pid").exists()


def test_a_kept_change_is_taken_back_when_the_heartbeats_are_gone(tmp_path):
    made = tmp_path / "made"
    (tmp_path / "heartbeat").write_text("1")
    keep(tmp_path, [["touch", str(made)]], [["rm", "-f", str(made)]])
    (tmp_path / "heartbeat").unlink()
    gone(made)
