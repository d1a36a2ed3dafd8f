"""Decisions of controllers that were heard in two ways: who leads in an epoch, and which set a number stands for.

Two nodes that lead in one epoch, or two sets under one number, cannot both have been decided by one order of decisions.
Nodes of the group repeat what controllers decided, so the controllers are to be looked at first; that they contradict
each other is said only where two of them were heard. Does not judge: two leaders in one epoch are an anomaly of
``checkers.cluster.roles``.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chaos.basics.name_lists import join_names
from checkers.anomalies.attribution import Blame, fault_name, find_blame, hit_words
from checkers.anomalies.findings import seconds_text
from checkers.history.check_input import Context
from checkers.history.timeline import FaultSpan


class Heard(NamedTuple):
    """One way in which a decision was heard: what it was, who said so, and when first (ns)."""

    what: str
    by: str
    at_ns: int


class Contradiction(NamedTuple):
    """Two ways in which one decision was heard, each from a controller if one said so, and when both were known."""

    heard: tuple[Heard, Heard]
    known_ns: int

    def words(self, context: Context) -> str:
        """As a clause: who said what, and when, and the fault that cut off one of them, else the one over them."""
        said, apart = [], False
        for one in self.heard:
            cut, aside = _cut_off_by(context, one), ""
            if cut is not None:
                apart = True
                since = seconds_text(context, cut.inject_ns or 0)
                aside = f", cut off from most controllers by {fault_name(cut, whom=False)} at {since},"
            said.append(f"{one.by}{aside} said at {seconds_text(context, one.at_ns)} that {one.what}")
        told = f"{', and '.join(said)}{'' if apart else hit_words(context, self.heard[1].by, self.blame(context))}"
        if {one.by for one in self.heard} <= set(controllers_of(context)):
            return f"the controllers contradict each other: {told}"
        return f"what the controllers decide once was told in two ways: {told}"

    def blame(self, context: Context) -> Blame | None:
        """The fault under which they spoke: one that cut off who is to be looked at, else that of who spoke last."""
        cut = next((cut for one in self.heard if (cut := _cut_off_by(context, one)) is not None), None)
        if cut is not None:
            return Blame(cut, hit=True, during=True, at_ns=self.known_ns)
        second = self.heard[1]
        return find_blame(context, second.by, second.at_ns, second.at_ns)

    def suspects(self, context: Context) -> tuple[str, ...]:
        """Whom to look at: the controllers that were cut off from most when they spoke; all if none is known to be."""
        cut = dict.fromkeys(one.by for one in self.heard if _cut_off_by(context, one) is not None)
        return tuple(cut) or controllers_of(context)


def controllers_of(context: Context) -> tuple[str, ...]:
    """The nodes that decide who leads the others, in order; empty where nobody does."""
    run = context.run
    return tuple(node.name for node in run.nodes if run.roles.get(node.role) == "controller")


def _cut_off_by(context: Context, heard: Heard) -> FaultSpan | None:
    """The fault that kept a controller from most others when it spoke; None if none did, or if no controller spoke."""
    controllers = set(controllers_of(context))
    for fault in context.timeline.injected():
        nature, targets = fault.identity.nature, set(fault.targets)
        side = controllers & targets if heard.by in targets else controllers - targets
        cuts = nature.cuts and nature.silences and (fault.inject_ns or 0) < heard.at_ns <= fault.in_force_until_ns()
        if cuts and heard.by in controllers and 2 * len(side) <= len(controllers):
            return fault
    return None


def contradiction(context: Context, subject: str | None, until_ns: int) -> Contradiction | None:
    """The first decision on a subject that was heard in two ways until an instant; None if none was.

    Where nobody decides for the nodes there is none: then two leaders of an epoch say nothing of who is wrong.
    """
    if not controllers_of(context):
        return None
    found = [*_in_two_ways(_epochs(context, subject), context), *_in_two_ways(_sets(context, subject), context)]
    return min((one for one in found if one.known_ns <= until_ns), key=lambda one: one.known_ns, default=None)


def _epochs(context: Context, subject: str | None) -> Iterator[tuple[int, str, Heard]]:
    """Epoch, who led, and that it said so."""
    for reign in context.timeline.reigns_over(subject):
        what = f"it led {subject} in {context.run.epoch_word(reign.subject)} {reign.epoch}"
        yield reign.epoch, reign.node, Heard(what, reign.node, reign.first_ns)


def _sets(context: Context, subject: str | None) -> Iterator[tuple[int, str, Heard]]:
    """Number, members, and who said so."""
    for one in context.timeline.in_sync:
        if one.subject == subject and one.number >= 0:
            members = join_names(one.members) or "nobody"
            of = f" of {subject}" if len(context.run.replicated) > 1 else ""
            what = f"SyncStateSet number {one.number}{of} had {members}{' alone' if len(one.members) == 1 else ''}"
            yield one.number, members, Heard(what, one.node, one.first_ns)


def _in_two_ways(said: Iterable[tuple[int, str, Heard]], context: Context) -> Iterator[Contradiction]:
    """Of each number that stands for several things the two that were heard first."""
    by_number: dict[int, dict[str, list[Heard]]] = defaultdict(lambda: defaultdict(list))
    for number, what, heard in sorted(said, key=lambda one: (one[2].at_ns, one[2].by)):
        by_number[number][what].append(heard)
    controllers = controllers_of(context)
    for ways in by_number.values():
        if len(ways) > 1:
            one, other = list(ways.values())[:2]
            first, second = (min(own, key=lambda heard: heard.by not in controllers) for own in (one, other))
            in_order = (first, second) if first.at_ns <= second.at_ns else (second, first)
            yield Contradiction(in_order, known_ns=other[0].at_ns)
