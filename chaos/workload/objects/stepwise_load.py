"""Loads in which a client does one thing after the other at a place: each step follows from the answer to the last."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from chaos.core.op import Completion, Invocation, Word
from chaos.workload.base import Arrival, LoadSpec, OpenLoop

PlaceT = TypeVar("PlaceT")


class StepLoad(ABC, Generic[PlaceT]):
    """An open loop in which a client makes its next step at a place, and none there while an answer is out.

    Args:
        spec: what the load is made for.
        mix: operations of each word, in proportion.
        changes: the words of which fewer are due in quiet stretches.
    """

    def __init__(self, spec: LoadSpec, mix: Mapping[Any, float], changes: frozenset[Any]) -> None:
        self._spec = spec
        self._loop = OpenLoop(spec, mix, changes)
        self._waiting: set[PlaceT] = set()

    @abstractmethod
    def _place(self, client: int, key: int, f: Word) -> PlaceT | None:
        """Where a client makes its steps; None for what waits for no answer."""

    @abstractmethod
    def _step(self, arrival: Arrival, now_ns: int) -> tuple[Word, int, Any] | None:
        """What the client does next: the word, the key and the argument; None for nothing yet."""

    @abstractmethod
    def _hear(self, op: Invocation, done: Completion) -> None:
        """What became of a step."""

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """An open loop."""
        return self._loop.arrivals(clients, rate)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """The client's next step; None while it waits for an answer or for its time."""
        place = self._place(arrival.client, arrival.key, arrival.f)
        if place in self._waiting:
            return None
        step = self._step(arrival, now_ns)
        if step is None:
            return None
        if place is not None:
            self._waiting.add(place)
        f, key, argument = step
        due = arrival._replace(f=f, key=key)
        return due.invocation(process, now_ns + self._spec.timeout_ns, argument)

    def learn(self, op: Invocation, done: Completion) -> None:
        """Hear what became of an operation; of one that is no step there is nothing to learn."""
        place = self._place(op.client, op.key, op.f)
        if place is not None:
            self._waiting.discard(place)
            self._hear(op, done)

    def _asked_ns(self, op: Invocation) -> int:
        """When an operation of this load was asked for."""
        return op.deadline_ns - self._spec.timeout_ns

    def notes(self) -> Mapping[int, Any]:
        """Nothing: the final phase needs to know nothing of the load."""
        return {}
