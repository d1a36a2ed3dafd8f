"""The stretches in which the load sent a tenth of its rate on purpose (SEMANTICS 24), and what in time means of sends.

Whoever compares times or throughput with the rate asks here, so that a quiet load does not look like a slow system.
"""

from typing import Final

import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from checkers.history.check_input import Context
from checkers.history.columns import Ints, Mask, is_among
from checkers.history.operations import Operations
from checkers.history.words import words_of

QUIET_RATE: Final = 0.1
"""Share of the rate of sends that is left in a quiet stretch."""


def quiet_ns(context: Context, begin: Ints, end: Ints) -> Ints:
    """How much (ns) of each stretch from ``begin`` to ``end`` (CLOCK_MONOTONIC ns) was quiet."""
    total = np.zeros(len(begin), dtype=np.int64)
    for from_s, until_s in context.run.quiet:
        first, last = (context.run.origin_ns + round(at_s * NS_PER_S) for at_s in (from_s, until_s))
        total += np.maximum(np.minimum(end, last) - np.maximum(begin, first), 0)
    return total


def is_ok_in_time(log: Operations, ops: Ints, context: Context) -> Mask:
    """Of operations whether they were ok within the deadline that most operations have.

    A send that is attempted for longer (``send_deadline_s``) may be ok in the end although the service was away.
    """
    ok: Mask = np.equal(log.type[ops], Type.OK)
    run = context.run
    if run.send_deadline_s <= run.op_timeout_s:
        return ok
    late = is_among(log.f[ops], words_of(run).changes)
    late &= log.complete[ops] - log.invoke[ops] > round(run.op_timeout_s * NS_PER_S)
    return ok & ~late
