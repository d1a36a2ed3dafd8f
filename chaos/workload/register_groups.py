"""What ``long-fork``, ``monotonic`` and ``multi-register`` have in common: transactions on registers of one space.

A workload says of each operation that is due which micro-operations it has. A client stays in one space, so that no
order leaves it. Groups of keys follow each other by the clock alone: all workers use the same one at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, Invocation
from chaos.models.transactions.words import CHANGES, Do, F, Micro, Transaction
from chaos.workload.base import Arrival, LoadSpec, OpenLoop
from chaos.workload.final import FinalSpec, Limits, Part, Steps
from chaos.workload.final_reads_of_objects import asked_until_ok, given_up_at
from chaos.workload.transactions import LastTransactions

NEEDS: Final = frozenset({F.REGISTER_TXN, F.REGISTER_READ})


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


class RegisterLoad:
    """An open loop of transactions on registers.

    Args:
        spec: what they are drawn from.
        mix: how many of each word.
        rule: what they do.
    """

    def __init__(self, spec: LoadSpec, mix: Mapping[Any, float], rule: Rule) -> None:
        self._spec, self._rule = spec, rule
        self._written_of_rate = mix[F.REGISTER_TXN] / spec.keys
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
        return Invocation(
            process=process,
            client=arrival.client,
            f=arrival.f,
            key=arrival.key,
            deadline_ns=now_ns + self._spec.timeout_ns,
            argument=Transaction(micros),
        )

    def learn(self, op: Invocation, done: Completion) -> None:
        """The rule hears it."""
        self._rule.learn(op, done)

    def notes(self) -> Mapping[int, Any]:
        """By space the highest key that was used."""
        return dict(self._highest)


class Numbers:
    """Values that nobody else writes: of each client its next number. ``clients``: how many there are in all."""

    def __init__(self, clients: int) -> None:
        self._written = [0] * clients

    def next(self, client: int) -> int:
        """The client's next number, from 0; those of a client ascend."""
        self._written[client] += 1
        return (self._written[client] - 1) * len(self._written) + client


def turn_at(at_ns: int, written: float, written_per_s: float) -> int:
    """Which group is in use, from 0. Pure.

    Args:
        at_ns: since the beginning of the load.
        written: how many operations that write are due in a group's time.
        written_per_s: of one space.
    """
    return int(at_ns * written_per_s / (written * NS_PER_S))


class LastGroups(LastTransactions):
    """Every group of every space is read once more, each by a transaction of its own.

    Args:
        spec: the spaces, and how long an operation may take.
        width: how many keys a group has.
    """

    what = "groups of keys read once more"

    def __init__(self, spec: FinalSpec, width: int) -> None:
        super().__init__(spec, F.REGISTER_READ)
        self._width = width

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Read one group after the other; ``notes`` say of each worker the highest key that it used."""
        until_ns = given_up_at(limits, now_ns)
        for group in range(max(notes, default=-1) // self._width + 1):
            argument = Transaction(reads_of_group(group, self._width))
            missing = yield from asked_until_ok(self._read, argument, self._spec.op_timeout_s, until_ns)
            if missing:
                return missing
        return ""


def reads_of_group(group: int, width: int) -> tuple[Micro, ...]:
    """A read of each key of a group. Pure."""
    return tuple(Micro(Do.READ, key) for key in range(group * width, (group + 1) * width))
