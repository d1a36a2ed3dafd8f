"""What the main process and its processes inside the cluster's network say to each other.

JSON lines over a child's standard input and output. The main process sends specifications and phases only; operations
never travel here, they go to the history.
"""

from typing import Any

import msgspec

from chaos.core.events import Observation
from chaos.storage.runinfo import Promises
from chaos.workload.base import Earlier
from chaos.workload.final import Limits, Part
from cluster.system import ClusterView, Removal


class WorkerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """All that a worker process must know. ``rate``: this worker's part of ``--rate``.

    ``stream``: the number of the stream that it writes; a worker that was started again has another. ``earlier``: what
    it did before.
    """

    folder: str
    worker: int
    stream: int
    workers: int
    system: str
    workload: str
    view: ClusterView
    clients: int
    rate: float
    seed: int
    op_timeout_s: float
    max_in_flight: int
    body_bytes: int
    quiet: tuple[tuple[float, float], ...] = ()
    steps: tuple[tuple[float, float, float], ...] = ()
    earlier: Earlier = Earlier()


class ObserverSpec(msgspec.Struct, frozen=True, kw_only=True):
    """All that the observer process must know."""

    folder: str
    system: str
    view: ClusterView
    period_s: float


class Load(msgspec.Struct, frozen=True, kw_only=True, tag="load"):
    """Begin the load at ``origin_ns``; what was due before ``from_ns`` is left out."""

    origin_ns: int
    from_ns: int = 0


class Reconnect(msgspec.Struct, frozen=True, kw_only=True, tag="reconnect"):
    """Drop the connections of this share of the clients; they connect again when they have something to ask."""

    share: float


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """Start no further operation; answered by ``Stopped`` once none is in flight."""


class Final(msgspec.Struct, frozen=True, kw_only=True, tag="final"):
    """Do some parts of a final phase of the workload, named by its position; answered by ``FinalDone``.

    ``notes``: by key what the generators of all workers noted for the final phases.
    """

    phase: int
    parts: tuple[Part, ...]
    limits: Limits
    notes: dict[int, tuple[Any, ...]] = {}


class Prepare(msgspec.Struct, frozen=True, kw_only=True, tag="prepare"):
    """Create what the workload needs, and see that the settings are in effect; answered by ``Answer``.

    ``asked``: see ``Probe.confirm``.
    """

    asked: tuple[str, ...] | None = None


class AskReady(msgspec.Struct, frozen=True, kw_only=True, tag="ready?"):
    """Is the cluster complete? Answered by ``Answer``."""


class Observe(msgspec.Struct, frozen=True, kw_only=True, tag="observe"):
    """Begin to observe every period and to say so."""


class ReadReplicas(msgspec.Struct, frozen=True, kw_only=True, tag="read-replicas"):
    """Write down what each replica itself holds, after at most ``timeout_s``; answered by ``ReplicasRead``."""

    timeout_s: float


class Remove(msgspec.Struct, frozen=True, kw_only=True, tag="remove"):
    """Remove what was created for the run; answered by ``Removed``."""


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end"):
    """Close the stream and leave."""


Command = Load | Reconnect | Stop | Final | Prepare | AskReady | Observe | ReadReplicas | Remove | End


class Stats(msgspec.Struct, frozen=True, kw_only=True, tag="stats"):
    """A worker's counts so far: operation word → type word → number; failures by design count as ``refused`` alone.

    By key, in ns, of operations that change the object: ``last_sent``, when the newest of a client that follows the
    route left, ``last_acked``, when the newest acknowledgement of any client came. ``pid``: of the worker's process
    where it runs; 0 where it is none of its own.
    """

    worker: int
    pid: int = 0
    counts: dict[str, dict[str, int]]
    in_flight: int
    worst_lag_s: float
    worst_ack_s: float
    last_ack_ns: int
    last_sent: dict[int, int] = {}
    last_acked: dict[int, int] = {}


class Stopped(msgspec.Struct, frozen=True, kw_only=True, tag="stopped"):
    """No operation is in flight any more. ``notes``: by key what the generator noted for the final phases."""

    worker: int
    notes: dict[int, Any] = {}


class FinalDone(msgspec.Struct, frozen=True, kw_only=True, tag="final-done"):
    """A worker's parts of a final phase have ended; ``unended``: those that are not complete, and why."""

    worker: int
    unended: tuple[tuple[Part, str], ...] = ()


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag="answer"):
    """The answer to ``Prepare`` or ``AskReady``: empty text is yes. ``warnings``: what a person should know.

    ``settings``, ``promises``: see ``Confirmed``.
    """

    text: str
    warnings: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    promises: Promises | None = None


class ReplicasRead(msgspec.Struct, frozen=True, kw_only=True, tag="replicas-read"):
    """The answer to ``ReadReplicas``: how many said what they hold, and a line for each that did not."""

    read: int = 0
    failed: tuple[str, ...] = ()


class Removed(msgspec.Struct, frozen=True, kw_only=True, tag="removed"):
    """The answer to ``Remove``."""

    what: Removal


class Seen(msgspec.Struct, frozen=True, kw_only=True, tag="seen"):
    """One round of observations, newest per node."""

    observations: tuple[Observation, ...]


Report = Stats | Stopped | FinalDone | Answer | ReplicasRead | Removed | Seen
