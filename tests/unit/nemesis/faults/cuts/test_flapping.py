"""What beacons prove of cuts that come and go, in which order links are opened, and what a beacon counts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.core.errors import UsageError
from nemesis.faults import params
from nemesis.faults.connections.refuse import Refuse
from nemesis.faults.cuts import beacon_program, flap, staged_heal
from nemesis.faults.cuts.beacons import Heard
from nemesis.faults.cuts.flap import Flap, FlapParams
from nemesis.faults.cuts.staged_heal import StagedHeal, stages
from nemesis.faults.registry import faults
from nemesis.targets.grudge import all_links, components, links
from nemesis.targets.selectors import Selector

NODES = ("b1", "b2", "b3")
HIT = links(components(["b2"], ["b1", "b3"]))
OTHERS = all_links((*NODES, "client")) - HIT
STEADY = Heard(arrived=500, silences_s=(), silent_s=0.01)


def heard(silences, **changes):
    seen = {link: Heard(arrived=300, silences_s=silences, silent_s=0.01) for link in HIT}
    return {**seen, **dict.fromkeys(OTHERS, STEADY), **{tuple(link.split("_")): one for link, one in changes.items()}}


def test_flapping_is_proven_by_as_many_silences_as_cuts():
    evidence = flap.judge(heard((1.0, 1.1, 1.05)), 3, HIT, OTHERS)
    assert evidence.proven
    assert evidence.summary == (
        "cut and opened 3 times, 4 of 4 links fell silent 3 times, for 1.00 to 1.10 s, 8 of 8 others carried all along"
    )
    assert evidence.details["hit"]["b1>b2"]["silences_s"] == [1.0, 1.1, 1.05]


@pytest.mark.parametrize(
    ("seen", "cuts", "said"),
    [
        (heard((1.0,)), 1, "cut and opened 1 times"),
        (heard((1.0, 1.0), b1_b2=STEADY), 2, "wrong: b1→b2 0 silences"),
        (heard((1.0, 1.0), b1_b3=Heard(300, (1.0,), 0.0)), 2, "wrong: b1→b3 1 silences"),
        (heard((1.0, 1.0), client_b2=Heard(0, (), 9.0)), 2, "7 of 8 others carried all along"),
    ],
)
def test_flapping_that_looks_otherwise_is_not_proven(seen, cuts, said):
    evidence = flap.judge(seen, cuts, HIT, OTHERS)
    assert not evidence.proven
    assert said in evidence.summary


def test_a_busy_machine_may_hide_one_cut_of_five_and_no_more():
    assert flap.judge(heard((1.0,) * 4), 5, HIT, OTHERS).proven
    assert not flap.judge(heard((1.0,) * 3), 5, HIT, OTHERS).proven


def test_a_rhythm_too_quick_to_be_seen_is_refused():
    assert params.read(FlapParams, {"share": 0}).share == 0
    assert params.read(FlapParams, {"period_s": 1, "share": "0.6"}).cut_s == 0.6
    for given in ({"period_s": 1, "share": 0.7}, {"share": 0.1}):
        with pytest.raises(UsageError, match=r"give both at least 0\.4 s"):
            params.read(FlapParams, given)


def test_links_are_opened_one_by_one_in_an_order_that_a_number_draws():
    made = [stages(HIT, ["b2"], ["b1", "b3"], "link", order) for order in range(20)]
    assert all(sorted(len(one) for one in found) == [1] * 4 for found in made)
    assert all(frozenset().union(*found) == HIT for found in made)
    assert len(set(made)) > 5
    assert made[3] == stages(HIT, ["b2"], ["b3", "b1"], "link", 3)


def test_nodes_come_back_one_by_one_with_all_their_links():
    (first, second) = stages(HIT, ["b2"], ["b1", "b3"], "node", 0)
    assert {first, second} == {frozenset({("b1", "b2"), ("b2", "b1")}), frozenset({("b3", "b2"), ("b2", "b3")})}
    apart = links(components(["b1"], ["b2"], ["b3"]))
    found = stages(apart, list(NODES), [], 1, 0)
    assert [len(one) for one in found] == [2, 4]
    assert frozenset().union(*found) == apart


CUT_S = {("b1", "b2"): 3.0, ("b2", "b1"): 4.0, ("b3", "b2"): 5.0, ("b2", "b3"): 6.0}


def staged(shut=frozenset(), **changes):
    seen = heard(())
    for link, cut_s in CUT_S.items():
        seen[link] = Heard(300, (), cut_s + 0.05) if link in shut else Heard(300, (cut_s + 0.1,), 0.01)
    seen |= {tuple(link.split("_")): one for link, one in changes.items()}
    return staged_heal.judge(seen, CUT_S, frozenset(shut), OTHERS)


def test_stages_are_proven_by_silences_as_long_as_the_cuts():
    assert staged().proven
    assert staged().summary == (
        "4 of 4 links were silent for as long as they were cut, 3.0 to 6.0 s, 8 of 8 others carried all along"
    )
    assert staged(shut={("b2", "b3")}).proven


@pytest.mark.parametrize(
    "changes",
    [
        {"b1_b2": Heard(300, (4.5,), 0.01)},
        {"b1_b2": STEADY},
        {"b1_b2": Heard(300, (3.0, 1.5), 0.01)},
        {"b1_b2": Heard(300, (3.0,), 2.0)},
        {"client_b1": Heard(300, (2.0,), 0.01)},
    ],
)
def test_stages_that_look_otherwise_are_not_proven(changes):
    assert not staged(**changes).proven


def test_a_link_that_should_be_cut_and_is_heard_is_not_proven():
    assert not staged(shut={("b2", "b3")}, b2_b3=STEADY).proven
    assert not staged(shut=CUT_S.keys()).proven, "nothing was opened yet"


def test_none_of_them_joins_the_mix_of_all_or_silences_its_targets():
    for fault in (Flap, StagedHeal, Refuse):
        assert faults()[fault.name] is fault
        assert not fault.in_all
        assert not fault.nature().silences
    assert Flap.describe(Selector.LEADER, ["b2"], ["b1", "b3"], FlapParams()) == "{b2 | b1 b3} cut for 1 of every 2 s"


def test_a_beacon_hears_itself_and_what_has_no_nonce_is_not_counted(tmp_path):
    program = Path(beacon_program.__file__)
    pid_file = tmp_path / "beacon.pid"
    orders = {"port": 23_917, "nonce": 5}

    def run(**more):
        argv = [sys.executable, "-I", "-S", str(program), json.dumps({**orders, **more})]
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout

    run(
        do="start", own="127.0.0.1", peers=["127.0.0.1", "127.0.0.2"], every_s=0.01, least_s=0.5, pid_file=str(pid_file)
    )
    try:
        told = {}
        while told.get("127.0.0.1", {"arrived": 0})["arrived"] < 3:
            told = json.loads(run(do="report"))
        assert told["127.0.0.1"]["silences_s"] == []
        assert told["127.0.0.2"]["arrived"] == 0
    finally:
        subprocess.run(["kill", "-TERM", pid_file.read_text().strip()], check=True)
