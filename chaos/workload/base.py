"""What every workload is: a pure generator of operations that hears what became of them.

The worker asks a workload when operations are due, what to ask for, and tells it the answers; whatever
it decides is drawn from named seeded streams, so the same seed asks the same questions. The module
refuses to send, to wait and to look at a clock.
"""

import random
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.errors import UsageError
from chaos.core.op import Completion, F, Invocation


class Arrival(NamedTuple):
    """An operation that is due. ``at_ns`` counts from the beginning of the load."""

    at_ns: int
    f: F
    client: int
    key: int


class LoadSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a workload is made for: the same in every worker of a run.

    ``operations``: the kinds that the system's clients make. ``op_timeout_s``: the deadline of one operation.
    ``quiet``: when a tenth of the sends is due: (from, until) in seconds after the load's start.
    """

    queues: int
    clients: int
    seed: int
    body_bytes: int
    op_timeout_s: float
    operations: frozenset[F]
    quiet: tuple[tuple[float, float], ...] = ()


class Workload(Protocol):
    """What a worker needs of a workload; one instance per worker."""

    name: str
    mix: Mapping[F, float]
    """Operations of each kind per send, as far as the system's clients make them."""
    needs: frozenset[F]
    """Kinds without which the workload is not what its name says."""
    idempotent: bool
    """Whether a send is attempted until it is answered, one at a time per client and queue."""
    send_deadline_s: float
    """How long a send is attempted where that is longer than the deadline of one operation; 0 where it is not."""
    invisible_s: float
    """For how long nobody else is given what a client popped; 0 where nobody pops."""
    linger_s: float
    """The final reads begin no sooner than this after the load: so long what is acknowledged may be on its way."""

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """What is due for these clients in order of time, without end; ``rate``: their sends a second together."""
        ...

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for; None if nothing can be asked because an earlier answer is still out."""
        ...

    def stamped(self, client: int, op: Invocation) -> Invocation:
        """An idempotent send whose turn has come, under its producer's name and next number."""
        ...

    def learn(self, client: int, op: Invocation, done: Completion) -> None:
        """Hear what became of an operation, also of one that was not sent."""
        ...


def staggered(rng: random.Random, per_s: float) -> Iterator[int]:
    """Instants in ns: one in each interval of 1/per_s, at a random place in it."""
    step = NS_PER_S / per_s
    i = 0
    while True:
        yield int((i + rng.random()) * step)
        i += 1


def check_suited(workload: Any, system: str, operations: frozenset[F], *, idempotent_sends: bool) -> None:
    """See that a system's clients can do what a workload is about.

    Raises:
        UsageError: they cannot; the message says what is missing.
    """
    missing = [f.word for f in sorted(workload.needs - operations)]
    if workload.idempotent and not idempotent_sends:
        missing.append("idempotent send")
    if missing:
        raise UsageError(
            f"--workload {workload.name}: clients of {system} make no {' and no '.join(missing)}; "
            "take --workload queue or another --system"
        )
