"""What tried connections prove of a fault, without any host."""

import pytest

from cluster.network.connection_matrix import Tried
from cluster.network.packet_filter import Counter, Rule, parse_listing, program
from nemesis.faults.connections.block_port import BlockPort
from nemesis.faults.connections.connection_fault import judge
from nemesis.faults.connections.cut_after import CutAfter
from nemesis.faults.connections.large_drop import LargeDrop
from nemesis.faults.connections.reset import Reset
from nemesis.faults.connections.syn_drop import SynDrop
from nemesis.faults.links.loss_in import LossIn
from nemesis.faults.links.loss_out import LossOut
from nemesis.targets.grudge import all_links, links, links_touching
from nemesis.targets.selectors import Selector

NODES = ("b1", "b2", "b3")
HIT = links(links_touching(["b2"], NODES))
NONE: frozenset = frozenset()
PASSED, REFUSED = Tried("ok", 60_000, "ok"), Tried("refused", 0, "")
SILENT, STALLED, BROKEN = Tried("timeout", 0, ""), Tried("ok", 16, "timeout"), Tried("ok", 24_000, "reset")


def judged(hit=HIT, disturbed=NONE, **changes):
    seen = {link: REFUSED if link in hit else PASSED for link in all_links((*NODES, "client"))}
    seen |= {tuple(link.split("_")): tried for link, tried in changes.items()}
    return judge(seen, hit, disturbed, lambda one: one.began == "refused", lambda one: one == PASSED, "were refused")


def test_connections_fail_over_the_links_that_are_hit_and_pass_elsewhere():
    evidence = judged()
    assert evidence.proven
    assert evidence.summary == "4 of 4 connections were refused, 8 of 8 others passed"
    assert evidence.details["hit"] == dict.fromkeys(("b1>b2", "b2>b1", "b2>b3", "b3>b2"), "refused")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"b1_b2": PASSED}, "3 of 4 connections were refused, 8 of 8 others passed, wrong: b1→b2 passed"),
        ({"b1_b2": SILENT}, "wrong: b1→b2 timeout"),
        ({"b1_b3": REFUSED}, "7 of 8 others passed, wrong: b1→b3 refused"),
        ({"client_b2": BROKEN}, "wrong: client→b2 reset after 24000 bytes"),
    ],
)
def test_a_connection_that_went_otherwise_proves_nothing(changes, said):
    evidence = judged(**changes)
    assert not evidence.proven
    assert said in evidence.summary


def test_links_that_another_fault_hits_tell_nothing_whichever_way():
    assert judged(disturbed=frozenset({("b2", "b1")}), b1_b2=SILENT, b2_b1=SILENT).proven
    assert not judged(disturbed=HIT).proven, "nothing is left to tell of it"


def test_healed_means_that_every_connection_passes():
    assert judged(hit=NONE).summary == "12 of 12 connections passed"
    assert not judged(hit=NONE, b1_b2=REFUSED).proven


@pytest.mark.parametrize(
    ("fault", "own"),
    [
        (Reset, {REFUSED}),
        (SynDrop, {SILENT}),
        (BlockPort, {SILENT}),
        (LargeDrop, {STALLED}),
        (CutAfter, {STALLED, BROKEN}),
    ],
)
def test_each_fault_knows_its_own_connections(fault, own):
    every = {PASSED, REFUSED, SILENT, STALLED, BROKEN, Tried("ok", 0, "timeout"), Tried("EHOSTUNREACH", 0, "")}
    assert {one for one in every if fault.failed(object.__new__(fault), one)} == own


def test_loss_of_one_way_is_in_that_way_alone():
    assert links(LossIn.grudge(Selector.LEADER, ("b2",), NODES)) == {("b1", "b2"), ("b3", "b2")}
    assert links(LossOut.grudge(Selector.LEADER, ("b2",), NODES)) == {("b2", "b1"), ("b2", "b3")}
    assert links(LossOut.grudge(Selector.ALL, NODES, NODES)) == all_links(NODES)


MATCHES = (
    "-p tcp -m tcp ! --tcp-flags RST RST",
    "-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN",
    "-m length --length 1000:65535",
    "-p tcp -m connbytes --connbytes 100000 --connbytes-mode bytes --connbytes-dir both -m tcp ! --tcp-flags RST RST",
    "-m mark ! --mark 0x5eed",
)


@pytest.mark.parametrize("match", MATCHES)
def test_a_rule_for_a_part_of_the_traffic_is_read_as_it_was_written(match):
    for rule in (Rule("198.18.0.10", match=match), Rule("198.18.0.10", probability=0.5, match=match, reset=True)):
        (line,) = [one for one in program("CHAOS-x", [rule]).splitlines() if "198.18" in one]
        before, _, after = line.partition(" -j ")
        assert parse_listing(f"{before} -c 3 180 -j {after}", "CHAOS-x").counters == (Counter(rule, 3, 180),)
