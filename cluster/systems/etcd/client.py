"""One logical client: registers are keys, ids revisions; sets and counters are numbers in keys of single processes.

etcd has neither sets nor counters, and reading a key to write it back is two requests of which another client may come
in between. So every process keeps the numbers that it added in keys that only it writes, some tens in each, and a read
takes them all at one revision: an add is one request with one outcome, however many clients add. Each add demands that
the key was written as often as was acknowledged, so that nothing lost is ever written again. A process whose add is in
doubt never adds again (semantics.md, 1), so nobody has to know how its key ended.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.op import Invocation, Word
from chaos.models.coordination import kv, lease, lock, semaphore, unique_ids, watch
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from chaos.models.transactions import bank
from chaos.models.transactions import words as transactions
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems.etcd.accounts import Accounts
from cluster.systems.etcd.gateway import Gateway
from cluster.systems.etcd.launch import MEMBER
from cluster.systems.etcd.leases import Leases
from cluster.systems.etcd.locks import Locks
from cluster.systems.etcd.members import Members
from cluster.systems.etcd.semaphores import Semaphores
from cluster.systems.etcd.spaces import Spaces
from cluster.systems.etcd.transactions import Transactions
from cluster.systems.etcd.watches import Watches

NUMBERS: Final = 50
"""So many numbers a process keeps in one key: a value stays small, and a read takes few keys."""

_Perform = Callable[[Gateway, Invocation, int], Awaitable[Any]]
"""Do an operation at a member before its deadline."""

_PerformAndTell = Callable[[Gateway, Invocation, int, Received], Awaitable[None]]
"""The same, and note what is told although it is not done, or before it is."""

_KINDS: Final = {register.F: "registers", sets.F: "sets", counter.F: "counters", unique_ids.F: "ids"}


class _Pair(msgspec.Struct):
    value: bytes = b""


class _Ranged(msgspec.Struct):
    kvs: list[_Pair] = []


class _Header(msgspec.Struct):
    revision: int = 0


class _Put(msgspec.Struct):
    header: _Header = msgspec.field(default_factory=_Header)


class _Decided(msgspec.Struct):
    succeeded: bool = False  # false is left out


class EtcdClient(RoutedClient[Gateway]):
    """One logical client of etcd."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        gateways = {node.name: Gateway(node.address) for node in view.of_role(MEMBER)}
        super().__init__(view, number, clients, seed, gateways, Members(gateways), "the members")
        self._mark = view.mark
        self._serializable = view.settings["client.serializable"] == "true"
        self._others: dict[type[Word], _Perform] = {
            transactions.F: Transactions(
                view.mark, serializable=self._serializable, look_back=int(view.settings["client.lookBack"])
            ).perform,
            bank.F: Accounts(view.mark, serializable=self._serializable).perform,
            lock.F: Locks(view.mark, fencing=view.settings["client.fencing"] == "true").perform,
            semaphore.F: Semaphores(view.mark, count_first=view.settings["client.countFirst"] == "true").perform,
            lease.F: Leases(view.mark, self._run).perform,
        }
        self._told: dict[type[Word], _PerformAndTell] = {
            watch.F: Watches(view.mark).perform,
            kv.F: Spaces(view.mark, serializable=self._serializable).perform,
        }
        self._added: dict[str, list[int]] = {}

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        if (telling := self._told.get(type(op.f))) is not None:
            await telling(self._links[node], op, deadline_ns, received)
            return
        if (other := self._others.get(type(op.f))) is not None:
            received.result = await other(self._links[node], op, deadline_ns)
            return
        gateway, key = self._links[node], f"{self._mark}/{_KINDS[type(op.f)]}/{op.key}"
        if op.f is register.F.READ:
            values = await self._range(gateway, {"key": key.encode()}, deadline_ns)
            received.result = Found(int(values[0]) if values else None)
        elif op.f is register.F.WRITE:
            await gateway.call("/v3/kv/put", _put(key, op.argument.value), _Put, deadline_ns, write=True)
        elif op.f is register.F.CAS:
            holds = {"target": "VALUE", "value": str(op.argument.expected).encode()}
            await self._put_if(gateway, holds, _put(key, op.argument.value), deadline_ns)
        elif op.f is sets.F.ADD:
            await self._add(gateway, f"{key}/{op.process}", op.argument.element, deadline_ns)
        elif op.f is counter.F.ADD:
            await self._add(gateway, f"{key}/{op.process}", op.argument.amount, deadline_ns)
        elif op.f is unique_ids.F.GENERATE:
            put = await gateway.call("/v3/kv/put", _put(key, ""), _Put, deadline_ns, write=True)
            if not put.header.revision:
                raise Indefinite("malformed answer: a put without a revision")
            received.result = unique_ids.Id(put.header.revision)
        else:
            keys = {"key": f"{key}/".encode(), "range_end": f"{key}0".encode()}  # 0 comes behind /
            values = await self._range(gateway, keys, deadline_ns)
            numbers = [int(number) for value in values for number in value.split()]
            received.result = sets.Elements(numbers) if op.f is sets.F.READ else Found(sum(numbers) if values else None)

    async def _range(self, gateway: Gateway, keys: dict[str, Any], deadline_ns: int) -> list[bytes]:
        """The values of some keys at one revision."""
        body = {**keys, "serializable": self._serializable}
        return [pair.value for pair in (await gateway.call("/v3/kv/range", body, _Ranged, deadline_ns)).kvs]

    async def _put_if(self, gateway: Gateway, holds: dict[str, Any], put: dict[str, bytes], deadline_ns: int) -> None:
        """Write a key if something holds of it; raises Definite if it does not."""
        compare = {"key": put["key"], "result": "EQUAL", **holds}
        body = {"compare": [compare], "success": [{"request_put": put}]}
        if not (await gateway.call("/v3/kv/txn", body, _Decided, deadline_ns, write=True)).succeeded:
            raise Definite("the comparison does not hold")

    async def _add(self, gateway: Gateway, keys: str, number: int, deadline_ns: int) -> None:
        """Add a number to the last key of a process, or begin the next one."""
        added = self._added.setdefault(keys, [])
        full, behind = divmod(len(added), NUMBERS)
        value = " ".join(map(str, [*added[full * NUMBERS :], number]))
        await self._put_if(
            gateway, {"target": "VERSION", "version": behind}, _put(f"{keys}-{full}", value), deadline_ns
        )
        added.append(number)


def _put(key: str, value: object) -> dict[str, bytes]:
    return {"key": key.encode(), "value": str(value).encode()}
