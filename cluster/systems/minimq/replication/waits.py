"""Requests that wait at a broker: acknowledgements for their record, strong reads for their proof, polls for records.

Each wait has a deadline and each collection a bound. What a wait ends with is decided by the caller; nothing here
refuses or answers by itself.
"""

import heapq
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import msgspec

from cluster.systems.minimq.protocol.broker_messages import Poll, StrongRead


class Acknowledgement(NamedTuple):
    """``answer`` is due to the client once the record at ``position`` is kept; by position, then by arrival."""

    position: int
    serial: int
    request_id: str
    deadline_ms: int
    answer: msgspec.Struct


class Strong(NamedTuple):
    """A strong read that waits for the followers to answer ``round``."""

    request_id: str
    deadline_ms: int
    round: int
    body: StrongRead


class Parked(NamedTuple):
    """A poll that waits for a record at ``offset``."""

    request_id: str
    deadline_ms: int
    body: Poll
    offset: int


class Acknowledgements:
    """Waiting acknowledgements by the position they wait for."""

    def __init__(self) -> None:
        self._heap: list[Acknowledgement] = []
        self._serial = 0

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, position: int, request_id: str, deadline_ms: int, answer: msgspec.Struct) -> None:
        """Wait for the record at ``position``."""
        self._serial += 1
        heapq.heappush(self._heap, Acknowledgement(position, self._serial, request_id, deadline_ms, answer))

    def take(self, may_acknowledge: Callable[[int], bool]) -> list[Acknowledgement]:
        """Remove those that may go out, the lowest positions first, up to the first that may not."""
        taken = []
        while self._heap and may_acknowledge(self._heap[0].position):
            taken.append(heapq.heappop(self._heap))
        return taken

    def expire(self, now_ms: int) -> list[str]:
        """Remove those whose deadline has passed; returns the requests."""
        late = [wait for wait in self._heap if wait.deadline_ms <= now_ms]
        if late:
            self._heap = [wait for wait in self._heap if wait.deadline_ms > now_ms]
            heapq.heapify(self._heap)
        return [wait.request_id for wait in late]

    def clear(self) -> list[str]:
        """Remove all; returns the requests."""
        taken, self._heap = self._heap, []
        return [wait.request_id for wait in taken]


Wait = TypeVar("Wait", Strong, Parked)


class Waiting(Generic[Wait]):
    """Waits in the order of their arrival: ``waits``."""

    def __init__(self) -> None:
        self.waits: list[Wait] = []

    def __len__(self) -> int:
        return len(self.waits)

    def add(self, wait: Wait) -> None:
        """Wait."""
        self.waits.append(wait)

    def take(self, ready: Callable[[Wait], bool]) -> list[Wait]:
        """Remove those that are ready."""
        taken = [wait for wait in self.waits if ready(wait)]
        if taken:
            self.waits = [wait for wait in self.waits if wait not in taken]
        return taken

    def expire(self, now_ms: int) -> list[Wait]:
        """Remove those whose deadline has passed."""
        return self.take(lambda wait: wait.deadline_ms <= now_ms)

    def clear(self) -> list[Wait]:
        """Remove all."""
        taken, self.waits = self.waits, []
        return taken
