"""What the main process and its processes inside the cluster's network say to each other.

JSON lines over a child's standard input and output. The main process sends specifications and phases
only; operations never travel here, they go to the history. The module refuses to act.
"""

import msgspec

from chaos.core.events import Observation
from chaos.core.runinfo import Promises
from cluster.system import ClusterView, Removal


class WorkerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """All that a worker process must know. ``rate``: sends a second of this worker."""

    folder: str
    worker: int
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


class ObserverSpec(msgspec.Struct, frozen=True, kw_only=True):
    """All that the observer process must know."""

    folder: str
    system: str
    view: ClusterView
    period_s: float


class Load(msgspec.Struct, frozen=True, kw_only=True, tag="load"):
    """Begin the load at ``origin_ns``."""

    origin_ns: int


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """Start no further operation; answered by ``Stopped`` once none is in flight."""


class DrainPass(msgspec.Struct, frozen=True, kw_only=True, tag="drain"):
    """Read these queues whole, on fresh connections; answered by one ``Drained`` per queue.

    ``owed``: by queue, values that were acknowledged without an offset and that nobody has read yet.
    """

    number: int
    keys: tuple[int, ...]
    timeout_s: float
    owed: dict[int, tuple[tuple[int, int], ...]] = {}


class LastPops(msgspec.Struct, frozen=True, kw_only=True, tag="pops"):
    """Pop these queues to their end, on fresh connections; answered by one ``Popped``."""

    keys: tuple[int, ...]
    timeout_s: float


class ReadCopies(msgspec.Struct, frozen=True, kw_only=True, tag="copies"):
    """Read replicas' own copies: (position of the node, queue); answered by ``CopiesRead``."""

    copies: tuple[tuple[int, int], ...]
    timeout_s: float


class Prepare(msgspec.Struct, frozen=True, kw_only=True, tag="prepare"):
    """Create what the workload needs, and see that the settings are in effect; answered by ``Answer``.

    ``asked``: see ``Probe.confirm``.
    """

    asked: tuple[str, ...] | None = None


class AskReady(msgspec.Struct, frozen=True, kw_only=True, tag="ready?"):
    """Is the cluster complete? Answered by ``Answer``."""


class Observe(msgspec.Struct, frozen=True, kw_only=True, tag="observe"):
    """Begin to observe every period and to say so."""


class Remove(msgspec.Struct, frozen=True, kw_only=True, tag="remove"):
    """Remove what was created for the run; answered by ``Removed``."""


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end"):
    """Close the stream and leave."""


Command = Load | Stop | LastPops | DrainPass | ReadCopies | Prepare | AskReady | Observe | Remove | End


class Stats(msgspec.Struct, frozen=True, kw_only=True, tag="stats"):
    """A worker's counts so far: operation word → type word → number.

    By queue, in ns: ``last_sent``, when the newest send of a client that follows the route left, ``last_acked``, when
    the newest acknowledgement of any client came.
    """

    worker: int
    counts: dict[str, dict[str, int]]
    in_flight: int
    worst_lag_s: float
    worst_ack_s: float
    last_ack_ns: int
    highest_acked: dict[int, int]
    last_sent: dict[int, int] = {}
    last_acked: dict[int, int] = {}


class Stopped(msgspec.Struct, frozen=True, kw_only=True, tag="stopped"):
    """No operation is in flight any more. ``owed``: see ``DrainPass``."""

    worker: int
    owed: dict[int, tuple[tuple[int, int], ...]] = {}


class Drained(msgspec.Struct, frozen=True, kw_only=True, tag="drained"):
    """What became of one queue in one pass; ``digest`` is over offsets and values, ``missing`` counts the owed."""

    worker: int
    number: int
    key: int
    ok: bool
    next_offset: int | None = None
    max_offset: int | None = None
    digest: str = ""
    missing: int = 0
    error: str | None = None


class Popped(msgspec.Struct, frozen=True, kw_only=True, tag="popped"):
    """What became of a worker's last pops: the queues whose end was not reached, and why."""

    worker: int
    unended: dict[int, str]


class CopiesRead(msgspec.Struct, frozen=True, kw_only=True, tag="copies-read"):
    """How many of the copies asked for could be read; which and why not is in the history."""

    worker: int
    ok: int


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag="answer"):
    """The answer to ``Prepare`` or ``AskReady``: empty text is yes. ``warnings``: what a person should know.

    ``settings``, ``promises``: see ``Confirmed``.
    """

    text: str
    warnings: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    promises: Promises | None = None


class Removed(msgspec.Struct, frozen=True, kw_only=True, tag="removed"):
    """The answer to ``Remove``."""

    what: Removal


class Seen(msgspec.Struct, frozen=True, kw_only=True, tag="seen"):
    """One round of observations, newest per node."""

    observations: tuple[Observation, ...]


Report = Stats | Stopped | Popped | Drained | CopiesRead | Answer | Removed | Seen
