"""What the files of etcd's robustness suite hold: requests, responses and watches, by the suite's own names.

Go writes an empty list as null; ``or_empty`` makes none of both.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec
from msgspec import field

T = TypeVar("T")
RANGE: Final = "range-operation"
PUT: Final = "put-operation"
DELETE: Final = "delete-operation"


def or_empty(values: Sequence[T] | None) -> Sequence[T]:
    """The elements of a list that Go may have written as null."""
    return values or ()


class Content(msgspec.Struct, frozen=True):
    """A value: its text, or the hash of one of 20 bytes and more."""

    text: str = field(name="Value", default="")
    hash: int = field(name="Hash", default=0)

    def __str__(self) -> str:
        return f"#{self.hash:x}" if self.hash else self.text


NOTHING: Final = Content()


class RangeOptions(msgspec.Struct, frozen=True):
    """Which keys are read: one, or all from ``start`` to before ``end``."""

    start: str = field(name="Start", default="")
    end: str = field(name="End", default="")
    limit: int = field(name="Limit", default=0)
    keys_only: bool = field(name="KeysOnly", default=False)

    def holds(self, key: str) -> bool:
        """Whether a key is among them."""
        if not self.end:
            return key == self.start
        return key >= self.start and (self.end == "\0" or key < self.end)


class RangeRequest(RangeOptions, frozen=True):
    """A read; ``revision`` 0: of the latest one."""

    revision: int = field(name="Revision", default=0)


class PutOptions(msgspec.Struct, frozen=True):
    """Which key gets which value; ``lease`` 0: none."""

    key: str = field(name="Key", default="")
    value: Content = field(name="Value", default=NOTHING)
    lease: int = field(name="LeaseID", default=0)


class DeleteOptions(msgspec.Struct, frozen=True):
    """Which key is deleted."""

    key: str = field(name="Key", default="")


class Condition(msgspec.Struct, frozen=True):
    """What a key's version or last revision must be; revision 0: it is not there."""

    key: str = field(name="Key", default="")
    revision: int = field(name="ExpectedRevision", default=0)
    version: int = field(name="ExpectedVersion", default=0)


class Part(msgspec.Struct, frozen=True):
    """One operation of a transaction; only the options of its kind count."""

    kind: str = field(name="Type")
    range: RangeOptions = field(name="Range", default=RangeOptions())
    put: PutOptions = field(name="Put", default=PutOptions())
    delete: DeleteOptions = field(name="Delete", default=DeleteOptions())

    @property
    def first_key(self) -> str:
        """The key that it is about, of a range the first one."""
        return {PUT: self.put.key, DELETE: self.delete.key}.get(self.kind, self.range.start)


class TxnRequest(msgspec.Struct, frozen=True):
    """A transaction; a plain put or delete is one without conditions."""

    conditions: tuple[Condition, ...] | None = field(name="Conditions", default=None)
    success: tuple[Part, ...] | None = field(name="OperationsOnSuccess", default=None)
    failure: tuple[Part, ...] | None = field(name="OperationsOnFailure", default=None)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The operations of both branches."""
        return (*or_empty(self.success), *or_empty(self.failure))


class Lease(msgspec.Struct, frozen=True):
    """A grant or revocation of a lease; 0: the client was never told which."""

    id: int = field(name="LeaseID", default=0)


class Compaction(msgspec.Struct, frozen=True):
    """Up to which revision history is forgotten."""

    revision: int = field(name="Revision", default=0)


class Request(msgspec.Struct, frozen=True):
    """What was asked: ``kind`` says which of the others is there."""

    kind: str = field(name="Type")
    grant: Lease | None = field(name="LeaseGrant", default=None)
    revoke: Lease | None = field(name="LeaseRevoke", default=None)
    range: RangeRequest | None = field(name="Range", default=None)
    txn: TxnRequest | None = field(name="Txn", default=None)
    compact: Compaction | None = field(name="Compact", default=None)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The operations of its transaction, of both branches; none if it is no transaction."""
        return self.txn.parts if self.txn is not None else ()

    @property
    def conditions(self) -> Sequence[Condition]:
        """The comparisons of its transaction; none if it is no transaction."""
        return or_empty(self.txn.conditions if self.txn is not None else None)

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.range is not None or (self.txn is not None and all(part.kind == RANGE for part in self.parts))


