"""Whether another leader may have taken over between two moments: what a promise about failovers may cover.

Does not say which one did: a fault that was in force, a new claim to lead, or another node that answers is enough for a
doubt, and a doubt is all that a promise needs.
"""

import numpy as np

from checkers.history.check_input import Context
from checkers.history.columns import Ints, Mask


def failed_over(context: Context, key: int, since_ns: Ints, until_ns: Ints) -> Mask:
    """For each stretch of time: whether a fault was in force in it, or another began to lead, as far as it was heard.

    Args:
        context: faults and reigns.
        key: whose leader counts.
        since_ns: beginnings of the stretches.
        until_ns: ends of the stretches.
    """
    out = np.zeros(len(since_ns), dtype=np.bool_)
    for fault in context.timeline.injected():
        out |= ((fault.inject_ns or 0) <= until_ns) & (fault.in_force_until_ns() >= since_ns)
    begun = [reign.first_ns for reign in context.timeline.reigns_over(context.subject_of(key))]
    # The first reign is the one under which the load began.
    moments = np.asarray(begun[1:], dtype=np.int64)
    return out | (np.searchsorted(moments, until_ns, side="right") > np.searchsorted(moments, since_ns, side="left"))
