"""When a lease that nobody renews has surely ended: the precise words are in semantics.md, 34.

A system whose promise of recovery is known must have ended a lease so long after its length is over, counted from the
last instant at which anything may have lengthened it: a renewal, or a new leader, which begins to count anew. While a
fault is in force, and until the system had to be whole again, nothing is certain.
"""

from bisect import bisect_right
from itertools import accumulate
from typing import Final

from chaos.core.clock import NS_PER_S
from checkers.coordination.lease_facts import MOST_NS_PER_MS, Lease
from checkers.history.check_input import Context

Stretch = tuple[int, int]
"""From when to when."""


class Ends:
    """When leases of one place have ended.

    Args:
        within_ns: so long after a heal the system serves again; 0: it promises nothing, and nothing is certain.
        stirred: stretches in which something may have lengthened every lease, or may have kept it from being ended.
    """

    def __init__(self, within_ns: int, stirred: list[Stretch]) -> None:
        self.within_ns = within_ns
        ordered = sorted(stirred)
        self._begins = [begin for begin, _ in ordered]
        self._until = list(accumulate((end for _, end in ordered), max))

    def ended_ns(self, lease: Lease, at_ns: int) -> int | None:
        """An instant before ``at_ns`` at which a lease had surely ended; None if there is none."""
        if not self.within_ns:
            return None
        times = [] if lease.settled_ns is None else [lease.settled_ns]
        if lease.in_doubt_ns is not None:
            times.append(lease.in_doubt_ns + self.within_ns)
        if (before := bisect_right(self._begins, at_ns)) > 0:
            times.append(self._until[before - 1])
        ended = max(times, default=at_ns) + lease.ttl_ms * MOST_NS_PER_MS + self.within_ns
        return ended if ended < at_ns else None


def ends_of(context: Context, key: int) -> Ends:
    """What is known of a run at one place."""
    timeline = context.timeline
    within_ns: Final = int(context.run.promises.recovers_within_s * NS_PER_S)
    stirred = [(fault.inject_ns or 0, fault.in_force_until_ns() + within_ns) for fault in timeline.injected()]
    subject = context.subject_of(key)
    reigns = timeline.reigns_over(subject)
    stirred += [(reign.not_before_ns, reign.first_ns) for reign in reigns]
    decided = context.whole and (subject is None or bool(reigns))
    return Ends(within_ns if decided else 0, stirred)
