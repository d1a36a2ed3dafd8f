"""The key space at one revision: what a sequential etcd does, and how to take it back.

Where a transaction reads behind its own puts, it sees them. A put with a lease that was revoked does nothing.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chaos.formats.etcd_words import (
    DELETE,
    NOTHING,
    PUT,
    Condition,
    Content,
    Part,
    RangeOptions,
    Request,
    TxnRequest,
    or_empty,
)


class Entry(NamedTuple):
    """What a key holds."""

    value: Content
    revision: int
    version: int
    lease: int = 0


Changes = dict[int, dict[str, Entry | None]]
"""By revision the keys that were changed, with what they hold since; None: they were deleted."""


class Read(NamedTuple):
    """What a read must return: keys with their entries in order, up to its limit; and how many there are in all."""

    held: tuple[tuple[str, Entry], ...]
    total: int


class Outcome(NamedTuple):
    """What a transaction must answer: the branch, and of each operation its read or how many keys it deleted."""

    failure: bool
    results: tuple[Read | int, ...]
    changed: bool


class Space:
    """Keys with what they hold."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.revoked: dict[int, int] = {}
        self._undo: list[tuple[str, Entry | None]] = []

    def mark(self) -> int:
        """A place to go back to."""
        return len(self._undo)

    def back_to(self, mark: int) -> None:
        """Take everything back that was done since."""
        while len(self._undo) > mark:
            key, entry = self._undo.pop()
            if entry is None:
                self.entries.pop(key, None)
            else:
                self.entries[key] = entry

    def changed_since(self, mark: int) -> dict[str, Entry | None]:
        """The keys that were changed since, with what they hold; None: nothing."""
        return {key: self.entries.get(key) for key, _ in self._undo[mark:]}

    def put(self, key: str, value: Content, revision: int, lease: int = 0) -> None:
        """Let a key hold a value from a revision on."""
        before = self.entries.get(key)
        self._undo.append((key, before))
        self.entries[key] = Entry(value, revision, before.version + 1 if before else 1, lease)

    def delete(self, key: str) -> bool:
        """Delete a key; whether it was there."""
        before = self.entries.pop(key, None)
        if before is not None:
            self._undo.append((key, before))
        return before is not None

    def attached(self, lease: int) -> list[str]:
        """The keys that are attached to a lease."""
        return [key for key, entry in self.entries.items() if entry.lease == lease]

    def read(self, options: RangeOptions) -> Read:
        """What a read returns."""
        if not options.end:
            entry = self.entries.get(options.start)
            found = [] if entry is None else [(options.start, entry)]
            return Read(tuple(found), len(found))
        keys = sorted(filter(options.holds, self.entries))
        told = keys[: options.limit] if options.limit else keys
        held = ((key, self.entries[key]) for key in told)
        if options.keys_only:
            held = ((key, entry._replace(value=NOTHING)) for key, entry in held)
        return Read(tuple(held), len(keys))

    def holds(self, condition: Condition) -> bool:
        """Whether a condition is met."""
        entry = self.entries.get(condition.key)
        if condition.version:
            return entry is not None and entry.version == condition.version
        return (entry.revision if entry else 0) == condition.revision

    def transact(self, txn: TxnRequest, revision: int, failure: bool | None = None) -> Outcome:
        """Do a transaction as the change of a revision.

        Args:
            txn: the transaction.
            revision: of what it changes.
            failure: the branch; None: by its conditions.
        """
        if failure is None:
            failure = not all(map(self.holds, or_empty(txn.conditions)))
        mark = self.mark()
        results = tuple(self._do(part, revision) for part in branch(txn, failure=failure))
        return Outcome(failure, results, len(self._undo) > mark)

    def _do(self, part: Part, revision: int) -> Read | int:
        if part.kind == PUT:
            if not self.lost(part.put.lease):
                self.put(part.put.key, part.put.value, revision, part.put.lease)
            return 0
        return int(self.delete(part.delete.key)) if part.kind == DELETE else self.read(part.range)

    def lost(self, lease: int) -> bool:
        """Whether a lease was revoked."""
        return lease in self.revoked

    def revoke(self, lease: int) -> bool:
        """Delete the keys that are attached to a lease; whether there were any."""
        gone = self.attached(lease)
        for key in gone:
            self.delete(key)
        return bool(gone)

    def perform(self, request: Request, revision: int) -> bool:
        """Do what a request asks for; whether anything changed."""
        if request.txn is not None:
            return self.transact(request.txn, revision).changed
        return request.revoke is not None and self.revoke(request.revoke.id)


def branch(txn: TxnRequest, *, failure: bool) -> Sequence[Part]:
    """The operations of a branch."""
    return or_empty(txn.failure if failure else txn.success)


def keys_of(request: Request) -> Iterable[str]:
    """The keys that a transaction asks for, compares or changes; of ranges their beginnings."""
    for condition in request.conditions:
        yield condition.key
    for part in request.parts:
        yield part.first_key
