"""What clients and an observer of the simulated cluster were told, and what is wrong with it.

The oracle is simple on purpose: it names what contradicts what (docs/semantics.md), and looks at no core.
"""

from collections import defaultdict
from itertools import pairwise

DEADLINE_MS = 3000
RECOVERS_MS = 4000
STOPPED_MS = 12_000
"""Longer than any fault of runs without a bug: who is stopped for so long waits for a heal."""
REPLICAS = 3
SLACK_MS = 2
"""Two moments that are no further apart have no order: the simulation's clock is coarse."""


class Told:
    """What everybody was told."""

    def __init__(self):
        self.sent = {}  # value -> outcome
        self.acks = []  # (queue, offset, value, invoked, completed, node)
        self.at = defaultdict(set)  # (queue, offset) -> values
        self.places = defaultdict(set)  # value -> (queue, offset)
        self.reads = []  # (queue, asked, next, records, strong, invoked, completed)
        self.commits = []  # (queue, offset, invoked, completed), of the acknowledged
        self.tried_commits = []  # (queue, offset, invoked, completed)
        self.committed_reads = []  # (queue, offset, invoked)
        self.claims = defaultdict(set)  # ("master" or "leader", epoch) -> nodes
        self.sets = []  # (when, master, epoch, sss_epoch, size)
        self.corrupt = 0
        self.drained = None  # queue -> values
        self.healed_ms = self.load_end_ms = None  # of the last fault, of the load
        self.in_sync = None  # who is, once all has settled

    def told(self, queue, offset, value):
        self.at[queue, offset].add(value)
        self.places[value].add((queue, offset))


def anomalies(told, *, min_in_sync=2, rto_budget_ms=None):
    """The names of what is wrong, as in docs/semantics.md."""
    found = {
        "corrupt": told.corrupt > 0,
        "phantom": any(
            value not in told.sent or value[0] != queue for value, at in told.places.items() for queue, _ in at
        ),
        "G1a": any(told.sent.get(value) == "fail" for value in told.places),
        "inconsistent-offsets": any(len(values) > 1 for values in told.at.values()),
        "duplicate": any(
            len({offset for queue, offset in at if queue == value[0]}) > 1 for value, at in told.places.items()
        ),
        "dual-leader": any(len(nodes) > 1 for nodes in told.claims.values()),
        "lost-write": told.drained is not None
        and any(value not in told.drained[queue] for queue, _, value, *_ in told.acks),
        "undrained": told.drained is None,
        "stale-tail": _stale_tail(told),
        "poll-skip": any(_skipped(told, inside=False)),
        "int-poll-skip": any(_skipped(told, inside=True)),
        "int-nonmonotonic-poll": any(
            later[0] <= earlier[0] for _, _, _, records, *_ in told.reads for earlier, later in pairwise(records)
        ),
        "min-in-sync": _below_minimum(told, min_in_sync),
        "lost-commit": _lost_commit(told),
        "no-recovery": _no_recovery(told),
        "did-not-come-back": told.in_sync is not None and len(told.in_sync) < REPLICAS,
        "stopped-by-minority": _longest_outage(told) > STOPPED_MS,
        "rto-budget": rto_budget_ms is not None and _longest_outage(told) > rto_budget_ms,
    }
    return {name for name, holds in found.items() if holds}


def _stale_tail(told):
    for queue, _, after, _, strong, invoked, _ in told.reads:
        if strong and any(ack[0] == queue and ack[1] >= after and ack[4] + SLACK_MS < invoked for ack in told.acks):
            return True
    return False


def _skipped(told, *, inside):
    """For each read whether it passed over a known record, between two of its records or at its edges."""
    known = defaultdict(set)
    for queue, offset in told.at:
        known[queue].add(offset)
    for queue, asked, after, records, *_ in told.reads:
        got = {offset for offset, _ in records}
        first, last = min(got, default=after), max(got, default=after)
        missed = known[queue].intersection(range(asked, after)) - got
        yield any((first < offset < last) == inside for offset in missed)


def _below_minimum(told, minimum):
    for (start_ms, *who, size), (end_ms, *same, other) in pairwise(sorted(told.sets, key=lambda one: one[1:4])):
        small = who == same and size < minimum and other < minimum
        if small and any(ack[5] == who[0] and start_ms <= ack[3] and ack[4] <= end_ms for ack in told.acks):
            return True
    return False


def _lost_commit(told):
    """An answer that an acknowledged commit had certainly overwritten."""
    for queue, offset, invoked in told.committed_reads:
        writes = [tried for tried in told.tried_commits if tried[:2] == (queue, offset)]
        for done in told.commits:
            over = done[0] == queue and done[1] != offset and done[3] + SLACK_MS < invoked
            if over and not any(tried[2] + DEADLINE_MS + SLACK_MS > done[2] for tried in writes):
                return True
    return False


def _no_recovery(told):
    """Nothing acknowledged since the last heal, though the load went on."""
    if told.healed_ms is None or told.load_end_ms - told.healed_ms < RECOVERS_MS:
        return False
    return not any(ack[4] >= told.healed_ms for ack in told.acks)


def _longest_outage(told):
    times = sorted(ack[4] for ack in told.acks)
    return max((later - earlier for earlier, later in pairwise(times)), default=0)
