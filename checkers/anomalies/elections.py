"""A new leader that was not in the SyncStateSet named last: whoever elected it is to be looked at.

What was acknowledged is held by the members of the set, so the next leader must be one of them. Only numbered sets
count: elsewhere members are whoever follows, and nobody is bound to choose one of them. Does not judge. Observers ask
once a second, so one change of the set may have gone unheard.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from chaos.basics.name_lists import join_names
from checkers.anomalies.attribution import Blame, find_blame, hit_words, reign_words
from checkers.anomalies.contradictions import controllers_of
from checkers.anomalies.findings import seconds_text
from checkers.history.check_input import Context
from checkers.history.leadership import HEARD_NS, InSync, Reign

UNHEARD: Final = 2
"""Changes from the set named last to the first one of the new leader: its election, and one that nobody heard."""


class Outsider(NamedTuple):
    """A leader from outside of the set, the leader before it, and the set that was named last, by whom and when."""

    reign: Reign
    before: Reign
    last: InSync

    def suspects(self, context: Context) -> tuple[str, ...]:
        """Whom to look at: the controller that was active, else all of them, else the new leader."""
        active = context.timeline.controller_at(self.reign.first_ns)
        return (active,) if active is not None else controllers_of(context) or (self.reign.node,)

    def blame(self, context: Context) -> Blame | None:
        """The fault under which it was elected: the one that hit the leader before it, else the latest."""
        return find_blame(context, self.before.node, self.last.last_ns, self.reign.first_ns)

    def words(self, context: Context) -> str:
        """As a sentence without its full stop: who became leader, which set was named last, and under which fault."""
        active = context.timeline.controller_at(self.reign.first_ns)
        under = f" under controller {active}" if active is not None else ""
        fault = hit_words(context, self.before.node, self.blame(context))
        alone = " alone" if len(self.last.members) == 1 else ""
        return (
            f"{self.reign.node} became {reign_words(self.reign, context)}{under} by"
            f" {seconds_text(context, self.reign.first_ns)}, although the SyncStateSet named last, by {self.last.node}"
            f" at {seconds_text(context, self.last.last_ns)}, was {join_names(self.last.members)}{alone}{fault}"
        )


def elected_outside(reigns: Sequence[Reign], in_sync: Iterable[InSync], reign: Reign) -> Outsider | None:
    """Whether a node came to lead from outside of the set that was named last; None too where nobody knows.

    The leader of the epoch before must be known and another node, and its set heard shortly before the new leader. Two
    members of one number, or more changes of the set than one that nobody heard, leave it open.

    Args:
        reigns: who led the subject.
        in_sync: what was said of sets, of any subject.
        reign: of the new leader.
    """
    before = {one.node: one for one in reigns if one.epoch == reign.epoch - 1}
    if (
        len(before) != 1
        or reign.node in before
        or {one.node for one in reigns if one.epoch == reign.epoch} != {reign.node}
    ):
        return None
    led = next(iter(before.values()))
    own = [one for one in in_sync if one.subject == reign.subject and one.number >= 0]
    until = [one for one in own if one.leader == led.node and one.first_ns <= reign.first_ns]
    newest = max((one.number for one in until), default=-1)
    named = [one for one in until if one.number == newest]
    if len({one.members for one in named}) != 1:
        return None
    last = max(named, key=lambda one: (one.last_ns, one.node))
    firsts = [one.number for one in own if one.leader == reign.node and one.number > newest]
    if reign.node in last.members or not last.members or not firsts:
        return None
    if last.last_ns < reign.first_ns - HEARD_NS or min(firsts) - newest > UNHEARD:
        return None
    return Outsider(reign, led, msgspec.structs.replace(last, last_ns=min(last.last_ns, reign.first_ns)))


def first_outsider(context: Context, subject: str | None, epoch: int, until_ns: int) -> Outsider | None:
    """The first leader of a subject from outside of the set, in an epoch above one and until an instant."""
    reigns = context.timeline.reigns_over(subject)
    later = sorted((one for one in reigns if one.epoch > epoch and one.first_ns <= until_ns), key=lambda one: one.epoch)
    found = (elected_outside(reigns, context.timeline.in_sync, one) for one in later)
    return next((one for one in found if one is not None), None)
