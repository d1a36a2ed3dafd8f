"""What workloads of transactions have in common: which are due, what they do by a rule, and the last reads.

A client stays in one space of keys, so that the order of its transactions is an order within that space. Of
``list-append`` and ``rw-register`` each space has a few keys that are in use. A key is used for some writes and then
retired for a new one, so that lists stay short and much is read of every key. When a key is retired depends on the
clock alone: clients of all workers use the same keys at the same time. Elements and values are written once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from chaos.basics.rand import stream
from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, Invocation, Word
from chaos.models.transactions.words import CHANGES, Do, Micro, Transaction
from chaos.workload.base import Arrival, LoadSpec, OpenLoop
from chaos.workload.final import FinalSpec, Limits, Part, Steps, keys_of
from chaos.workload.objects.final_reads_of_objects import asked_until_ok, given_up_at

CHECKS: Final = ("assumptions", "transactions", "replica-data", "recovery", "progress", "roles", "rto")
IN_USE: Final = 12
"""Keys of a space that are in use at a time."""
LONGEST: Final = 4
"""Micro-operations of a transaction at most."""
WRITES_OF_KEY: Final = 32
"""About so many times a key is written before it is retired."""
WRITES_OF_TXN: Final = 1.6
"""Of a transaction that writes, on average."""
READ_AT_ONCE: Final = 16
"""Keys that one final transaction reads."""


class Rule(Protocol):
    """What a workload asks for."""

    def micros(self, arrival: Arrival, written_per_s: float) -> Sequence[Micro]:
        """The micro-operations of what is due; none if nothing is to be asked.

        Args:
            arrival: what is due; its key is the client's space.
            written_per_s: how many operations that write are due in one space, of all workers.
        """
        ...

    def learn(self, op: Invocation, done: Completion) -> None:
        """Hear what became of an operation."""
        ...


class TransactionLoad:
    """An open loop of transactions.

    Args:
        spec: what they are drawn from.
        mix: how many of each word.
        rule: what they do.
    """

    def __init__(self, spec: LoadSpec, mix: Mapping[Any, float], rule: Rule) -> None:
        self._spec, self._rule = spec, rule
        self._written_of_rate = sum(share for f, share in mix.items() if f in CHANGES) / spec.keys
        self._loop = OpenLoop(spec, mix, CHANGES)
        self._written_per_s = 1.0
        self._highest: dict[int, int] = {}

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """An open loop; each client in its space."""
        if clients and rate > 0:
            self._written_per_s = rate * self._spec.clients / len(clients) * self._written_of_rate
        for one in self._loop.arrivals(clients, rate):
            yield one._replace(key=one.client % self._spec.keys)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for this arrival; None if the rule asks nothing."""
        micros = tuple(self._rule.micros(arrival, self._written_per_s))
        if not micros:
            return None
        self._highest[arrival.key] = max(self._highest.get(arrival.key, 0), *(one.key for one in micros))
        return arrival.invocation(process, now_ns + self._spec.timeout_ns, Transaction(micros))

    def learn(self, op: Invocation, done: Completion) -> None:
        """The rule hears it."""
        self._rule.learn(op, done)

    def notes(self) -> Mapping[int, Any]:
        """By space the highest key that was used."""
        return dict(self._highest)


class Numbers:
    """Gives each client the next of its own numbers, so that nobody writes a value again.

    Args:
        spec: how many clients there are in all, and which numbers they have had.
    """

    def __init__(self, spec: LoadSpec) -> None:
        self._written = [spec.earlier.numbers] * spec.clients

    def next(self, client: int) -> int:
        """The client's next number, from 0; those of a client ascend."""
        self._written[client] += 1
        return (self._written[client] - 1) * len(self._written) + client


class KeysInUse:
    """The rule of ``list-append`` and ``rw-register``: up to four reads and writes of the keys that are in use.

    Args:
        spec: what they are drawn from.
        write: how a transaction writes.
    """

    def __init__(self, spec: LoadSpec, write: Do) -> None:
        self._write = write
        self._draws = stream(spec.seed, "micro")
        self._numbers = Numbers(spec)

    def micros(self, arrival: Arrival, written_per_s: float) -> Sequence[Micro]:
        """One to four; of registers none is written twice, which some systems refuse."""
        life_ns = max(1, int(WRITES_OF_KEY * IN_USE / (written_per_s * WRITES_OF_TXN) * NS_PER_S))
        count, changes = self._draws.randint(1, LONGEST), arrival.f in CHANGES
        writes = [changes and self._draws.random() < 1 / 2 for _ in range(count)]
        if changes:
            writes[self._draws.randrange(count)] = True
        found: list[Micro] = []
        written: set[int] = set()
        for is_write in writes:
            key = key_at(self._draws.randrange(IN_USE), arrival.at_ns, life_ns)
            if is_write and not (self._write is Do.WRITE and key in written):
                written.add(key)
                found.append(Micro(self._write, key, self._numbers.next(arrival.client)))
            else:
                found.append(Micro(Do.READ, key))
        return found

    def learn(self, op: Invocation, done: Completion) -> None:
        """No answer changes what is asked next."""


def key_at(slot: int, at_ns: int, life_ns: int) -> int:
    """The key that is in use in one of ``IN_USE`` places; they do not change all at once. Pure."""
    return slot + IN_USE * ((at_ns + slot * life_ns // IN_USE) // life_ns)


class LastTransactions:
    """Every key of every space is read once more, some in each transaction.

    Args:
        spec: the spaces, and how long an operation may take.
        read: the word that reads.
    """

    name = "drain"
    what = "key spaces read once more"
    required = True
    after_s = 0.0
    at_once = True

    def __init__(self, spec: FinalSpec, read: Word) -> None:
        self._spec, self._read = spec, read

    def parts(self) -> Sequence[Part]:
        """A part for each space."""
        return keys_of(self._spec)

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Read its keys until each was read; ``notes`` say of each worker how many there are."""
        until_ns = given_up_at(limits, now_ns)
        keys = range(max(notes, default=-1) + 1)
        for first in range(0, len(keys), READ_AT_ONCE):
            argument = Transaction(tuple(Micro(Do.READ, key) for key in keys[first : first + READ_AT_ONCE]))
            missing = yield from asked_until_ok(self._read, argument, self._spec.op_timeout_s, until_ns)
            if missing:
                return missing
        return ""
