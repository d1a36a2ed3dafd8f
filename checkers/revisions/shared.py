"""A key space in a store that others change too: whether its answers fit one sequence of changes (semantics.md, 67).

Revisions between those that are known may be anybody's. So what is known for certain is put in order, key by key: the
changes that were acknowledged, and those that an answer shows. A change of unknown outcome that nobody saw is called
for only where an answer needs it: a key is gone that was there, or one was deleted that was not. Which of these changes
explains which of such places is a matching, so every step takes polynomial time.

That two changes need a revision where there is room for one alone is not looked at, nor that one transaction would have
to be at two revisions.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from chaos.formats.etcd_robustness import Did
from chaos.formats.etcd_words import DELETE, PUT, Content, Part, RangeOptions, Request, TxnRequest, or_empty
from checkers.revisions.makers import Makers, done
from checkers.revisions.matching import unmatched
from checkers.revisions.pinned import Pinned, changes_of, held_in
from checkers.revisions.search import Wrong
from checkers.revisions.space import branch, keys_of
from checkers.revisions.timeline import Seen, Stretch, Timeline

_READ: Final = "kv-wrong-read"
_ANSWER: Final = "kv-wrong-answer"
_STALE: Final = "kv-stale-read"


class Need(NamedTuple):
    """A change that nobody saw, and that an answer calls for: of which kind, of which key.

    ``low``, ``high``: behind one revision, up to another. ``seen``, ``said``: whose answer is wrong otherwise, and what
    is said of it. ``start``: since when the key was as that answer has it no more.
    """

    kind: str
    key: str
    low: int
    high: int
    seen: Seen
    said: str
    start: int


class Somewhere(NamedTuple):
    """A key that an answer without a revision did not find; in one of these stretches it must have been deleted."""

    key: str
    seen: Seen
    said: str
    stretches: list[Stretch]


class Shared:
    """The changes and answers of one space.

    Args:
        pinned: the operations.
    """

    def __init__(self, pinned: Pinned) -> None:
        self._pinned = pinned
        self._wrong: dict[int, Wrong] = {}
        self._makers = Makers(pinned)
        self._made_known = {did.number for did in self._makers.forced.values()}
        changes = self._changes()
        self._taken = sorted({revision for own in changes.values() for revision in own})
        told = (one.key for did in (*pinned.with_revision, *pinned.loose) for one in held_in(did))
        asked = (key for did in pinned.report.operations for key in _named(did.request))
        self._keys = sorted({*changes, *told, *asked})
        self._lines = {key: Timeline(changes.get(key, {})) for key in self._keys}

    def run(self) -> list[Wrong]:
        """All that does not fit."""
        for did in self._pinned.with_revision:
            self._look(did)
        several = [need for did in self._pinned.loose for need in self._look_loosely(did)]
        self._match()
        for need in several:
            if not self._is_explained(need):
                self._is_wrong(need.seen.did, need.seen.kind, need.said, need.stretches[0].start)
        return [*self._makers.nobody, *(self._wrong[number] for number in sorted(self._wrong))]

    # What is known for certain.

    def _changes(self) -> dict[str, dict[int, Content | None]]:
        """By key and revision what it holds since."""
        out: dict[str, dict[int, Content | None]] = {}
        pinned = self._pinned
        for revision, fact in self._makers.facts.items():
            for key, value in fact.items():
                out.setdefault(key, {})[revision] = value
        for revision, did in self._makers.forced.items():
            for part in did.request.parts:
                key, value = _effect(part)
                out.setdefault(key, {})[revision] = value
        for did in (*(again for again, _ in pinned.twice), *pinned.writes.values()):
            for part, deleted in done(did):
                if part.kind == PUT or deleted:
                    key, value = _effect(part)
                    out.setdefault(key, {})[did.response.revision] = value
        return out

    # What answers say.

    def _look(self, did: Did) -> None:
        """Note what an answer at a revision says of keys."""
        revision, request, txn = did.response.revision, did.request, did.request.txn
        if request.range is not None:
            self._read(did, request.range, revision, _READ)
        if txn is None or did.response.txn is None:
            return
        if did.response.txn.failure:
            self._refused(did, txn, revision)
        else:
            self._changed(did, txn, revision - 1 if changes_of(did) else revision)

    def _refused(self, did: Did, txn: TxnRequest, revision: int) -> None:
        """Note what a transaction says whose comparisons did not hold."""
        for part in branch(txn, failure=True):
            self._read(did, part.range, revision, _ANSWER)
        held = {one.key: one.revision for one in held_in(did)}
        if all(held.get(one.key, 0) == one.revision for one in or_empty(txn.conditions)):
            self._is_wrong(did, _ANSWER, "it was refused, and what it says is there is what it expected")

    def _changed(self, did: Did, txn: TxnRequest, before: int) -> None:
        """Note what a change says of the revision before it."""
        for one in or_empty(txn.conditions):
            if one.revision:
                self._exact(did, _ANSWER, one.key, before, one.revision, None)
            else:
                self._absent(Seen(did, before, _ANSWER), one.key)
        for part, deleted in done(did):
            if part.kind == DELETE and deleted > 0:
                self._lines[part.delete.key].at(before).present = Seen(did, before, _ANSWER)
            elif part.kind == DELETE and not deleted:
                self._absent(Seen(did, before, _ANSWER), part.delete.key)

    def _read(self, did: Did, asked: RangeOptions, revision: int, kind: str) -> None:
        held = {one.key: one for one in held_in(did)}
        for key in self._asked(asked):
            one = held.get(key)
            if one is None:
                self._absent(Seen(did, revision, kind), key)
            else:
                self._exact(did, kind, key, revision, one.revision, one.value)

    def _asked(self, asked: RangeOptions) -> list[str]:
        """The keys of a read that anybody named."""
        first = bisect_left(self._keys, asked.start)
        last = bisect_left(self._keys, asked.end) if asked.end else bisect_right(self._keys, asked.start)
        return self._keys[first:last]

    def _exact(self, did: Did, kind: str, key: str, revision: int, of: int, value: Content | None) -> None:
        """A key that is said to be there, written last at a revision. ``value``: None: nobody says."""
        stretch = self._lines[key].at(revision)
        if stretch.value is not None and stretch.start == of and value in (None, stretch.value):
            stretch.seen_until = max(stretch.seen_until, revision)
            return
        there = f"{key} held {_held(stretch)}" if stretch.value is not None else f"{key} was not there"
        told = f"it returned {key} with {value} of revision {of}" if value is not None else f"it found {key} of {of}"
        self._is_wrong(did, kind, f"{told}, and {there}", of, stretch.start)

    def _absent(self, seen: Seen, key: str) -> None:
        self._lines[key].at(seen.revision).absent.append(seen)

    def _look_loosely(self, did: Did) -> list[Somewhere]:
        """Look at an answer that names no revision: it may be of any that was there between its call and its return."""
        first, last = self._pinned.reached(did.call), self._pinned.not_yet(did.ret)
        held = {one.key: one for one in held_in(did)}
        several = []
        for key in self._asked(did.request.range) if did.request.range is not None else ():
            one, line = held.get(key), self._lines[key]
            if one is None:
                own = list(line.between(first, last))
                seen = Seen(did, min(own[-1].end - 1, last), _STALE, max(own[0].start, first))
                if len(own) == 1:
                    own[0].absent.append(seen)
                elif all(stretch.value is not None for stretch in own):
                    said = f"it did not return {key}, which held {_held(own[0])}"
                    several.append(Somewhere(key, seen, said, own))
                continue
            stretch = line.at(one.revision)
            if stretch.value is not None and stretch.start == one.revision and stretch.end <= first:
                until = f"it returned {key} with {_held(stretch)}, which ended at {stretch.end}"
                said = f"{until}, and {first} had been answered before"
                self._is_wrong(did, _STALE, said, stretch.end)
            else:
                self._exact(did, _READ, key, max(first, one.revision), one.revision, one.value)
        return several

    def _is_wrong(self, did: Did, kind: str, said: str, *related: int) -> None:
        self._wrong.setdefault(did.number, Wrong(kind, said, did, did.response.revision, related))

    # Changes that nobody saw.

    def _is_explained(self, one: Somewhere) -> bool:
        """Whether anybody may have deleted a key in one of some stretches, whatever else that explains."""
        for stretch in one.stretches:
            high = min(stretch.end - 1, one.seen.revision)
            need = Need(DELETE, one.key, stretch.seen_until, high, one.seen, one.said, stretch.start)
            if self._fitting(need):
                return True
        return False

    def _match(self) -> None:
        """Find changes of unknown outcome for whatever calls for one; what is left over is wrong."""
        while needs := self._needs():
            options = {place: self._fitting(need) for place, need in enumerate(needs)}
            alone = [place for place, own in options.items() if not own]
            left = alone or self._left_over(options)
            if not left:
                return
            for place in left:
                need = needs[place]
                self._is_wrong(need.seen.did, need.seen.kind, need.said, need.start)

    def _left_over(self, options: Mapping[int, list[tuple[int, str]]]) -> list[int]:
        places: dict[tuple[str, int], list[tuple[int, str]]] = {
            ("shown", revision): [(did.number, next(iter(self._makers.facts[revision]))) for did in own]
            for revision, own in self._makers.options.items()
        }
        places |= {("needed", place): own for place, own in options.items()}
        return [place for what, place in unmatched(places) if what == "needed"]

    def _needs(self) -> list[Need]:
        return [need for key, line in self._lines.items() for one in line.stretches for need in self._of(key, one)]

    def _of(self, key: str, stretch: Stretch) -> Iterator[Need]:
        """What the answers in one stretch call for."""
        absent = sorted((one for one in stretch.absent if not self._is_excused(one)), key=lambda one: one.revision)
        last = max((one.first for one in absent), default=stretch.start)
        if stretch.value is not None and absent:
            said = f"it did not return {key}, which held {_held(stretch)}"
            if absent[0].kind == _ANSWER:
                said = f"it found no {key}, which held {_held(stretch)}"
            yield Need(DELETE, key, stretch.seen_until, absent[0].revision, absent[0], said, stretch.start)
        there = stretch.present
        if there is not None and (absent or stretch.value is None) and not self._is_excused(there):
            said = f"it said that it deleted {key}, and {key} was not there"
            yield Need(PUT, key, last, there.revision, there, said, stretch.start)

    def _is_excused(self, seen: Seen) -> bool:
        return seen.did.number in self._wrong

    def _fitting(self, need: Need) -> list[tuple[int, str]]:
        """The changes of unknown outcome that may be what is called for, with its key."""
        able = self._makers.able[need.kind, need.key]
        return [(did.number, need.key) for did in able if self._fits(did, need)]

    def _fits(self, did: Did, need: Need) -> bool:
        if did.number in self._made_known:
            return False
        if any(one.revision for one in did.request.conditions):
            return False  # it expects what was shown, and nothing is there
        reached = self._pinned.reached(did.call)
        beside = [part for part in did.request.parts if part.first_key != need.key]
        return self._has_room(did, beside, max(need.low, reached), need.high)

    def _has_room(self, did: Did, beside: list[Part], low: int, high: int) -> bool:
        """Whether a change may have been behind one revision up to another, with what it changes beside."""
        if low >= high:
            return False
        if any(low < revision <= high and did in own for revision, own in self._makers.options.items()):
            return True
        first, last = bisect_right(self._taken, low), bisect_right(self._taken, high)
        if not beside:
            return last - first < high - low
        taken = set(self._taken[first:last])
        free = (revision for revision in range(high, low, -1) if revision not in taken)
        return any(all(self._goes_unseen(did, part, revision) for part in beside) for revision in free)

    def _goes_unseen(self, did: Did, part: Part, revision: int) -> bool:
        """Whether an operation of a transaction at a revision contradicts no answer.

        What it put may have been deleted by another change that nobody saw before an answer misses it.
        """
        stretch = self._lines[part.first_key].at(revision)
        if part.kind == DELETE:
            return stretch.value is None or stretch.seen_until < revision
        behind = [one for one in stretch.absent if one.first >= revision and not self._is_excused(one)]
        return stretch.seen_until < revision and all(
            any(self._may_be_between(other, revision, one.revision) for other in self._deletes(part.first_key, did))
            for one in behind
        )

    def _deletes(self, key: str, but: Did) -> Iterator[Did]:
        """The changes of unknown outcome that may delete a key at a revision that nobody saw, but for one."""
        able = self._makers.able[DELETE, key]
        return (did for did in able if did is not but and did.number not in self._made_known)

    def _may_be_between(self, did: Did, low: int, high: int) -> bool:
        """Whether a change of unknown outcome may have been behind one revision, up to another."""
        return max(low, self._pinned.reached(did.call)) < high


def _effect(part: Part) -> tuple[str, Content | None]:
    """The key that an operation changes, and what it holds then."""
    return (part.put.key, part.put.value) if part.kind == PUT else (part.delete.key, None)


def _named(request: Request) -> Iterator[str]:
    """The keys that a request names."""
    yield from keys_of(request)
    if request.range is not None and not request.range.end:
        yield request.range.start


def _held(stretch: Stretch) -> str:
    return f"{stretch.value} of revision {stretch.start}"
