"""Spaces of keys of etcd: every operation is one transaction, whose answer names the revision of the store.

A read is a transaction of one range, so whoever answers says of which revision it is. A comparison that does not hold
returns what there is instead.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.op import Invocation
from chaos.models.coordination.kv import ANY, CHANGES, DELETED, WIDTH, Answer, Change, F, Held, Keys, group_of
from cluster.systems.etcd.gateway import Gateway

_TXN: Final = "/v3/kv/txn"
NOT_SO: Final = "the comparison does not hold"
_STRANGE: Final = "malformed answer: "


class _Header(msgspec.Struct):
    revision: int = 0


class _Pair(msgspec.Struct):
    key: bytes = b""
    value: bytes = b""
    mod_revision: int = 0


class _Ranged(msgspec.Struct):
    kvs: list[_Pair] = []


class _Deleted(msgspec.Struct):
    deleted: int = 0


class _Response(msgspec.Struct):
    response_range: _Ranged | None = None
    response_delete_range: _Deleted | None = None


class _Decided(msgspec.Struct):
    header: _Header = msgspec.field(default_factory=_Header)
    succeeded: bool = False  # false is left out
    responses: list[_Response] = []


class Spaces:
    """What a client does with spaces.

    Args:
        root: what the run's keys begin with.
        serializable: whether a member answers what only reads from its own copy.
    """

    def __init__(self, root: str, *, serializable: bool) -> None:
        self._root, self._serializable = root, serializable

    async def perform(self, gateway: Gateway, op: Invocation, deadline_ns: int, received: Received) -> None:
        """Do one operation. Raises Definite or Indefinite."""
        space, write = f"{self._root}/kv/{op.key}/", op.f in CHANGES
        body = body_of(op, space, serializable=self._serializable)
        decided = await gateway.call(_TXN, body, _Decided, deadline_ns, write=write)
        try:
            received.result = _answer_of(op, decided, space)
        except ValueError as error:
            raise (Indefinite if write else Definite)(f"{_STRANGE}{error}") from None
        if not decided.succeeded:
            raise Definite(NOT_SO)


def body_of(op: Invocation, space: str, *, serializable: bool) -> dict[str, Any]:
    """The transaction of an operation. Pure."""
    if op.f not in CHANGES:
        return {"success": [_range(op.argument, space, serializable=serializable)]}
    changes: Sequence[Change] = op.argument.changes
    compare = [
        {"key": _key(space, one.entry), "target": "MOD", "result": "EQUAL", "mod_revision": one.expected}
        for one in changes
        if one.expected != ANY
    ]
    looks = [{"request_range": {"key": one["key"]}} for one in compare]
    return {"compare": compare, "success": [_change(one, space) for one in changes], "failure": looks}


def _key(space: str, entry: int) -> bytes:
    return f"{space}{group_of(entry)}/{entry}".encode()


def _range(keys: Keys, space: str, *, serializable: bool) -> dict[str, Any]:
    """A read of one key, or of all of a group."""
    if keys.count == 1:
        return {"request_range": {"key": _key(space, keys.first), "serializable": serializable}}
    group = f"{space}{group_of(keys.first)}"
    own = {"key": f"{group}/".encode(), "range_end": f"{group}0".encode()}  # 0 comes behind /
    return {"request_range": {**own, "serializable": serializable}}


def _change(one: Change, space: str) -> dict[str, Any]:
    key = _key(space, one.entry)
    if one.value == DELETED:
        return {"request_delete_range": {"key": key}}
    return {"request_put": {"key": key, "value": str(one.value).encode()}}


def _answer_of(op: Invocation, decided: _Decided, space: str) -> Answer:
    """What a client was told. Raises ValueError if it is no answer to what was asked."""
    revision, responses = decided.header.revision, decided.responses
    asked = len(op.argument.changes) if op.f in CHANGES and decided.succeeded else 1
    if not revision or len(responses) != asked:
        raise ValueError("a transaction without a revision or an answer")
    if op.f in CHANGES and decided.succeeded:
        did = (one.response_delete_range is None or one.response_delete_range.deleted > 0 for one in responses)
        return Answer(revision=revision, effects=sum(done << place for place, done in enumerate(did)))
    if responses[0].response_range is None or not (decided.succeeded or op.f is F.COMPARE_PUT):
        raise ValueError("no answer to a range")
    return Answer(revision=revision, held=[_held(pair, space) for pair in responses[0].response_range.kvs])


def _held(pair: _Pair, space: str) -> Held:
    """A key that is there. Raises ValueError if it is none of ours."""
    group, _, entry = pair.key.removeprefix(space.encode()).partition(b"/")
    if not (group.isdigit() and entry.isdigit() and pair.value.isdigit() and int(group) == int(entry) // WIDTH):
        raise ValueError(f"a key that nobody writes: {pair.key[:40]!r}")
    return Held(int(entry), int(pair.value), pair.mod_revision)
