"""Rules as text, both ways."""

import re

import pytest

from chaos.core.errors import UsageError
from cluster.host import ControlLink
from cluster.network.packet_filter import Counter, Held, Rule, chain, parse_listing, program


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
        "-P INPUT ACCEPT -c 0 0\n"
        "-N CHAOS-x\n"
        "-N CHAOS-xy\n"
        "-A INPUT -c 20 1200 -j CHAOS-xy\n"
        "-A INPUT -c 20 1200 -j CHAOS-x\n"
        "-A INPUT -s 198.18.0.13/32 -c 0 0 -j DROP\n"
        "-A OUTPUT -c 20 1200 -j CHAOS-x\n"
        "-A CHAOS-xy -s 198.18.0.14/32 -c 0 0 -j DROP\n"
        "-A CHAOS-x -s 198.18.0.9/32 -p tcp -m tcp --dport 22 -c 5 6 -j RETURN\n"
        "-A CHAOS-x -s 198.18.0.10/32 -c 12 720 -j DROP\n"
        "-A CHAOS-x -s 198.18.0.11/32 -m statistic --mode random --probability 0.79999999981 -c 3 4 -j DROP\n"
        "-A CHAOS-x -d 198.18.0.12/32 -c 0 0 -j DROP\n"
    )
    counters = (
        Counter(Rule("198.18.0.10"), 12, 720),
        Counter(Rule("198.18.0.11", "INPUT", 0.8), 3, 4),
        Counter(Rule("198.18.0.12", "OUTPUT"), 0, 0),
    )
    assert parse_listing(listing, "CHAOS-x") == Held(counters, {})
    assert parse_listing("", "CHAOS-x").counters == ()


def test_a_rule_may_hand_packets_to_a_program_and_lets_them_pass_while_there_is_none():
    rule = Rule("198.18.0.9", queue=7)
    line = "-A CHAOS-x -s 198.18.0.9/32 -j NFQUEUE --queue-num 7 --queue-bypass"
    assert program("CHAOS-x", [rule]).splitlines()[2] == line
    listing = "-A CHAOS-x -s 198.18.0.9/32 -c 3 252 -j NFQUEUE --queue-num 7 --queue-bypass"
    assert parse_listing(listing, "CHAOS-x").counters == (Counter(rule, 3, 252),)


ACCEPTED = "a rule in INPUT accepts packets before them"


@pytest.mark.parametrize(
    ("lines", "astray"),
    [
        ([], "nothing in INPUT leads to them"),
        (["-A INPUT -c 0 0 -j CHAOS-xy"], "nothing in INPUT leads to them"),
        (["-A INPUT -p tcp -c 0 0 -j CHAOS-x"], "nothing in INPUT leads to them"),
        (["-A INPUT -p tcp -c 0 0 -j ACCEPT", "-A INPUT -c 0 0 -j CHAOS-x"], ACCEPTED),
        (["-A INPUT -c 0 0 -j RETURN", "-A INPUT -c 0 0 -j CHAOS-x"], ACCEPTED),
        (["-A INPUT -i lo -c 0 0 -j ACCEPT", "-A INPUT -c 0 0 -j CHAOS-x"], ""),
        (["-A INPUT -c 0 0 -j CHAOS-x", "-A INPUT -c 0 0 -j ACCEPT"], ""),
        (["-A INPUT -c 0 0 -j theirs", "-A INPUT -p udp -c 0 0 -j DROP", "-A INPUT -c 0 0 -j CHAOS-x"], ""),
    ],
)
def test_rules_that_packets_do_not_get_to_are_told(lines, astray):
    found = parse_listing("\n".join([*lines, "-A OUTPUT -c 0 0 -j CHAOS-x"]), "CHAOS-x").astray
    assert found == ({"INPUT": astray} if astray else {})
