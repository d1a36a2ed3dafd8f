"""Transactions over keys: each is one transaction of etcd.

Registers are read and written in the order of the micro-operations. etcd cannot append to a value, so a transaction on
lists reads all its keys at one revision and then writes if none of them was written since; until that second request
leaves, whatever happens changes nothing. A transaction that only reads is a transaction of ranges.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.transactions.words import CHANGES, OF_LISTS, Do, Reads
from cluster.systems._shared.read_then_write import outcome_of
from cluster.systems.etcd.gateway import Gateway

_TXN: Final = "/v3/kv/txn"
Held: TypeAlias = dict[int, tuple[tuple[int, ...], int]]
"""By key the elements of a list, or the one value of a register, and at which revision it was written last."""


class _Pair(msgspec.Struct):
    value: bytes = b""
    mod_revision: int = 0


class _Ranged(msgspec.Struct):
    kvs: list[_Pair] = []


class _Response(msgspec.Struct):
    response_range: _Ranged | None = None


class _Header(msgspec.Struct):
    revision: int = 0


class Decided(msgspec.Struct):
    """The answer to a transaction. ``header``: the member's revision then."""

    header: _Header = msgspec.field(default_factory=_Header)
    succeeded: bool = False  # false is left out
    responses: list[_Response] = []


class Transactions:
    """What a client asks for transactions.

    Args:
        prefix: what every key begins with.
        serializable: whether a member answers what only reads from its own copy.
        look_back: a transaction that writes registers reads one of its keys also as it was so many revisions before the
            newest that this client heard of, and what it is told of that is dropped; 0: it does not. A client that was
            refused looks back again when there are so many revisions more: what it looks at is not compacted then.
    """

    def __init__(self, prefix: str, *, serializable: bool, look_back: int = 0) -> None:
        self._prefix, self._serializable, self._look_back = prefix, serializable, look_back
        self._newest = 0
        self._looks_back_from = look_back

    async def perform(self, gateway: Gateway, op: Invocation, deadline_ns: int) -> Reads:
        """Do a transaction and return what it read.

        Raises:
            Definite: it was not done. Indefinite: nobody knows.
        """
        if op.f not in OF_LISTS:
            return await self._of_registers(gateway, op, deadline_ns)
        held = await self._held(gateway, op, deadline_ns)
        before = {key: numbers for key, (numbers, _) in held.items()}
        seen, after = outcome_of(op.argument.micros, before, lists=True)
        if op.f in CHANGES:
            compare = [unchanged_since(self._key(op, key), revision) for key, (_, revision) in held.items()]
            puts = [put(self._key(op, key), " ".join(map(str, numbers))) for key, numbers in after.items()]
            await run_transaction(gateway, {"compare": compare, "success": puts}, deadline_ns, write=True)
        return seen

    async def _held(self, gateway: Gateway, op: Invocation, deadline_ns: int) -> Held:
        """The lists of all keys at one revision. Raises Definite."""
        keys = {one.key: self._key(op, one.key) for one in op.argument.micros}
        return await held_at_once(gateway, keys, deadline_ns, serializable=self._serializable)

    async def _of_registers(self, gateway: Gateway, op: Invocation, deadline_ns: int) -> Reads:
        """Every micro-operation is one of etcd's transaction, which does them in their order."""
        micros, write = op.argument.micros, op.f in CHANGES
        asked = [
            range_request(self._key(op, one.key), serializable=self._serializable)
            if one.do is Do.READ
            else put(self._key(op, one.key), one.value)
            for one in micros
        ]
        if looks_back := write and self._look_back > 0 and self._newest > self._looks_back_from:
            then = self._newest - self._look_back
            asked.append({"request_range": {"key": self._key(op, micros[0].key), "revision": then}})
        try:
            answer = await run_transaction(gateway, {"success": asked}, deadline_ns, write=write)
        except Definite:
            if looks_back:
                self._looks_back_from = self._newest + self._look_back
            raise
        self._newest = max(self._newest, answer.header.revision)
        try:
            told = [one for one, _ in zip(answer.responses, asked, strict=True)][: len(micros)]
            pairs = zip(micros, told, strict=True)
            return Reads([list(_numbers(_pair(one))) if micro.do is Do.READ else None for micro, one in pairs])
        except ValueError as error:
            raise (Indefinite if write else Definite)(f"malformed answer: {error}") from None

    def _key(self, op: Invocation, key: int) -> bytes:
        return f"{self._prefix}/{'lists' if op.f in OF_LISTS else 'cells'}/{op.key}/{key}".encode()


def range_request(key: bytes, *, serializable: bool) -> dict[str, Any]:
    """An operation of a transaction: read a key. Pure."""
    return {"request_range": {"key": key, "serializable": serializable}}


def put(key: bytes, value: object) -> dict[str, Any]:
    """An operation of a transaction: write a key. Pure."""
    return {"request_put": {"key": key, "value": str(value).encode()}}


def unchanged_since(key: bytes, revision: int) -> dict[str, Any]:
    """A comparison: a key was written last at this revision, 0 for never. Pure."""
    return {"key": key, "target": "MOD", "result": "EQUAL", "mod_revision": revision}


async def held_at_once(gateway: Gateway, keys: Mapping[int, bytes], deadline_ns: int, *, serializable: bool) -> Held:
    """What some keys hold at one revision. A transaction of ranges, which changes nothing.

    Args:
        gateway: the member that is asked.
        keys: by number.
        deadline_ns: when there must be an answer.
        serializable: whether the member answers from its own copy.

    Raises:
        Definite: there was no answer, or one that cannot be read.
    """
    ranges = [range_request(key, serializable=serializable) for key in keys.values()]
    try:
        answer = await run_transaction(gateway, {"success": ranges}, deadline_ns, write=False)
        pairs = [_pair(one) for one in answer.responses]
        return {key: (_numbers(one), one.mod_revision) for key, one in zip(keys, pairs, strict=True)}
    except (Indefinite, ValueError) as error:
        raise Definite(f"not read: {error}") from None


async def run_transaction(gateway: Gateway, body: dict[str, Any], deadline_ns: int, *, write: bool) -> Decided:
    """The answer to a transaction. Raises Definite if its comparison does not hold."""
    answer = await gateway.call(_TXN, body, Decided, deadline_ns, write=write)
    if not answer.succeeded:
        raise Definite("the comparison does not hold")
    return answer


def _pair(response: _Response) -> _Pair:
    """What a range of one key returned. Raises ValueError if it was none."""
    if response.response_range is None:
        raise ValueError("no answer to a range")
    return response.response_range.kvs[0] if response.response_range.kvs else _Pair()


def _numbers(pair: _Pair) -> tuple[int, ...]:
    """The elements of a list, or the one value of a register. Raises ValueError."""
    return tuple(int(number) for number in pair.value.split())
