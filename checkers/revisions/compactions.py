"""Compactions: each must have had a moment at which its revision was there and no higher one was forgotten."""

from collections.abc import Iterator

from chaos.formats.etcd_robustness import Did
from checkers.revisions.pinned import Pinned
from checkers.revisions.search import Wrong


def wrong_compactions(pinned: Pinned) -> Iterator[Wrong]:
    """The answers of compactions that had no such moment."""
    done = sorted((did for did in pinned.compactions if _done(did)), key=_revision)
    earliest: dict[int, int] = {}
    before: Did | None = None
    moment = 0
    for did in done:
        revision = _revision(did)
        moment = max(moment, did.call, _there_from(pinned, revision))
        earliest[did.number] = moment
        if before is not None and _revision(before) == revision:
            yield _wrong(did, f"history up to {revision} was forgotten twice, and both were acknowledged")
        elif revision > pinned.last + len(pinned.open):
            yield _wrong(did, f"history up to {revision} was forgotten, the store was at {pinned.last} at most")
        elif moment > did.ret:
            yield _wrong(did, f"history up to {revision} was forgotten before that revision was there")
            moment = did.ret
        before = did
    yield from _wrong_refusals(pinned, earliest)


def _wrong_refusals(pinned: Pinned, earliest: dict[int, int]) -> Iterator[Wrong]:
    for did in pinned.compactions:
        refused, revision = did.response.refused, _revision(did)
        if "future" in refused and pinned.reached(did.call) >= revision:
            said = f"it was refused as of the future, and revision {revision} was there before it was called"
            yield _wrong(did, said, revision)
        elif "compacted" in refused:
            others = (one for one in pinned.compactions if not one.response.refused and _revision(one) >= revision)
            if not any(earliest.get(one.number, one.call) <= did.ret for one in others):
                yield _wrong(did, f"it was refused as compacted, and nobody had history up to {revision} forgotten")


def _there_from(pinned: Pinned, revision: int) -> int:
    """The earliest moment at which a revision may have been there.

    The k-th open revision needs k changes of unknown outcome, or revocations, that had been called.
    """
    told = max((did.call for at, did in pinned.writes.items() if at <= revision), default=0)
    open_ = revision - 1 - sum(at <= revision for at in pinned.writes)
    calls = sorted(did.call for did in (*pinned.open, *pinned.revocations))
    return max(told, calls[min(open_, len(calls)) - 1]) if open_ > 0 and calls else told


def _done(did: Did) -> bool:
    return not did.unknown and not did.response.refused


def _revision(did: Did) -> int:
    return did.request.compact.revision if did.request.compact is not None else 0


def _wrong(did: Did, said: str, *related: int) -> Wrong:
    return Wrong("kv-wrong-answer", said, did, _revision(did), related)
