"""What an answer says otherwise than the key space at its revision, in words."""

from typing import NamedTuple

from chaos.formats.etcd_words import DELETE, PUT, KeyHeld, PartResult, Ranged, TxnRequest, TxnResult, or_empty
from checkers.revisions.space import Entry, Outcome, Read, branch


class Difference(NamedTuple):
    """What an answer says otherwise, in words, and at which revisions the keys were written that it is about."""

    said: str
    revisions: tuple[int, ...] = ()


def differs(answer: Ranged, expected: Read, *, versions: bool) -> Difference | None:
    """How a read differs from what it had to return; None if it does not. ``versions``: they are told."""
    held = or_empty(answer.held)
    if len(held) == len(expected.held) and all(
        one.key == key and is_same(one, entry, versions=versions)
        for one, (key, entry) in zip(held, expected.held, strict=True)
    ):
        if answer.count == expected.total:
            return None
        return Difference(f"it counted {answer.count} keys, there were {expected.total}")
    told = {one.key: one for one in held}
    there = dict(expected.held)
    for key, entry in expected.held:
        if key not in told:
            return Difference(f"it did not return {key}, which held {_entry(entry)}", (entry.revision,))
        if not is_same(told[key], entry, versions=versions):
            said = f"it returned {key} with {_held(told[key], entry)}, which held {_entry(entry)}"
            return Difference(said, (told[key].revision, entry.revision))
    extra = next((one for one in held if one.key not in there), None)
    if extra is not None:
        said = f"it returned {extra.key} with {extra.value} of revision {extra.revision}, which was not there"
        return Difference(said, (extra.revision,))
    return Difference("it returned the right keys in another order, or twice")


def is_same(told: KeyHeld, entry: Entry, *, versions: bool) -> bool:
    """Whether a key was returned as it is."""
    right = told.value == entry.value and told.revision == entry.revision
    return right and (not versions or told.version == entry.version)


def _entry(entry: Entry) -> str:
    return f"{entry.value} of revision {entry.revision}"


def _held(told: KeyHeld, entry: Entry) -> str:
    if (told.value, told.revision) == (entry.value, entry.revision):
        return f"{told.value} of revision {told.revision} as its version {told.version}, not {entry.version}"
    return f"{told.value} of revision {told.revision}"


def outcome_differs(txn: TxnRequest, answer: TxnResult, outcome: Outcome, *, versions: bool) -> Difference | None:
    """How the answer of a transaction differs from what it had to be; None if it does not."""
    if answer.failure != outcome.failure:
        took, right = ("else", "then") if answer.failure else ("then", "else")
        return Difference(f"it took the branch «{took}», by its conditions it had to take «{right}»")
    parts = branch(txn, failure=answer.failure)
    results = or_empty(answer.results)
    if len(results) != len(parts):
        return Difference(f"it told {len(results)} results of {len(parts)} operations")
    for part, result, due in zip(parts, results, outcome.results, strict=True):
        strange = _of_another_kind(part.kind, result)
        if strange:
            return Difference(strange)
        if part.kind == DELETE and result.deleted != due:
            key = part.delete.key
            there = "was there" if due else "was not there"
            return Difference(f"it said that it deleted {result.deleted} keys, and {key} {there}")
        if part.kind != PUT and isinstance(due, Read):
            difference = differs(result, due, versions=versions)
            if difference is not None:
                return difference
    return None


def _of_another_kind(kind: str, result: PartResult) -> str:
    """What a result says that an operation of its kind cannot say."""
    if kind != DELETE and result.deleted:
        return f"it said that it deleted {result.deleted} keys, where nothing was to be deleted"
    if kind in (PUT, DELETE) and (result.held or result.count):
        return "it returned keys, where nothing was to be read"
    return ""
