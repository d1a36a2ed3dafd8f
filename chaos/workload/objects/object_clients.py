"""What clients of objects do in every workload on them: an open loop over many keys."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from chaos.core.op import Completion, Invocation, Word
from chaos.workload.base import Arrival, LoadSpec, OpenLoop

Argue = Callable[[Arrival], Any]
"""The argument of the operation that is due."""


class ObjectLoad:
    """Operations whose arguments depend on nothing that was answered.

    Args:
        spec: what they are drawn from.
        mix: operations of each word, in proportion to ``--rate``.
        changes: the words that change the object: fewer of these are due in quiet stretches.
        arguments: by word; words that are not named take none.
    """

    def __init__(
        self, spec: LoadSpec, mix: Mapping[Any, float], changes: frozenset[Word], arguments: Mapping[Any, Argue]
    ) -> None:
        self._spec = spec
        self._loop = OpenLoop(spec, mix, changes)
        self._arguments = arguments

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """An open loop."""
        return self._loop.arrivals(clients, rate)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for this arrival."""
        argue = self._arguments.get(arrival.f)
        return arrival.invocation(process, now_ns + self._spec.timeout_ns, None if argue is None else argue(arrival))

    def learn(self, op: Invocation, done: Completion) -> None:
        """No answer changes what is asked next."""

    def notes(self) -> Mapping[int, Any]:
        """Nothing: the final reads need to know nothing of the load."""
        return {}