class Held(msgspec.Struct, frozen=True):
    """What a key holds: its value, the revision of its last change, how often it was changed since it is there."""

    value: Content = field(name="Value", default=NOTHING)
    revision: int = field(name="ModRevision", default=0)
    version: int = field(name="Version", default=0)


class KeyHeld(Held, frozen=True, kw_only=True):
    """A key with what it holds."""

    key: str = field(name="Key")


class Ranged(msgspec.Struct, frozen=True):
    """What a read returned; ``count``: of all keys, also of those above the limit."""

    held: tuple[KeyHeld, ...] | None = field(name="KVs", default=None)
    count: int = field(name="Count", default=0)


class PartResult(Ranged, frozen=True):
    """What one operation of a transaction returned."""

    deleted: int = field(name="Deleted", default=0)


class TxnResult(msgspec.Struct, frozen=True):
    """Which branch was taken, and what its operations returned."""

    failure: bool = field(name="Failure", default=False)
    results: tuple[PartResult, ...] | None = field(name="Results", default=None)


class Response(msgspec.Struct, frozen=True):
    """What became of a request.

    ``error``: the outcome is unknown. ``refused``: it was certainly not done, and why. ``revision``: of the whole store
    when it took place, -1 where none is told.
    """

    txn: TxnResult | None = field(name="Txn", default=None)
    range: Ranged | None = field(name="Range", default=None)
    refused: str = field(name="ClientError", default="")
    revision: int = field(name="Revision", default=0)
    persisted: bool = field(name="Persisted", default=False)
    persisted_revision: int = field(name="PersistedRevision", default=0)
    error: str = field(name="Error", default="")


class WatchRequest(msgspec.Struct, frozen=True):
    """What a watch asked for; ``revision`` 0: what happens from now on."""

    key: str = field(name="Key", default="")
    revision: int = field(name="Revision", default=0)
    prefix: bool = field(name="WithPrefix", default=False)
    notify: bool = field(name="WithProgressNotify", default=False)
    previous: bool = field(name="WithPrevKV", default=False)

    def matches(self, key: str) -> bool:
        """Whether the watch asked for changes of a key."""
        return key.startswith(self.key) if self.prefix else key == self.key


class Event(msgspec.Struct, frozen=True):
    """A change as a watch was told it."""

    kind: str = field(name="Type")
    key: str = field(name="Key", default="")
    value: Content = field(name="Value", default=NOTHING)
    revision: int = field(name="Revision", default=0)
    created: bool = field(name="IsCreate", default=False)
    before: Held | None = field(name="PrevValue", default=None)


class Message(msgspec.Struct, frozen=True):
    """What came at once: events, or the word that all up to a revision were told."""

    events: tuple[Event, ...] | None = field(name="Events", default=None)
    progress: bool = field(name="IsProgressNotify", default=False)
    revision: int = field(name="Revision", default=0)
    time_ns: int = field(name="Time", default=0)
    error: str = field(name="Error", default="")


class WatchLine(msgspec.Struct, frozen=True):
    """One record of ``watch.json``."""

    request: WatchRequest = field(name="Request")
    messages: tuple[Message, ...] | None = field(name="Responses", default=None)


class OperationLine(msgspec.Struct, frozen=True):
    """One record of ``operations.json``."""

    request: Request = field(name="Input")
    call: int = field(name="Call")
    response: Response = field(name="Output")
    ret: int = field(name="Return")
    client: int = field(name="ClientId", default=0)
