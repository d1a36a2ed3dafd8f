"""Rules as text, both ways."""

import re

import pytest

from chaos.core.errors import UsageError
from cluster.host import ControlLink
from cluster.network import Counter, Rule, chain, parsed, program


def test_a_program_fills_one_chain_and_touches_no_other():
    rules = [Rule("198.18.0.10"), Rule("198.18.0.11", "INPUT", 0.8), Rule("198.18.0.12", "OUTPUT")]
    assert program("CHAOS-x", rules) == (
        "*filter\n"
        ":CHAOS-x - [0:0]\n"
        "-A CHAOS-x -s 198.18.0.10/32 -j DROP\n"
        "-A CHAOS-x -s 198.18.0.11/32 -m statistic --mode random --probability 0.8000000000 -j DROP\n"
        "-A CHAOS-x -d 198.18.0.12/32 -j DROP\n"
        "COMMIT\n"
    )
    assert program("CHAOS-x", []) == "*filter\n:CHAOS-x - [0:0]\nCOMMIT\n"


def test_the_control_connection_leaves_the_chain_before_any_rule():
    assert program("CHAOS-x", [Rule("198.18.0.9")], ControlLink("198.18.0.9", 2222)) == (
        "*filter\n"
        ":CHAOS-x - [0:0]\n"
        "-A CHAOS-x -s 198.18.0.9/32 -p tcp --dport 2222 -j RETURN\n"
        "-A CHAOS-x -d 198.18.0.9/32 -p tcp --sport 2222 -j RETURN\n"
        "-A CHAOS-x -s 198.18.0.9/32 -j DROP\n"
        "COMMIT\n"
    )


@pytest.mark.parametrize("probability", [0.0, -0.1, 1.1])
def test_impossible_shares_are_refused(probability):
    with pytest.raises(UsageError, match="probability"):
        program("CHAOS-x", [Rule("198.18.0.10", "INPUT", probability)])


@pytest.mark.parametrize("run_id", ["r1", "20261121T071500Z-7f3a", "x" * 21, "a very long name of a run/with things"])
def test_chain_names_fit_and_differ(run_id):
    name = chain(run_id)
    assert re.fullmatch(r"CHAOS-[A-Za-z0-9-]{1,22}", name)
    assert name == chain(run_id)
    assert name != chain(run_id + "0")


def test_counters_are_read_from_the_listing():
    listing = (
        "-N CHAOS-x\n"
        "-A CHAOS-x -s 198.18.0.9/32 -p tcp -m tcp --dport 22 -c 5 6 -j RETURN\n"
        "-A CHAOS-x -s 198.18.0.10/32 -c 12 720 -j DROP\n"
        "-A CHAOS-x -s 198.18.0.11/32 -m statistic --mode random --probability 0.79999999981 -c 3 4 -j DROP\n"
        "-A CHAOS-x -d 198.18.0.12/32 -c 0 0 -j DROP\n"
    )
    assert parsed(listing) == (
        Counter(Rule("198.18.0.10"), 12, 720),
        Counter(Rule("198.18.0.11", "INPUT", 0.8), 3, 4),
        Counter(Rule("198.18.0.12", "OUTPUT"), 0, 0),
    )
    assert parsed("") == ()
