"""Who made the revisions that answers show and no acknowledged change has: changes of unknown outcome, one each."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from chaos.formats.etcd_robustness import Did
from chaos.formats.etcd_words import DELETE, PUT, Content, Part, Request, or_empty
from checkers.revisions.matching import unmatched
from checkers.revisions.pinned import Fact, Pinned, held_in, may_make
from checkers.revisions.search import Wrong

UNKNOWN: Final = Content("?")
"""What a key holds of which only the revision is known."""
_SKIPPED: Final = "kv-revision-skipped"


class Makers:
    """What is shown of revisions, and who may have made each.

    ``facts``: what is shown. ``forced``: by revision the only one who can have made it. ``options``: by each other
    revision who may have. ``nobody``: revisions that are left over. ``able``: by kind of operation and key the changes
    of unknown outcome that have one.

    Args:
        pinned: the operations.
    """

    def __init__(self, pinned: Pinned) -> None:
        self._pinned = pinned
        self.able: dict[tuple[str, str], list[Did]] = defaultdict(list)
        for did in pinned.open:
            for part in did.request.parts:
                self.able[part.kind, part.first_key].append(did)
        self.nobody: list[Wrong] = []
        self.facts = self._with_expected()
        self.options = self._makers()
        self.forced = self._forced()

    def _makers(self) -> dict[int, list[Did]]:
        """By revision that an answer shows and no acknowledged change has: who may have made it."""
        pinned, known = self._pinned, self._known()
        return {
            revision: [
                did
                for did in self._who_may_have_made(fact)
                if pinned.reached(did.call) < revision and self._may_hold(did, revision, known)
            ]
            for revision, fact in sorted(self.facts.items())
        }

    def _who_may_have_made(self, fact: Fact) -> list[Did]:
        """The changes of unknown outcome that may have done all that is known of a revision."""
        key, value = next(iter(fact.items()))
        own = self.able[DELETE if value is None else PUT, key]
        return [did for did in own if _may_make(did.request, fact)]

    def _with_expected(self) -> dict[int, Fact]:
        """What is shown of revisions that no acknowledged change has; also that a comparison's key was put at one.

        That is left out where nobody can have put it: the comparison was answered wrongly then.
        """
        pinned = self._pinned
        facts = {revision: dict(fact) for revision, fact in pinned.facts.items()}
        for did in pinned.writes.values():
            for one in did.request.conditions:
                if not one.revision or one.revision in pinned.writes:
                    continue
                fact = {one.key: UNKNOWN, **facts.get(one.revision, {})}
                makers = self._who_may_have_made(fact)
                if any(pinned.reached(maker.call) < one.revision for maker in makers):
                    facts[one.revision] = fact
        return facts

    def _known(self) -> dict[str, list[tuple[int, bool]]]:
        """By key the revisions at which it is known to have been changed, in order, and whether it was there then."""
        found: dict[str, dict[int, bool]] = {}
        for revision, did in self._pinned.writes.items():
            for part, deleted in done(did):
                if part.kind == PUT or deleted:
                    found.setdefault(part.first_key, {})[revision] = part.kind == PUT
        for revision, fact in self.facts.items():
            for key, value in fact.items():
                found.setdefault(key, {})[revision] = value is not None
        return {key: sorted(own.items()) for key, own in found.items()}

    def _may_hold(self, did: Did, revision: int, known: Mapping[str, list[tuple[int, bool]]]) -> bool:
        """Whether the comparisons of a change of unknown outcome may have held just before a revision."""
        for one in did.request.conditions:
            own = known.get(one.key, [])
            place = bisect_left(own, (revision, False))
            latest, there = own[place - 1] if place else (0, False)
            if one.revision:
                if latest > one.revision or (latest < one.revision and one.revision >= revision):
                    return False
            elif there and not any(
                other is not did and self._pinned.reached(other.call) < revision - 1
                for other in self.able[DELETE, one.key]
            ):
                return False
        return True

    def _forced(self) -> dict[int, Did]:
        """By revision its only possible maker. Revisions that no operation can have made are noted."""
        left = {revision: {did.number: did for did in own} for revision, own in self.options.items()}
        places = {revision: tuple(own) for revision, own in left.items()}
        for revision in unmatched(places):
            self.nobody.append(self._skipped(revision))
            del left[revision]
        forced: dict[int, Did] = {}
        single = [revision for revision, own in left.items() if len(own) == 1]
        while single:
            revision = single.pop()
            if len(left[revision]) != 1 or revision in forced:
                continue
            (number,) = left[revision]
            forced[revision] = left[revision][number]
            for other, own in left.items():
                if other != revision and own.pop(number, None) is not None and len(own) == 1:
                    single.append(other)
        self.options = {revision: list(own.values()) for revision, own in left.items() if revision not in forced}
        return forced

    def _skipped(self, revision: int) -> Wrong:
        fact = self.facts[revision]
        shown = ", ".join(f"{key}={value}" for key, value in fact.items())
        said = f"revision {revision} ({shown}) was shown, and no operation can have made it"
        who = (did for did in (*self._pinned.with_revision, *self._pinned.loose))
        shower = next((did for did in who if any(one.revision == revision for one in held_in(did))), None)
        return Wrong(_SKIPPED, said, shower, revision)


def _may_make(request: Request, fact: Fact) -> bool:
    """Whether a request of unknown outcome may have done all that is known of a revision."""
    unknown = {key for key, value in fact.items() if value is UNKNOWN}
    if not unknown <= {part.put.key for part in request.parts if part.kind == PUT}:
        return False
    return may_make(request, {key: value for key, value in fact.items() if key not in unknown})


def done(did: Did) -> Iterator[tuple[Part, int]]:
    """The operations of an acknowledged change, each with how many keys it deleted; below 0: it is not told."""
    txn, answer = did.request.txn, did.response.txn
    if txn is not None and answer is not None and not answer.failure:
        for part, result in zip(or_empty(txn.success), or_empty(answer.results), strict=True):
            yield part, result.deleted
