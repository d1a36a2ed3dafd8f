"""The bugs of minimq, each one small deviation of a rule, and the switch that puts one in place in this process.

A checker that never saw a bug proves nothing: ``BUGS`` says for each what it does wrong, what brings it to light and
what the verdict must name. The honest cores know nothing of it; a bug replaces functions of the rules from outside.
The module refuses to switch on two in one process.
"""

from collections.abc import Mapping
from typing import Final

from cluster.bug import Bug
from cluster.systems.minimq import (
    bug_rules,
    bug_rules_clients,
    bug_rules_controller,
    bug_rules_disk,
    bug_rules_members,
    bug_rules_service,
)
from cluster.systems.minimq.broker import Broker
from cluster.systems.minimq.bug_list import DECLARED
from cluster.systems.minimq.bug_rules import Bend, Replacement
from cluster.systems.minimq.controller import Controller
from cluster.systems.minimq.notes import Notes

BUGS: Final[Mapping[str, Bug]] = {bug.name: bug for bug in DECLARED}

_BENDS: Final[Mapping[str, Bend]] = {
    **bug_rules.BENDS,
    **bug_rules_members.BENDS,
    **bug_rules_clients.BENDS,
    **bug_rules_disk.BENDS,
    **bug_rules_controller.BENDS,
    **bug_rules_service.BENDS,
}
_switched_on: Final[list[Notes]] = []


def replacements(notes: Notes, name: str) -> list[Replacement]:
    """What the bug puts in place of what is there now, and the entrances that tell the notes who decides.

    Raises:
        KeyError: there is no such bug.
    """
    entrances = [Replacement(core, "handle", notes.enter(core.handle)) for core in (Broker, Controller)]
    return entrances + _BENDS[name](notes)


def switch_on(name: str) -> None:
    """Put the bug in place in this process, for good.

    Raises:
        KeyError: there is no such bug.
    """
    assert not _switched_on, "one bug a process"
    notes = Notes(name)
    for replacement in replacements(notes, name):
        setattr(replacement.owner, replacement.name, replacement.function)
    _switched_on.append(notes)


_replaced: Final[list[Replacement]] = []


def have_on(name: str | None) -> None:
    """Put one bug in place, or none, in a process that is many nodes one after the other.

    Raises:
        KeyError: there is no such bug.
    """
    if [notes.bug for notes in _switched_on] == ([] if name is None else [name]):
        return
    for honest in reversed(_replaced):
        setattr(honest.owner, honest.name, honest.function)
    _replaced.clear()
    _switched_on.clear()
    if name is not None:
        notes = Notes(name)
        for replacement in replacements(notes, name):
            own = getattr(replacement.owner, replacement.name)
            _replaced.append(Replacement(replacement.owner, replacement.name, own))
            setattr(replacement.owner, replacement.name, replacement.function)
        _switched_on.append(notes)


def take_notes() -> list[str]:
    """What the bug did since the last call, a JSON object for each deviation; none without a bug."""
    return [text for notes in _switched_on for text in notes.take()]
