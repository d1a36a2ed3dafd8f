"""Which revision each operation was told, what it changed, and what must have been before it in real time.

Of an answer the revision of the whole store when the operation took place; a change takes place at a revision of its
own. What was answered before another operation was called is not above it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

from chaos.formats.etcd_robustness import Did, EtcdReport
from chaos.formats.etcd_words import DELETE, PUT, Content, KeyHeld, Request, or_empty
from checkers.revisions.space import branch

Fact = dict[str, Content | None]
"""What became of keys at a revision, None: deleted."""

NEVER: Final = 1 << 62
"""A revision that no store reaches."""
EMPTY: Final = 1
"""The revision of a store to which nothing was written yet."""


class Slow(NamedTuple):
    """An operation that was told a revision which is too low: behind which other one, and what that was told."""

    did: Did
    earlier: Did
    reached: int


def changes_of(did: Did) -> bool:
    """Whether an answered operation says that it changed something."""
    txn, answer = did.request.txn, did.response.txn
    if txn is None or answer is None:
        return False
    parts = branch(txn, failure=answer.failure)
    deleted = any(result.deleted for result in or_empty(answer.results))
    return deleted or any(part.kind == PUT for part in parts)


class Pinned:
    """The operations of a report by their revisions.

    ``writes``: by revision the operation that changed something there, the first of them. ``twice``: others of the same
    revision. ``others``: by revision those that saw it and changed nothing. ``open``: changes of unknown outcome.
    ``loose``: reads whose answers name revisions of keys and none of the store. ``last``: the highest revision that any
    operation was told.
    """

    def __init__(self, report: EtcdReport) -> None:
        self.report = report
        self.writes: dict[int, Did] = {}
        self.twice: list[tuple[Did, Did]] = []
        self.others: dict[int, list[Did]] = {}
        self.past: dict[int, list[Did]] = {}
        self.open: list[Did] = []
        self.loose: list[Did] = []
        self.compactions: list[Did] = []
        self._told: list[Did] = []
        for did in report.operations:
            self._sort(did)
        self.last = max((did.response.revision for did in self._told), default=1)

    def _sort(self, did: Did) -> None:
        request, response = did.request, did.response
        if request.kind == "compact":
            self.compactions.append(did)
        elif did.unknown:
            if not request.reads and request.kind in ("txn", "leaseRevoke"):
                self.open.append(did)
        elif request.kind != "defragment" and not response.refused and response.revision > 0:
            self._told.append(did)
            if changes_of(did):
                first = self.writes.setdefault(response.revision, did)
                if first is not did:
                    self.twice.append((did, first))
            elif request.range is not None and request.range.revision:
                self.past.setdefault(request.range.revision, []).append(did)
            elif request.kind != "leaseGrant":
                self.others.setdefault(response.revision, []).append(did)
        elif request.range is not None and response.range is not None and not response.refused:
            self.loose.append(did)

    @cached_property
    def revocations(self) -> list[Did]:
        """The revocations of leases that were answered."""
        return [did for did in self._told if did.request.revoke is not None]

    @property
    def with_revision(self) -> Sequence[Did]:
        """The operations that were told a revision."""
        return self._told

    @cached_property
    def found_empty(self) -> bool:
        """Whether some answer shows that nothing was there before: one at revision 1, or a change to revision 2."""
        return EMPTY + 1 in self.writes or any(did.response.revision == EMPTY for did in self._told)

    @cached_property
    def _ends(self) -> tuple[list[int], list[tuple[Did, int]]]:
        """When operations returned, in order, and of each the one with the highest revision until then, and that."""
        seen = [(did, did.response.revision) for did in self._told]
        seen += [(did, max((one.revision for one in held_in(did)), default=1)) for did in self.loose]
        seen.sort(key=lambda one: one[0].ret)
        highest: list[tuple[Did, int]] = []
        for did, revision in seen:
            above = not highest or revision > highest[-1][1]
            highest.append((did, revision) if above else highest[-1])
        return [did.ret for did, _ in seen], highest

    @cached_property
    def _begins(self) -> tuple[list[int], list[int]]:
        """When operations were called, in order, and the lowest revision before any of those from each one on."""
        ordered = sorted(self._told, key=lambda did: did.call)
        lowest, least = [], NEVER
        for did in reversed(ordered):
            least = min(least, did.response.revision - changes_of(did))
            lowest.append(least)
        return [did.call for did in ordered], lowest[::-1]

    def not_yet(self, at: int) -> int:
        """The highest revision of which an instant may have been, by what was called behind it."""
        begins, lowest = self._begins
        place = bisect_right(begins, at)
        return lowest[place] if place < len(lowest) else NEVER

    def before(self, at: int) -> tuple[Did, int] | None:
        """The operation with the highest revision of those that returned before an instant, and that revision."""
        ends, highest = self._ends
        place = bisect_left(ends, at)
        return highest[place - 1] if place else None

    def reached(self, at: int) -> int:
        """The highest revision that was told before an instant, 1 if none was."""
        one = self.before(at)
        return one[1] if one is not None else 1

    def slow(self) -> list[Slow]:
        """The operations that were told a revision which real time forbids."""
        found = []
        for did in self._told:
            before = self.before(did.call)
            if before is None:
                continue
            earlier, reached = before
            if did.response.revision < reached or (did.response.revision == reached and changes_of(did)):
                found.append(Slow(did, earlier, reached))
        return found

    def ahead(self) -> list[Did]:
        """The reads of a revision that was answered before it was there."""
        ranges = ((did, did.request.range) for did in self._told)
        return [did for did, asked in ranges if asked is not None and asked.revision > did.response.revision]

    @cached_property
    def facts(self) -> dict[int, Fact]:
        """What reads and watches show of the revisions of which no client was told that it changed anything."""
        found: dict[int, Fact] = {}
        for did in (*self._told, *self.loose):
            for one in shown_by(did):
                if one[0] not in self.writes:
                    found.setdefault(one[0], {})[one[1]] = one[2]
        for watch in self.report.watches:
            for message in or_empty(watch.line.messages):
                for event in or_empty(message.events):
                    if event.revision not in self.writes:
                        value = None if event.kind == DELETE else event.value
                        found.setdefault(event.revision, {})[event.key] = value
        return found


def held_in(did: Did) -> list[KeyHeld]:
    """The keys that an answer returned."""
    response = did.response
    if response.range is not None:
        return list(or_empty(response.range.held))
    results = or_empty(response.txn.results) if response.txn is not None else ()
    return [one for result in results for one in or_empty(result.held)]


def shown_by(did: Did) -> list[tuple[int, str, Content]]:
    """Revisions, keys and values that an answer shows."""
    if did.request.range is not None and did.request.range.keys_only:
        return []
    return [(one.revision, one.key, one.value) for one in held_in(did)]


def may_make(request: Request, fact: Fact) -> bool:
    """Whether a request of unknown outcome may have done all that is known of a revision."""
    if request.revoke is not None:
        return all(value is None for value in fact.values())
    if request.txn is None:
        return False
    puts = {(part.put.key, part.put.value) for part in request.txn.parts if part.kind == PUT}
    deletes = {part.delete.key for part in request.txn.parts if part.kind == DELETE}
    return all(key in deletes if value is None else (key, value) in puts for key, value in fact.items())
