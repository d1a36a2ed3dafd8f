"""``chaos list nemeses``: how a name is made, a line for each fault, and what this machine cannot do."""

import re
from typing import Annotated

import msgspec
import pytest
from click.testing import CliRunner
from msgspec import Meta

from chaos.cli import nemeses_list
from chaos.cli.main import cli
from nemesis.faults.params import params_of
from nemesis.faults.registry import fault_named, faults
from nemesis.plan.nemesis_names import MANY, catalog, parts, words
from nemesis.targets.selectors import WHOM

LISTED = list(nemeses_list.lines(faults(), {}, {}))


def rows(listed: list[str], head: str) -> dict[str, str]:
    """The rows below a heading."""
    text = "\n".join(listed)
    block = text[text.index(f"{head}") :].split("\n\n")[0].splitlines()[1:]
    return {line.split()[0]: line for line in block}


def test_every_fault_has_one_line() -> None:
    assert list(rows(LISTED, "FAULT, ")) == list(faults())
    assert len(LISTED) < len(faults()) + 40


def test_what_it_says_makes_every_name_and_no_other() -> None:
    whom = list(rows(LISTED, "WHOM\n"))
    made = set(rows(LISTED, "Names of their own"))
    for fault, line in rows(LISTED, "FAULT, ").items():
        if "; without WHOM" in line:
            continue
        allowed = re.search(r"; WHOM is ([\w ]+)", line)
        made |= {f"{one}-{fault}" for one in (allowed[1].split(" or ") if allowed else whom)}
    assert whom == [selector.value for selector in WHOM]
    assert made == {*catalog(), *MANY}


@pytest.mark.parametrize("example", [text for text, _ in nemeses_list.EXAMPLES])
def test_every_example_can_be_typed(example: str) -> None:
    for word in words(example):
        name, given, _ = parts(word)
        known = {one.name for one in params_of(catalog()[name].how.Params)}
        assert {pair.partition("=")[0] for pair in filter(None, given.split(","))} <= known


def test_a_parameter_shows_its_default_and_its_bounds() -> None:
    shown = rows(LISTED, "FAULT, ")
    assert shown["loss"].endswith("; probability=0.8 (from 0 to 1)")
    assert shown["crash-at-rename"].endswith("; nth=1 (whole, from 1 to 1000000); unsynced=lost (lost or kept)")
    assert shown["crash-at-fsync"].endswith("; unsynced=lost (lost or kept); path=* (text, e.g. *.wal)")
    assert shown["block-port"].endswith("; port=all (whole, from 1 to 65535, or all)")
    assert "; op=fsync (read, write or fsync, or several joined by +); share=1 " in shown["disk-error"]


class Bounded(msgspec.Struct):
    """Every kind of bound."""

    free: float = 0
    least: Annotated[float, Meta(ge=1.5)] = 2
    above: Annotated[int, Meta(gt=0)] = 1
    below: Annotated[float, Meta(lt=9)] = 1
    both: Annotated[float, Meta(gt=0, lt=9)] = 1


def test_bounds_in_words() -> None:
    assert [nemeses_list.bounds(one) for one in params_of(Bounded)] == [
        "any number",
        "from 1.5",
        "whole, above 0",
        "below 9",
        "above 0 below 9",
    ]


def test_what_the_machine_cannot_do_is_marked_and_its_reason_told_once() -> None:
    why = {"kill": "no signals (do this)", "stop": "no signals (do this)", "loss": "no iptables (do that)"}
    listed = list(nemeses_list.lines(faults(), why, {}))
    shown = rows(listed, "FAULT, ")
    assert {name for name, line in shown.items() if "NOT HERE" in line} == set(why)
    assert shown["kill"].endswith(" NOT HERE (1)")
    assert shown["loss"].endswith(" NOT HERE (2)")
    assert listed[-2:] == ["  (1) no signals (do this)", "  (2) no iptables (do that)"]


def test_a_fault_that_does_not_load_says_why() -> None:
    listed = list(nemeses_list.lines({"kill": fault_named("kill")}, {}, {"mine": "no module named mine"}))
    assert listed[-1].split(maxsplit=1) == ["mine", "no module named mine"]


def test_the_command_prints_it() -> None:
    said = CliRunner().invoke(cli, ["list", "nemeses"], standalone_mode=False, catch_exceptions=False)
    assert said.stdout.splitlines()[: len("\n".join(LISTED[:20]).splitlines())] == "\n".join(LISTED[:20]).splitlines()
