"""One logical client: registers, counters and sources of ids are keys, sets are sets.

A strong read must be answered by a master. A replica answers GET too, so reads are asked with GETEX, which counts as a
write though it changes nothing: replicas refuse it, and so does a master that has too few of them
(``min-replicas-to-write``). With ``client.wait`` each operation counts only once so many replicas have confirmed that
they hold all that the master has: a read then adds one to a key of its own, so that there is something to confirm.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import now_ns
from chaos.core.op import Invocation, Word
from chaos.models.coordination import kv, lease, lock, semaphore, unique_ids
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from chaos.models.queues import total_queue
from chaos.models.transactions import bank
from chaos.models.transactions import words as transactions
from cluster.system import ClusterView
from cluster.systems._shared.accounts import TOO_LITTLE
from cluster.systems._shared.client import RoutedClient
from cluster.systems.redis import accounts, locks, queues, semaphores, spaces
from cluster.systems.redis.launch import SERVER
from cluster.systems.redis.leases import Leases, looked_at
from cluster.systems.redis.resp import Reply
from cluster.systems.redis.servers import Server, Servers, groups_of
from cluster.systems.redis.slots import TAGS
from cluster.systems.redis.transactions import Command, commands_of, reads_of

_CAS: Final = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) return 1 end return 0"
_KINDS: Final = {
    register.F: "registers",
    sets.F: "sets",
    counter.F: "counters",
    unique_ids.F: "ids",
    lock.F: "locks",
    semaphore.F: "permits",
    lease.F: "leases",
    total_queue.F: "queues",
    bank.F: "accounts",
    kv.F: "kv",
}
_LISTS_OR_NOT: Final = {True: "lists", False: "cells"}
_READS: Final = (register.F.READ, sets.F.READ, counter.F.READ, bank.F.READ)
_Perform = Callable[[Invocation, str, int, Received], Awaitable[None]]
"""Ask a server for an operation before its deadline, and note what came."""
_NS_PER_MS: Final = 1_000_000
_WAIT_MARGIN_MS: Final = 20
"""A server gives up waiting so much before whoever waits for it does."""


class RedisClient(RoutedClient[Server]):
    """One logical client of Redis."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        servers = Servers(view)
        names = [node.name for node in view.of_role(SERVER)]
        mode = view.settings["cluster.mode"]
        whom = {"sentinel": "the sentinels", "cluster": "the servers", "single": "the server"}[mode]
        links = {name: servers.links[name] for name in names}
        super().__init__(view, number, clients, seed, links, servers, whom, groups_of(names, mode))
        self._mark = view.mark
        self._tags = TAGS if mode == "cluster" else ()
        self._wait = int(view.settings["client.wait"])
        self._fencing = view.settings["client.fencing"] == "true"
        self._queues = view.settings["client.queue"]
        self._leases = Leases()
        self._others: dict[type[Word], _Perform] = {
            transactions.F: self._transact,
            lock.F: self._hold,
            semaphore.F: self._hold,
            lease.F: self._lease,
            total_queue.F: self._queue,
            kv.F: self._space,
        }
        self._replica_reads = view.settings["client.replicaReads"] == "on"

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        if (other := self._others.get(type(op.f))) is not None:
            await other(op, node, deadline_ns, received)
            return
        of_kind = accounts.command_of if isinstance(op.f, bank.F) else command_of
        command, read = of_kind(op, self._key(op)), is_read(op)
        commands = [command]
        if read and not self._replica_reads:
            commands = strong(command, f"{self._key(op)}/confirmed", confirmed=bool(self._wait))
        replies, short = await self._asked(node, commands, deadline_ns, read=read)
        if op.f is unique_ids.F.GENERATE:
            received.result = unique_ids.Id(int(str(replies[0])))
        if read:
            try:
                received.result = answer_of(op, _inner(replies))
            except ValueError as error:
                raise Definite(f"malformed answer: {error}") from None
        if op.f is register.F.CAS and replies[0] == 0:
            raise Definite("the comparison does not hold")
        if op.f is bank.F.TRANSFER and replies[0] == 0:
            raise Definite(TOO_LITTLE)
        if short is not None:
            raise short

    async def _asked(
        self, node: str, commands: list[Command], deadline_ns: int, *, read: bool, strong_read: bool = False
    ) -> tuple[list[Reply], Definite | Indefinite | None]:
        """The replies, and what is to be raised where too few replicas have confirmed them.

        ``strong_read``: it is one that no replica may answer, whatever ``client.replicaReads`` says.

        Raises:
            Definite: nothing was changed. Indefinite: nobody knows.
        """
        waits = bool(self._wait) and (not read or strong_read or not self._replica_reads)
        if waits:
            commands = [
                *commands,
                ("WAIT", self._wait, max(1, (deadline_ns - now_ns()) // _NS_PER_MS - _WAIT_MARGIN_MS)),
            ]
        replies = await self._links[node].call(*commands, deadline_ns=deadline_ns, write=not read)
        confirmed = int(str(replies.pop())) if waits else 0
        if not waits or confirmed >= self._wait:
            return replies, None
        return replies, (Definite if read else Indefinite)(f"{confirmed} of {self._wait} replicas have confirmed it")

    async def _transact(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        """Do all of a transaction at once; one that only reads is made to be answered by a master alone."""
        key, read = self._key(op), op.f not in transactions.CHANGES
        beside: list[Command] = []
        if read and not self._replica_reads:
            beside = [("INCR" if self._wait else "GETEX", f"{key}/confirmed")]
        replies, short = await self._asked(node, commands_of(op, key, beside), deadline_ns, read=read)
        try:
            received.result = reads_of(op, replies[-1])
        except ValueError as error:
            raise (Definite if read else Indefinite)(f"malformed answer: {error}") from None
        if short is not None:
            raise short

    async def _space(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        """Read or change keys of a space, all at once."""
        key, read = spaces.hash_of(op, self._key(op)), op.f not in kv.CHANGES
        commands = spaces.commands_of(op, key)
        if read and not self._replica_reads:
            commands = strong(commands[0], f"{key}/confirmed", confirmed=bool(self._wait))
        replies, short = await self._asked(node, commands, deadline_ns, read=read)
        try:
            received.result = spaces.answer_of(op, _inner(replies) if read else replies[-1])
        except ValueError as error:
            raise (Definite if read else Indefinite)(f"malformed answer: {error}") from None
        if short is not None:
            raise short

    async def _hold(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        """Do one operation on a lock or a semaphore."""
        key = self._key(op)
        answer_of: Callable[[Invocation, Reply], msgspec.Struct | None]
        if isinstance(op.f, lock.F):
            command, answer_of = locks.command_of(op, key, fencing=self._fencing), locks.answer_of
        else:
            command, answer_of = semaphores.command_of(op, key), semaphores.answer_of
        replies, short = await self._asked(node, [command], deadline_ns, read=False)
        try:
            received.result = answer_of(op, replies[0])
        except ValueError as error:
            raise Indefinite(f"malformed answer: {error}") from None
        if short is not None:
            raise short

    async def _lease(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        """Do one operation on a lease, or look which live; a look is strong, whatever other reads are."""
        place, read = self._key(op), op.f is lease.F.READ
        commands = [self._leases.command_of(op, place)]
        if read:
            commands = strong(commands[0], looked_at(place), confirmed=bool(self._wait))
        replies, short = await self._asked(node, commands, deadline_ns, read=read, strong_read=True)
        try:
            received.result = self._leases.answer_of(op, _inner(replies) if read else replies[0])
        except ValueError as error:
            raise (Definite if read else Indefinite)(f"malformed answer: {error}") from None
        if short is not None:
            raise short

    async def _queue(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        """Enqueue a message; or take one, note it and acknowledge it."""
        key, kind = self._key(op), self._queues
        if op.f is total_queue.F.ENQUEUE:
            _, short = await self._asked(node, [queues.enqueue(op, key, kind)], deadline_ns, read=False)
            if short is not None:
                raise short
            return
        replies, short = await self._asked(node, [queues.take(op, key, kind)], deadline_ns, read=False)
        try:
            given = queues.given_of(replies[0])
        except ValueError as error:
            raise Indefinite(f"malformed answer: {error}") from None
        received.result = given.taken if given is not None else None
        if short is not None:
            raise short if given is not None else Definite(str(short))
        if given is None:
            received.result = total_queue.Taken()
            return
        replies, short = await self._asked(node, [queues.acknowledge(given, key, kind)], deadline_ns, read=False)
        if replies[0] == 0:
            raise Definite(queues.NOT_OUT)
        if short is not None:
            raise short

    def _key(self, op: Invocation) -> str:
        tag = f"{{{self._tags[op.key % len(self._tags)]}}}/" if self._tags else ""
        kind = _LISTS_OR_NOT[op.f in transactions.OF_LISTS] if isinstance(op.f, transactions.F) else _KINDS[type(op.f)]
        return f"{tag}{self._mark}/{kind}/{op.key}"


def is_read(op: Invocation) -> bool:
    """Whether it changes nothing. Words of different models may have the same number."""
    return any(op.f is read for read in _READS)


def command_of(op: Invocation, key: str) -> Command:
    """The command of an operation. Pure."""
    if op.f is register.F.WRITE:
        return ("SET", key, op.argument.value)
    if op.f is register.F.CAS:
        return ("EVAL", _CAS, 1, key, op.argument.expected, op.argument.value)
    if op.f is sets.F.ADD:
        return ("SADD", key, op.argument.element)
    if op.f is counter.F.ADD:
        return ("INCRBY", key, op.argument.amount)
    if op.f is unique_ids.F.GENERATE:
        return ("INCR", key)
    return ("SMEMBERS", key) if op.f is sets.F.READ else ("GET", key)


def strong(read: Command, beside: str, *, confirmed: bool) -> list[Command]:
    """A read that only a master answers, and that leaves something for replicas to confirm, if they shall. Pure.

    ``beside``: a key in the same slot that nobody else looks at.
    """
    if confirmed:
        return [("MULTI",), read, ("INCR", beside), ("EXEC",)]
    return [("GETEX", read[1])] if read[0] == "GET" else [("MULTI",), read, ("GETEX", beside), ("EXEC",)]


def _inner(replies: list[Reply]) -> Reply:
    """The reply to the read itself."""
    last = replies[-1]
    return last[0] if len(replies) > 1 and isinstance(last, list) else last


def answer_of(op: Invocation, reply: Reply) -> Found | sets.Elements | bank.Balances:
    """What a read found. Pure. Raises ValueError if it is no answer."""
    if op.f is bank.F.READ:
        return accounts.balances_of(reply)
    if op.f is sets.F.READ:
        return sets.Elements([int(str(element)) for element in reply] if isinstance(reply, list) else [])
    return Found(None if reply is None else int(str(reply)))
