"""What counts and states prove, and in which words; each rule has a case that must not pass."""

import pytest

from cluster.network.packet_filter import Counter, Held, Rule
from nemesis.proof import evidence
from nemesis.targets.grudge import all_links, complement, components, links

NODES = ("b1", "b2", "b3", "c1", "c2", "c3")
CUT = components(("b1", "c1", "c2"), ("b2", "b3", "c3"))
ACROSS, INSIDE = links(CUT), complement(CUT, NODES)
OTHERS = all_links((*NODES, "n1", "client")) - ACROSS - INSIDE
N = 20


def counts(cut=ACROSS, sent=N, **changes):
    received = {link: 0 if link in cut else sent for link in ACROSS | INSIDE | OTHERS}
    return received | {tuple(link.split("_")): count for link, count in changes.items()}


def test_a_cut_that_is_whole():
    judged = evidence.cut(ACROSS, INSIDE, OTHERS, counts(), N)
    assert judged.evidence.proven
    assert not judged.look_again
    assert judged.evidence.summary == (
        "18 of 18 links across the cut dropped all 20 probes, 12 of 12 inside passed, 26 of 26 others passed"
    )
    assert judged.evidence.details["received"]["b1>b2"] == 0
    assert len(judged.evidence.details["received"]) == 56


@pytest.mark.parametrize(
    ("changes", "again", "said"),
    [
        ({"b1_b2": 1}, False, "17 of 18 links across"),
        ({"b1_b2": 1, "n1_b1": 3}, False, "wrong: b1→b2 1 of 20, n1→b1 3 of 20"),
        ({"b1_c1": 19}, True, "11 of 12 inside passed"),
        ({"client_b1": 0}, True, "25 of 26 others passed"),
    ],
)
def test_a_cut_that_leaks_or_takes_too_much_is_unproven(changes, again, said):
    judged = evidence.cut(ACROSS, INSIDE, OTHERS, counts(**changes), N)
    assert not judged.evidence.proven
    assert judged.look_again == again, "only a probe that is missing where it should pass deserves another look"
    assert said in judged.evidence.summary


def test_a_link_that_was_not_measured_proves_nothing():
    received = counts()
    del received["b1", "c1"]
    assert not evidence.cut(ACROSS, INSIDE, OTHERS, received, N).evidence.proven
    assert not evidence.cut(frozenset(), INSIDE, OTHERS, counts(), N).evidence.proven


def test_nothing_was_cut_at_all():
    judged = evidence.cut(ACROSS, INSIDE, OTHERS, counts(cut=()), N)
    assert not judged.evidence.proven
    assert judged.evidence.summary.startswith("0 of 18 links across the cut dropped all 20 probes, ")
    assert judged.evidence.summary.endswith(" of 20 and 14 more")


def lossy(arriving, **changes):
    received = counts(cut=(), sent=200) | dict.fromkeys(ACROSS, arriving)
    received |= {tuple(link.split("_")): count for link, count in changes.items()}
    return evidence.judge_lossy(ACROSS, INSIDE | OTHERS, received, 200, (10, 78))


def test_loss_within_its_bounds():
    judged = lossy(40)
    assert judged.evidence.proven
    assert judged.evidence.summary == (
        "2,880 of 3,600 probes dropped (80.0 %), 18 of 18 links within 10..78 of 200 arrived, 38 of 38 others passed"
    )
    assert lossy(10).evidence.proven
    assert lossy(78).evidence.proven


@pytest.mark.parametrize(
    ("arriving", "changes", "again"),
    [
        (79, {}, False),
        (9, {}, True),
        (200, {}, False),
        (0, {}, True),
        (40, {"b1_c1": 199}, True),
        (40, {"b1_b2": 90}, False),
    ],
)
def test_loss_out_of_its_bounds_or_elsewhere_is_unproven(arriving, changes, again):
    judged = lossy(arriving, **changes)
    assert not judged.evidence.proven
    assert judged.look_again == again
    assert "wrong: " in judged.evidence.summary


def test_a_healed_network_delivers_everything_and_holds_no_rule():
    everything = ACROSS | INSIDE | OTHERS
    assert evidence.judge_whole(everything, counts(cut=()), N, {"b1": ()}).evidence.summary == (
        "56 of 56 links passed all 20 probes, no rule left"
    )
    short = evidence.judge_whole(everything, counts(cut=(), b1_b2=19), N, {})
    assert (short.evidence.proven, short.look_again) == (False, True)
    left = evidence.judge_whole(everything, counts(cut=()), N, {"b1": (), "c3": ("-N CHAOS-x",)})
    assert (left.evidence.proven, left.look_again) == (False, False)
    assert "rules left on c3" in left.evidence.summary
    assert not evidence.judge_whole(frozenset(), {}, N, {}).evidence.proven


def held(**packets):
    """A filter that holds INPUT rules, by the last number of the address, with what they dropped."""
    return Held(tuple(Counter(Rule(f"10.0.0.{last[1:]}"), count, 0) for last, count in packets.items()))


def test_rules_that_are_still_there():
    wanted = {"b1": (Rule("10.0.0.2"), Rule("10.0.0.3")), "b2": (Rule("10.0.0.1", "INPUT", 0.8),)}
    found = {
        "b1": held(_2=1000, _3=10),
        "b2": Held((Counter(Rule("10.0.0.1", "INPUT", 0.79999999981), 3, 0),)),
    }
    seen = evidence.rules_in_force(wanted, found)
    assert seen.proven
    assert seen.summary == "3 of 3 rules in place, 1,013 packets dropped"
    assert not evidence.rules_in_force(wanted, {"b1": found["b1"]}).proven
    less = evidence.rules_in_force(wanted, found | {"b1": held(_2=5)})
    assert (less.proven, less.summary) == (False, "2 of 3 rules in place, 8 packets dropped, gone on b1")
    for other in (Rule("10.0.0.1", "INPUT", 0.5), Rule("10.0.0.1", "OUTPUT", 0.8)):
        assert not evidence.rules_in_force(wanted, found | {"b2": Held((Counter(other, 3, 0),))}).proven
    assert not evidence.rules_in_force({}, {}).proven


def test_rules_that_packets_no_longer_get_to():
    astray = {"INPUT": "nothing in INPUT leads to them", "OUTPUT": "nothing in OUTPUT leads to them"}
    found = {"b1": Held(held(_2=5).counters, astray)}
    seen = evidence.rules_in_force({"b1": (Rule("10.0.0.2"),)}, found)
    assert not seen.proven
    assert seen.summary == "1 of 1 rules in place, 5 packets dropped, nothing in INPUT leads to them on b1"
    only_output = {"b1": Held(held(_2=5).counters, {"OUTPUT": astray["OUTPUT"]})}
    assert evidence.rules_in_force({"b1": (Rule("10.0.0.2"),)}, only_output).proven, "no rule of it is for OUTPUT"
    sent = Held((Counter(Rule("10.0.0.2", "OUTPUT"), 5, 0),), {"OUTPUT": astray["OUTPUT"]})
    assert not evidence.rules_in_force({"b1": (Rule("10.0.0.2", "OUTPUT"),)}, {"b1": sent}).proven


def test_nodes_are_told_one_by_one_the_wrong_ones_first():
    good = evidence.each_node({"b1": (True, "runs"), "b2": (True, "runs")})
    assert (good.proven, good.summary) == (True, "b1 runs, b2 runs")
    bad = evidence.each_node({"b1": (True, "runs"), "b2": (False, "is dead")})
    assert (bad.proven, bad.summary) == (False, "NOT: b2 is dead, b1 runs")
    assert not evidence.each_node({}).proven
