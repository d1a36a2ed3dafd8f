"""The check ``lease``: a lease lives as long as was acknowledged, and its entry no longer (semantics.md, 33, 34).

Only what is certain counts. The work is n log n, plus a step for each lease and each look at it while it lived.
Leases that cannot have anything wrong are passed over (``lease_suspects``).
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.models.coordination.lease import MODEL, F
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import Findings
from checkers.anomalies.findings_check import OfOneModel
from checkers.coordination.lease_ends import Ends, ends_of
from checkers.coordination.lease_facts import Lease, Looks, leases_of, sights_of
from checkers.coordination.lease_suspects import suspects_of
from checkers.coordination.violations import Opening, Wrong, findings_of
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints

_NONE: Final = np.zeros(0, np.int64)
OPENING: Final = Opening("{place}: at {at} {who}", "{place}: {who} was asked at {at} and")
KINDS: Final = ("phantom", "lease-lost-early", "lease-renewed-after-end", "lease-outlived")


class LeaseCheck(OfOneModel):
    """Looks at the leases of each place."""

    name = "lease"
    help = "an acknowledged renewal keeps a lease alive, and an entry ends with its lease"
    anomalies = kinds_named(*KINDS)
    model = MODEL
    noun = "lease"
    clean = "every lease lived as long as was acknowledged, and no entry longer than its lease"
    kept = "lived as long as was acknowledged"
    unseen = "nobody looked at a lease while it had to be alive"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one place."""
        sights, ends = sights_of(shard), ends_of(context, shard.key)
        suspects = suspects_of(shard, sights, ends.within_ns)
        looks = sights.looks(suspects.numbers)
        leases = leases_of(shard, looks, suspects.numbers)
        complete = shard.ops.complete
        wrong = [one for lease in leases for one in wrongs_of_lease(lease, looks, complete, ends, whole=context.whole)]
        return findings_of(shard, context, KINDS, wrong, suspects.alive, OPENING)


def wrongs_of_lease(lease: Lease, looks: Looks, complete: Ints, ends: Ends, *, whole: bool) -> Iterator[Wrong]:
    """What is wrong of one lease, each kind once.

    Args:
        lease: it.
        looks: all looks at its place.
        complete: of every operation when it was answered.
        ends: when leases end by themselves.
        whole: whether everything that was asked is known.
    """
    seen = looks.seen.get(lease.number, _NONE)
    if not lease.asked:
        if len(seen):
            yield _wrong("phantom", "showed", lease, ", which no client took", int(looks.op[seen[0]]))
        return
    if whole and (lost := lost_early(lease, looks)) is not None:
        look, kept = lost
        after = _after(int(looks.complete[look]), int(lease.kept_invoke[kept]))
        by = "grant" if lease.kept_f[kept] == F.GRANT else "renewal"
        said = f", {after} a {by} was sent, which was acknowledged and should have kept it alive"
        yield _wrong("lease-lost-early", "did not show", lease, said, int(lease.kept_op[kept]), int(looks.op[look]))
    gone = end_of_lease(lease, looks, complete)
    if gone is not None and len(late := np.flatnonzero(lease.kept_invoke > gone.ns)):
        said = f" when asked {_after(int(lease.kept_invoke[late[0]]), gone.ns)} {gone.how}"
        yield _wrong("lease-renewed-after-end", "renewed", lease, said, gone.op, int(lease.kept_op[late[0]]))
    yield from _outlived(lease, looks, gone, ends)


def _outlived(lease: Lease, looks: Looks, gone: "Ended | None", ends: Ends) -> Iterator[Wrong]:
    """The first look that saw an entry after its lease had ended."""
    for look in looks.seen.get(lease.number, _NONE).tolist():
        at_ns = int(looks.invoke[look])
        if gone is not None and at_ns > gone.ns:
            said, shown = f" when asked {_after(at_ns, gone.ns)} {gone.how}", [gone.op]
        elif (over_ns := ends.ended_ns(lease, at_ns)) is not None:
            said, shown = (
                f" when asked {_after(at_ns, over_ns)} it must have ended",
                lease.kept_op[-1:].tolist(),
            )
        else:
            continue
        yield _wrong("lease-outlived", "showed", lease, said, *shown, int(looks.op[look]))
        return


def kept_alive(lease: Lease, looks: Looks) -> Ints:
    """The places of looks during all of which a lease had to be there."""
    if lease.known_ns is None or not len(lease.kept_op):
        return _NONE
    most = np.maximum.accumulate(lease.kept_until)
    first = np.searchsorted(looks.invoke, lease.known_ns, side="right")
    which = np.arange(first, np.searchsorted(looks.invoke, most[-1], side="left"))
    by = looks.complete[which]
    kept = np.searchsorted(lease.kept_invoke, by, side="right") - 1
    alive = (kept >= 0) & (by < most[kept])
    if lease.maybe_revoked_ns is not None:
        alive &= by < lease.maybe_revoked_ns
    return which[alive]


def lost_early(lease: Lease, looks: Looks) -> tuple[int, int] | None:
    """The first look that missed a lease which had to be there, and the acknowledgement that kept it; None without."""
    missed = np.setdiff1d(kept_alive(lease, looks), looks.seen.get(lease.number, _NONE), assume_unique=True)
    if not len(missed):
        return None
    look = int(missed[0])
    sent = int(np.searchsorted(lease.kept_invoke, looks.complete[look], side="right"))
    return look, int(np.argmax(lease.kept_until[:sent]))


class Ended(NamedTuple):
    """When a lease had surely ended first, the operation that shows it, and in words how."""

    ns: int
    op: int
    how: str


def end_of_lease(lease: Lease, looks: Looks, complete: Ints) -> Ended | None:
    """When a lease had surely ended by what was answered; None if no answer shows it."""
    shown = []
    if lease.revoked_op >= 0:
        shown.append(Ended(int(complete[lease.revoked_op]), lease.revoked_op, "it had been given back"))
    if lease.known_ns is not None:
        first = int(np.searchsorted(looks.invoke, lease.known_ns, side="right"))
        seen = looks.seen.get(lease.number, _NONE)
        seen = seen[seen >= first]
        gaps = np.flatnonzero(seen != first + np.arange(len(seen)))
        missed = first + (int(gaps[0]) if len(gaps) else len(seen))
        if missed < len(looks.op):  # one that was answered sooner began before this one was answered
            beside = np.arange(missed, np.searchsorted(looks.invoke, looks.complete[missed], side="right"))
            beside = np.setdiff1d(beside, seen, assume_unique=True)
            soonest = int(beside[np.argmin(looks.complete[beside])])
            shown.append(Ended(int(looks.complete[soonest]), int(looks.op[soonest]), "a look had missed it"))
    return min(shown, default=None)


def _wrong(kind: str, verb: str, lease: Lease, said: str, *ops: int) -> Wrong:
    """``showed lease 7, which no client took``."""
    return Wrong(kind, f"{verb} lease {lease.number}{said}", ops)


def _after(late_ns: int, early_ns: int) -> str:
    return f"{(late_ns - early_ns) / NS_PER_S:.2f} s after"
