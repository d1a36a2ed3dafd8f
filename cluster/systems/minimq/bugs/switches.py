"""The bugs of minimq, each one small deviation of a rule, and the switch that puts one in place in this process.

A checker that never saw a bug proves nothing: ``BUGS`` says for each what it does wrong, what brings it to light and
what the verdict must name. The honest cores know nothing of it; a bug replaces functions of the rules from outside.
Does not switch on two in one process.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, NamedTuple

from cluster.bug import Bug
from cluster.systems.minimq.bugs import (
    bug_rules,
    bug_rules_clients,
    bug_rules_controller,
    bug_rules_disk,
    bug_rules_members,
    bug_rules_service,
)
from cluster.systems.minimq.bugs.bug_list import DECLARED
from cluster.systems.minimq.bugs.bug_rules import Bend, Replacement
from cluster.systems.minimq.bugs.notes import Notes
from cluster.systems.minimq.consensus.controller import Controller
from cluster.systems.minimq.replication.broker import Broker

BUGS: Final[Mapping[str, Bug]] = {bug.name: bug for bug in DECLARED}

_BENDS: Final[Mapping[str, Bend]] = {
    **bug_rules.BENDS,
    **bug_rules_members.BENDS,
    **bug_rules_clients.BENDS,
    **bug_rules_disk.BENDS,
    **bug_rules_controller.BENDS,
    **bug_rules_service.BENDS,
}
_switched_on: Final[dict["Switch", Notes]] = {}


class Switch(NamedTuple):
    """A bug that is on. ``share``: it deviates in so many of its decisions, drawn from ``seed``."""

    name: str
    share: float = 1.0
    seed: str = ""


def in_some_calls(replacement: Replacement, switch: Switch) -> Replacement:
    """The same, in a share of the calls; in the others what is in its place now decides."""
    if switch.share >= 1:
        return replacement
    honest = getattr(replacement.owner, replacement.name)
    bent, draws = replacement.function, Random(f"{switch.seed} {switch.name} {replacement.name}")

    def function(*args: Any, **kwargs: Any) -> Any:
        return (bent if draws.random() < switch.share else honest)(*args, **kwargs)

    return replacement._replace(function=function)


def replacements(notes: Notes, switch: Switch) -> list[Replacement]:
    """What the bug puts in place of what is there now, and the entrances that tell the notes who decides.

    Raises:
        KeyError: there is no such bug.
    """
    entrances = [Replacement(core, "handle", notes.enter(core.handle)) for core in (Broker, Controller)]
    return entrances + [in_some_calls(one, switch) for one in _BENDS[switch.name](notes)]


def switch_on(switch: Switch) -> None:
    """Put the bug in place in this process, for good.

    Raises:
        KeyError: there is no such bug.
    """
    assert not _switched_on, "one bug a process"
    notes = Notes(switch.name)
    for replacement in replacements(notes, switch):
        setattr(replacement.owner, replacement.name, replacement.function)
    _switched_on[switch] = notes


_replaced: Final[list[Replacement]] = []


def have_on(switch: Switch | None) -> None:
    """Put one bug in place, or none, in a process that is many nodes one after the other.

    Raises:
        KeyError: there is no such bug.
    """
    if list(_switched_on) == ([] if switch is None else [switch]):
        return
    for honest in reversed(_replaced):
        setattr(honest.owner, honest.name, honest.function)
    _replaced.clear()
    _switched_on.clear()
    if switch is not None:
        notes = Notes(switch.name)
        for replacement in replacements(notes, switch):
            own = getattr(replacement.owner, replacement.name)
            _replaced.append(Replacement(replacement.owner, replacement.name, own))
            setattr(replacement.owner, replacement.name, replacement.function)
        _switched_on[switch] = notes


def have_clock(wall_ns: Callable[[], int]) -> None:
    """Let a bug that looks at the wall clock look at this one: whose node decides next."""
    for notes in _switched_on.values():
        notes.wall_ns = wall_ns


def take_notes() -> list[str]:
    """What the bug did since the last call, a JSON object for each deviation; none without a bug."""
    return [text for notes in _switched_on.values() for text in notes.take()]
