"""Which change of unknown outcome took which revision, so that every answer fits: a search over the open revisions.

Changes that were acknowledged are replayed at their revisions. A revision that none of them has is *open*: one of the
changes of unknown outcome takes it. What reads and watches show of it decides which; else all are tried. A conflict
goes back to the latest open revision that can have to do with it (conflict-directed backjumping), and where there is
none it is proven.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from chaos.formats.etcd_robustness import Did
from chaos.formats.etcd_words import RangeOptions
from checkers.objects.rules import Budget
from checkers.revisions.compare import Difference, differs, outcome_differs
from checkers.revisions.pinned import Fact, Pinned, held_in, may_make
from checkers.revisions.space import Changes, Space, branch, keys_of

MOST: Final = 200
"""So many conflicts are looked for at most."""


class Wrong(NamedTuple):
    """An answer that no placement explains. ``did``: None where a revision has no change. ``related``: see there."""

    kind: str
    said: str
    did: Did | None
    revision: int
    related: tuple[int, ...] = ()
    """The revisions whose changes show it as well."""


class Conflict(NamedTuple):
    """What does not fit, and the open revisions that can have to do with it."""

    wrong: Wrong
    reasons: frozenset[int]


class Open(msgspec.Struct):
    """An open revision: who may have taken it, who does now, and the revisions that spoiled its other takers."""

    revision: int
    options: list[Did]
    mark: int
    tried: int = 0
    taken: Did | None = None
    reasons: set[int] = msgspec.field(default_factory=set)
    keys: frozenset[str] | None = None


class Search:
    """The replay of all changes.

    Args:
        pinned: the operations.
        budget: of the search.
    """

    def __init__(self, pinned: Pinned, budget: Budget) -> None:
        self.wrong: list[Wrong] = []
        self.gave_up = ""
        self.changes: Changes = {}
        self._pinned = pinned
        self._budget = budget
        self._excused: set[int] = set()
        self._nobody: set[int] = set()
        self._versions = any(one.version for did in pinned.with_revision for one in held_in(did))
        self._begin()

    def _begin(self) -> None:
        self._space = Space()
        self._frames: list[Open] = []
        self._used: set[int] = set()
        self._deepest: Conflict | None = None
        self.changes = {}

    def run(self) -> None:
        """Fill ``wrong`` with all that is proven, and ``gave_up`` with why more is not known."""
        revision = 1
        while revision <= self._pinned.last and not self.gave_up:
            conflict = self._advance(revision)
            if self.gave_up:
                return
            if conflict is None:
                revision += 1
                continue
            if self._deepest is None or conflict.wrong.revision >= self._deepest.wrong.revision:
                self._deepest = conflict
            found = self._back(conflict)
            if self.gave_up:
                return
            if found is not None:
                revision = found
                continue
            in_place = not conflict.reasons
            self._prove(conflict if in_place else self._deepest)
            if not in_place:
                self._begin()
                revision = 1

    def _prove(self, conflict: Conflict) -> None:
        wrong = conflict.wrong
        self.wrong.append(wrong)
        if wrong.did is None:
            self._nobody.add(wrong.revision)
        else:
            self._excused.add(wrong.did.number)
        if len(self.wrong) >= MOST:
            self.gave_up = f"more than {MOST} answers fit nothing"

    def _back(self, conflict: Conflict) -> int | None:
        """Try another taker of the latest open revision that matters; where to go on, None if there is none."""
        reasons = set(conflict.reasons)
        while reasons and not self.gave_up:
            latest = max(reasons)
            while self._frames[-1].revision > latest:
                self._drop()
            frame = self._frames[-1]
            frame.reasons |= reasons - {latest}
            self._release(frame)
            again = self._next(frame)
            if again is None:
                return latest + 1
            reasons = set(again.reasons)
        return None

    def _drop(self) -> None:
        frame = self._frames.pop()
        self._release(frame)

    def _release(self, frame: Open) -> None:
        self._undo_to(frame.mark, frame.revision)
        if frame.taken is not None:
            self._used.discard(frame.taken.number)
            frame.taken = None

    def _undo_to(self, mark: int, revision: int) -> None:
        self._space.back_to(mark)
        revoked = self._space.revoked
        for lease in [one for one, at in revoked.items() if at >= revision]:
            del revoked[lease]

    def _advance(self, revision: int) -> Conflict | None:
        """Do the change of a revision and look at everybody who saw it."""
        self.gave_up = self.gave_up or self._budget.spent(0) or ""
        write = self._pinned.writes.get(revision)
        if write is None and revision > 1 and revision not in self._nobody:
            frame = Open(revision, self._options(revision), self._space.mark())
            frame.keys = _all_keys(frame.options)
            self._frames.append(frame)
            return self._next(frame)
        mark = self._space.mark()
        conflict = None
        if write is not None:
            conflict = self._write(write, revision)
        elif revision in self._nobody:
            self._assume(revision)
        conflict = conflict or self._seen(revision, mark)
        if conflict is not None:
            self._undo_to(mark, revision)
        return conflict

    def _assume(self, revision: int) -> None:
        """What is known of a revision that nobody took."""
        for key, value in self._facts(revision).items():
            if value is None:
                self._space.delete(key)
            else:
                self._space.put(key, value, revision)

    def _next(self, frame: Open) -> Conflict | None:
        """Let the next one take an open revision."""
        first: Wrong | None = None
        while frame.tried < len(frame.options) and not self.gave_up:
            option = frame.options[frame.tried]
            frame.tried += 1
            self.gave_up = self.gave_up or self._budget.spent(0) or ""
            if self._space.perform(option.request, frame.revision):
                if option.request.revoke is not None:
                    self._space.revoked.setdefault(option.request.revoke.id, frame.revision)
                conflict = self._seen(frame.revision, frame.mark)
                if conflict is None:
                    frame.taken = option
                    self._used.add(option.number)
                    return None
                first = first or conflict.wrong
                frame.reasons |= conflict.reasons
                self._undo_to(frame.mark, frame.revision)
            else:
                frame.reasons |= self._touching(keys_of(option.request), whole=option.request.revoke is not None)
        self._frames.pop()
        for earlier in self._frames:  # who took another revision might have taken this one
            if earlier.taken is not None and may_make(earlier.taken.request, self._facts(frame.revision)):
                frame.reasons.add(earlier.revision)
        frame.reasons.discard(frame.revision)
        wrong = first or Wrong("kv-revision-skipped", self._skipped(frame), None, frame.revision)
        return Conflict(wrong, frozenset(frame.reasons))

    def _skipped(self, frame: Open) -> str:
        fact = self._facts(frame.revision)
        told = ", ".join(f"{key}={value}" if value is not None else f"{key} deleted" for key, value in fact.items())
        shown = f" ({told})" if told else ""
        if frame.options:
            return (
                f"revision {frame.revision}{shown} was reached, and no operation of unknown outcome could have made it"
            )
        return f"revision {frame.revision}{shown} was reached, and no operation made it"

    def _facts(self, revision: int) -> Fact:
        return self._pinned.facts.get(revision, {})

    def _options(self, revision: int) -> list[Did]:
        """Who may have taken an open revision: those that were told it, then those of unknown outcome."""
        reached = self._pinned.reached
        revokes = [did for did in self._pinned.others.get(revision, ()) if did.request.revoke is not None]
        told = [did for did in revokes if reached(did.call) < revision]
        known: dict[object, Did] = {}
        for did in self._pinned.open:
            if did.number not in self._used and reached(did.call) < revision:
                persisted = did.response.persisted_revision
                if not persisted or persisted == revision:
                    known.setdefault(did.request, did)
        fact = self._facts(revision)
        every = [*told, *known.values()]
        fitting = [did for did in every if may_make(did.request, fact)]
        return fitting or every

    def _touching(self, keys: Iterable[str], *, whole: bool = False) -> frozenset[int]:
        """The open revisions whose takers may change one of some keys."""
        if not self._frames:
            return frozenset()
        wanted = set(keys)
        return frozenset(
            one.revision for one in self._frames if whole or one.keys is None or not one.keys.isdisjoint(wanted)
        )

    def _in_range(self, options: RangeOptions) -> frozenset[int]:
        return frozenset(one.revision for one in self._frames if one.keys is None or any(map(options.holds, one.keys)))

    def _write(self, did: Did, revision: int) -> Conflict | None:
        """Replay an acknowledged change; one that is excused does what its answer says."""
        txn, answer = did.request.txn, did.response.txn
        assert txn is not None
        assert answer is not None
        lost = [part.put.lease for part in branch(txn, failure=answer.failure) if self._space.lost(part.put.lease)]
        mark = self._space.mark()
        if did.number in self._excused:
            for lease in lost:
                self._space.revoked.pop(lease)
            self._space.transact(txn, revision, answer.failure)
            return None
        outcome = self._space.transact(txn, revision)
        if lost:
            said = f"the put was acknowledged with lease {lost[0]:x}, which had been revoked"
            difference: Difference | None = Difference(said)
        else:
            difference = outcome_differs(txn, answer, outcome, versions=self._versions)
        if difference is None:
            return None
        self._space.back_to(mark)
        ranges = [part.range for part in branch(txn, failure=answer.failure)]
        reasons = self._touching(keys_of(did.request), whole=bool(lost))
        reasons = reasons.union(*(self._in_range(one) for one in ranges if one.end))
        return Conflict(_wrong("kv-wrong-answer", difference, did, revision), reasons)

    def _seen(self, revision: int, mark: int) -> Conflict | None:
        """The first of those who saw a revision whose answer does not fit it."""
        for did in self._pinned.others.get(revision, ()):
            conflict = None if did.number in self._excused else self._other(did, revision)
            if conflict is not None:
                return conflict
        for did in self._pinned.past.get(revision, ()):
            conflict = None if did.number in self._excused else self._read(did, revision)
            if conflict is not None:
                return conflict
        if revision > 1:
            self.changes[revision] = self._space.changed_since(mark)
        return None

    def _other(self, did: Did, revision: int) -> Conflict | None:
        txn, answer = did.request.txn, did.response.txn
        if did.request.revoke is not None:
            lease = did.request.revoke.id
            kept = self._space.attached(lease)
            self._space.revoked.setdefault(lease, revision)
            if not kept:
                return None
            said = f"lease {lease:x} was revoked, and {kept[0]} was still attached to it"
            return Conflict(Wrong("kv-wrong-answer", said, did, revision), self._touching((), whole=True))
        if txn is None or answer is None:
            return self._read(did, revision)
        mark = self._space.mark()
        outcome = self._space.transact(txn, revision)
        self._space.back_to(mark)
        difference = outcome_differs(txn, answer, outcome, versions=self._versions)
        if difference is None:
            return None
        kind = "kv-wrong-read" if did.request.reads else "kv-wrong-answer"
        ranges = [part.range for part in branch(txn, failure=answer.failure)]
        reasons = self._touching(keys_of(did.request)).union(*(self._in_range(one) for one in ranges if one.end))
        return Conflict(_wrong(kind, difference, did, revision), reasons)

    def _read(self, did: Did, revision: int) -> Conflict | None:
        asked, answer = did.request.range, did.response.range
        if asked is None or answer is None:
            return None
        difference = differs(answer, self._space.read(asked), versions=self._versions)
        if difference is None:
            return None
        return Conflict(_wrong("kv-wrong-read", difference, did, revision), self._in_range(asked))


def _wrong(kind: str, difference: Difference, did: Did, revision: int) -> Wrong:
    return Wrong(kind, difference.said, did, revision, difference.revisions)


def _all_keys(options: list[Did]) -> frozenset[str] | None:
    """The keys that any of them may change; None: any key."""
    if any(did.request.revoke is not None for did in options):
        return None
    return frozenset(key for did in options for key in keys_of(did.request))
