"""Watches of etcd, and the transactions whose changes they follow.

A watch is a stream of its own connection: one request, then messages until the client has listened long enough. It
changes nothing, so whatever ends it sooner is a failure, with all events that came until then.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

import msgspec

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import now_ns
from chaos.core.op import Invocation
from chaos.core.time_limit import until
from chaos.models.coordination.watch import DELETED, UNNAMED, Event, Events, F, Written
from cluster.systems.etcd.gateway import Gateway
from cluster.systems.etcd.streams import StreamError

_NS_PER_MS: Final = 1_000_000
_SPARE_NS: Final = 100 * _NS_PER_MS
"""A watch ends so long before the deadline of its operation at the latest."""
_DELETE: Final = "DELETE"


class _Header(msgspec.Struct):
    revision: int = 0


class _Deleted(msgspec.Struct):
    deleted: int = 0


class _Response(msgspec.Struct):
    response_delete_range: _Deleted | None = None


class _Decided(msgspec.Struct):
    header: _Header = msgspec.field(default_factory=_Header)
    responses: list[_Response] = []


class _Pair(msgspec.Struct):
    key: bytes = b""
    value: bytes = b""
    mod_revision: int = 0


class _Event(msgspec.Struct):
    kv: _Pair
    type: str = ""  # left out of a put
    prev_kv: _Pair | None = None


class _Watched(msgspec.Struct):
    created: bool = False
    canceled: bool = False
    cancel_reason: str = ""
    compact_revision: int = 0
    events: list[_Event] = []


class _Message(msgspec.Struct):
    result: _Watched | None = None
    error: StreamError | None = None


class Watches:
    """What a client does with spaces. ``root``: what the run's keys begin with."""

    def __init__(self, root: str) -> None:
        self._root = root

    async def perform(self, gateway: Gateway, op: Invocation, deadline_ns: int, received: Received) -> None:
        """Do one operation. Raises Definite or Indefinite."""
        space = f"{self._root}/spaces/{op.key}/"
        if op.f is F.WRITE:
            received.result = await _write(gateway, space, op, deadline_ns)
            return
        told = received.result = Events([])
        asked = {
            "key": space.encode(),
            "range_end": f"{space[:-1]}0".encode(),  # 0 comes behind /
            "start_revision": str(op.argument.revision),
            "prev_kv": True,
        }
        until_ns = min(now_ns() + op.argument.listen_ms * _NS_PER_MS, deadline_ns - _SPARE_NS)
        if not await _follow(gateway.lines("/v3/watch", {"create_request": asked}), space, told, until_ns):
            raise Definite("no watch was made in time")


async def _follow(lines: AsyncGenerator[bytes], space: str, told: Events, until_ns: int) -> bool:
    """Note all events until an instant.

    Returns:
        Whether there was a watch.

    Raises:
        Definite: it ended sooner.
    """
    created = False
    try:
        async with aclosing(lines):
            with until(until_ns):
                async for line in lines:
                    message = _message(line)
                    created |= message.created
                    if message.events:
                        told.events += [_event(one, space, told.batches) for one in message.events]
                        told.batches += 1
                    if message.compact_revision:
                        told.oldest = message.compact_revision
                        raise Definite(f"the revision is compacted; the oldest one is {told.oldest}")
                    if message.canceled:
                        raise Definite(message.cancel_reason or "the watch was canceled")
    except TimeoutError:
        return created
    raise Definite("the watch ended")


def _message(line: bytes) -> _Watched:
    try:
        message = msgspec.json.decode(line, type=_Message, strict=False)  # int64 come as strings
    except msgspec.DecodeError as error:
        raise Definite(f"malformed message: {error}") from None
    if message.error is not None:
        raise Definite(message.error.message)
    return message.result or _Watched()


def _event(one: _Event, space: str, batch: int) -> Event:
    """An event in numbers. Raises Definite if a value is none."""
    before = one.prev_kv
    return Event(
        batch=batch,
        revision=one.kv.mod_revision,
        entry=_entry(one.kv.key, space),
        value=DELETED if one.type == _DELETE else _number(one.kv.value),
        previous_revision=0 if before is None else before.mod_revision,
        previous_value=DELETED if before is None else _number(before.value),
    )


def _entry(key: bytes, space: str) -> int:
    name = key.removeprefix(space.encode())
    return int(name) if len(name) < len(key) and name.isdigit() else UNNAMED


def _number(value: bytes) -> int:
    if not value.isdigit():
        raise Definite("malformed message: a value that nobody writes")
    return int(value)


async def _write(gateway: Gateway, space: str, op: Invocation, deadline_ns: int) -> Written:
    """All changes in one transaction. Raises Definite or Indefinite."""
    then: list[dict[str, Any]] = []
    for change in op.argument.changes:
        key = f"{space}{change.entry}".encode()
        if change.value == DELETED:
            then.append({"request_delete_range": {"key": key}})
        else:
            then.append({"request_put": {"key": key, "value": str(change.value).encode()}})
    decided = await gateway.call("/v3/kv/txn", {"success": then}, _Decided, deadline_ns, write=True)
    if not decided.header.revision or len(decided.responses) != len(then):
        raise Indefinite("malformed answer: a transaction without a revision or an answer")
    did = (one.response_delete_range is None or one.response_delete_range.deleted > 0 for one in decided.responses)
    return Written(revision=decided.header.revision, effects=sum(done << place for place, done in enumerate(did)))
