"""What clients of a log do in every workload on it: they send new values, and read on from where they are.

``LogLoad`` is a whole generator of sends and reads. Workloads that do more keep one and ask it for what is theirs
alike.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.operations import ReadFrom, Send, placed_at, records_given
from chaos.models.log.words import SENDS, F, Value
from chaos.workload.base import Arrival, LoadSpec, OpenLoop
from chaos.workload.logs.unread_values import LogNote, Unread

STRONG_READ_WINDOW: Final = 64
"""A strong read during the load begins this many offsets below the last end its client saw."""

Argue = Callable[[Arrival, Value, int], Any]
"""The argument of a send: of this arrival, with this value, at this time."""


class LogLoad:
    """Sends of new values, weak polls, strong reads and slave reads.

    Args:
        spec: what it is drawn from.
        mix: operations of each word per send.
        arguments: by word the arguments of sends that are more than values.
    """

    def __init__(self, spec: LoadSpec, mix: Mapping[F, float], arguments: Mapping[Any, Argue] | None = None) -> None:
        self.loop = OpenLoop(spec, mix, frozenset(SENDS))
        self._spec = spec
        self._arguments: Mapping[Any, Argue] = arguments or {}
        self._sequence: dict[int, int] = {}
        self._cursor: dict[tuple[int, int], int] = {}
        self._end: dict[tuple[int, int], int] = {}
        self._unread = Unread()

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """An open loop; ``rate``: sends a second of all these clients together."""
        return self.loop.arrivals(clients, rate)

    def next_value(self, writer: int) -> Value:
        """A value that this writer has not sent."""
        number = self._sequence.get(writer, self._spec.earlier.numbers)
        self._sequence[writer] = number + 1
        return Value(writer, number)

    def op(self, arrival: Arrival, process: int, now_ns: int, argument: Any) -> Invocation:
        """The operation of an arrival with an argument."""
        return arrival.invocation(process, now_ns + self._spec.timeout_ns, argument)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for this arrival; counts the sequence number of a send."""
        return self.op(arrival, process, now_ns, self._argument(arrival, now_ns))

    def _argument(self, arrival: Arrival, now_ns: int) -> Any:
        at = (arrival.client, arrival.key)
        if arrival.f in SENDS:
            value, special = self.next_value(arrival.client), self._arguments.get(arrival.f)
            if special is not None:
                return special(arrival, value, now_ns)
            return Send(value=value, body_bytes=self._spec.body_bytes)
        if arrival.f is F.READ:
            return ReadFrom(offset=max(0, self._end.get(at, 0) - STRONG_READ_WINDOW))
        if arrival.f is F.SLAVE_READ:
            return ReadFrom(offset=max(0, self._end.get(at, 0) - STRONG_READ_WINDOW // 2))
        return ReadFrom(offset=self._cursor.get(at, 0))

    def learn(self, op: Invocation, done: Completion) -> None:
        """Move the client's cursors by what it was told."""
        self._unread.learn(op, done)
        at = (op.client, op.key)
        if done.type is not Type.OK:
            return
        if op.f in SENDS:
            offset = placed_at(done)
            if offset is not None:
                self._end[at] = max(self._end.get(at, 0), offset + 1)
        elif op.f in (F.POLL, F.READ):
            following = records_given(done).next_offset
            if following is not None:
                (self._cursor if op.f is F.POLL else self._end)[at] = following

    def notes(self) -> Mapping[int, LogNote]:
        """What the final reads must know of each queue."""
        return self._unread.notes()
