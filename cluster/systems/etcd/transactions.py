"""Transactions over keys: each is one transaction of etcd.

Registers are read and written in the order of the micro-operations. etcd cannot append to a value, so a transaction on
lists reads all its keys at one revision and then writes if none of them was written since; until that second request
leaves, whatever happens changes nothing. A transaction that only reads is a transaction of ranges.
"""

from typing import Any, Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.transactions.words import CHANGES, OF_LISTS, Do, Reads
from cluster.systems._shared.read_then_write import outcome_of
from cluster.systems.etcd.gateway import Gateway

_TXN: Final = "/v3/kv/txn"


class _Pair(msgspec.Struct):
    value: bytes = b""
    mod_revision: int = 0


class _Ranged(msgspec.Struct):
    kvs: list[_Pair] = []


class _Response(msgspec.Struct):
    response_range: _Ranged | None = None


class _Decided(msgspec.Struct):
    succeeded: bool = False  # false is left out
    responses: list[_Response] = []


class Transactions:
    """What a client asks for transactions.

    Args:
        prefix: what every key begins with.
        serializable: whether a member answers what only reads from its own copy.
    """

    def __init__(self, prefix: str, *, serializable: bool) -> None:
        self._prefix, self._serializable = prefix, serializable

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
            compare = [
                {"key": self._key(op, key), "target": "MOD", "result": "EQUAL", "mod_revision": revision}
                for key, (_, revision) in held.items()
            ]
            puts = [self._put(op, key, " ".join(map(str, numbers))) for key, numbers in after.items()]
            await _decided(gateway, {"compare": compare, "success": puts}, deadline_ns, write=True)
        return seen

    async def _held(self, gateway: Gateway, op: Invocation, deadline_ns: int) -> dict[int, tuple[tuple[int, ...], int]]:
        """The lists of all keys at one revision, and at which each was written last, 0 for never. Raises Definite."""
        keys = list(dict.fromkeys(one.key for one in op.argument.micros))
        ranges = [self._range(op, key) for key in keys]
        try:
            responses = await _decided(gateway, {"success": ranges}, deadline_ns, write=False)
            pairs = [_pair(one) for one in responses]
            return {key: (_numbers(one), one.mod_revision) for key, one in zip(keys, pairs, strict=True)}
        except (Indefinite, ValueError) as error:
            raise Definite(f"not read: {error}") from None

    async def _of_registers(self, gateway: Gateway, op: Invocation, deadline_ns: int) -> Reads:
        """Every micro-operation is one of etcd's transaction, which does them in their order."""
        micros, write = op.argument.micros, op.f in CHANGES
        asked = [self._range(op, one.key) if one.do is Do.READ else self._put(op, one.key, one.value) for one in micros]
        responses = await _decided(gateway, {"success": asked}, deadline_ns, write=write)
        try:
            pairs = zip(micros, responses, strict=True)
            return Reads([list(_numbers(_pair(told))) if one.do is Do.READ else None for one, told in pairs])
        except ValueError as error:
            raise (Indefinite if write else Definite)(f"malformed answer: {error}") from None

    def _key(self, op: Invocation, key: int) -> bytes:
        return f"{self._prefix}/{'lists' if op.f in OF_LISTS else 'cells'}/{op.key}/{key}".encode()

    def _range(self, op: Invocation, key: int) -> dict[str, Any]:
        return {"request_range": {"key": self._key(op, key), "serializable": self._serializable}}

    def _put(self, op: Invocation, key: int, value: object) -> dict[str, Any]:
        return {"request_put": {"key": self._key(op, key), "value": str(value).encode()}}


async def _decided(gateway: Gateway, body: dict[str, Any], deadline_ns: int, *, write: bool) -> list[_Response]:
    """The responses of a transaction. Raises Definite if its comparison does not hold."""
    answer = await gateway.call(_TXN, body, _Decided, deadline_ns, write=write)
    if not answer.succeeded:
        raise Definite("the comparison does not hold")
    return answer.responses


def _pair(response: _Response) -> _Pair:
    """What a range of one key returned. Raises ValueError if it was none."""
    if response.response_range is None:
        raise ValueError("no answer to a range")
    return response.response_range.kvs[0] if response.response_range.kvs else _Pair()


def _numbers(pair: _Pair) -> tuple[int, ...]:
    """The elements of a list, or the one value of a register. Raises ValueError."""
    return tuple(int(number) for number in pair.value.split())
