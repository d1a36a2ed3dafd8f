"""What every workload is: a generator of operations on one model, final phases, and the checks that judge it.

The worker asks a generator when operations are due, what to ask for, and tells it the answers; whatever it decides is
drawn from named seeded streams, so the same seed asks the same questions. Generators are pure: they do not send, wait
or look at a clock. Final phases are in ``chaos.workload.final``.
"""

import heapq
import random
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol, runtime_checkable

import msgspec

from chaos.basics.rand import draw_below, stream
from chaos.core.client import Client
from chaos.core.clock import NS_PER_S
from chaos.core.errors import UsageError
from chaos.core.op import Completion, Invocation, Word
from chaos.workload.final import FinalPhase, FinalSpec

QUIET_OF: Final = 10
"""In a quiet stretch one of so many operations that change something is due; others go on."""


class Arrival(NamedTuple):
    """An operation that is due. ``at_ns`` counts from the beginning of the load."""

    at_ns: int
    f: Word
    client: int
    key: int

    def invocation(self, process: int, deadline_ns: int, argument: Any) -> Invocation:
        """The operation, with its argument."""
        return Invocation(
            process=process, client=self.client, f=self.f, key=self.key, deadline_ns=deadline_ns, argument=argument
        )

    def turn(self, written: float, written_per_s: float) -> int:
        """Which group of keys is in use when it is due, from 0: all workers change groups by the clock alone.

        Args:
            written: how many operations that write are due in a group's time.
            written_per_s: of one space.
        """
        return int(self.at_ns * written_per_s / (written * NS_PER_S))


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """What the clients of a worker did before it was killed and started again; nothing as a rule.

    ``numbers``: no client, and no process, has had this number or a higher one. ``unknown``: of so many operations
    nobody knows what became of them.
    """

    numbers: int = 0
    unknown: int = 0


NUMBERS_OF_OP: Final = 4
"""No operation takes more of its client's numbers."""


class LoadSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a generator is made for: the same in every worker of a run.

    ``operations``: the words of the model that the system's clients know. ``op_timeout_s``: the deadline of one
    operation. ``quiet``: when a tenth of the changes is due: (from, until) in seconds after the load's start.
    ``steps``: when so many times as much of everything is due: (from, until, factor), the factor above 1. ``earlier``:
    what these clients did before; what may be done only once they do not do again.
    """

    keys: int
    clients: int
    seed: int
    body_bytes: int
    op_timeout_s: float
    operations: frozenset[Word]
    quiet: tuple[tuple[float, float], ...] = ()
    steps: tuple[tuple[float, float, float], ...] = ()
    earlier: Earlier = Earlier()

    @property
    def timeout_ns(self) -> int:
        """The deadline of one operation."""
        return int(self.op_timeout_s * NS_PER_S)


class Generator(Protocol):
    """What a worker's clients do; one instance per worker."""

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """What is due for these clients in order of time, without end.

        ``rate``: a second, of all these clients together, of what the mix counts as 1.
        """
        ...

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for; None if nothing can be asked because an earlier answer is still out."""
        ...

    def learn(self, op: Invocation, done: Completion) -> None:
        """Hear what became of an operation, also of one that was not sent."""
        ...

    def notes(self) -> Mapping[int, Any]:
        """By key what the final phases must know of the load, as JSON has it; nothing for most models."""
        ...


@runtime_checkable
class PerformsItself(Protocol):
    """A generator some of whose operations are more than one attempt of a client."""

    async def perform(self, client: Client, op: Invocation) -> Completion:
        """Do the operation before its deadline, and learn of it."""
        ...


class Workload(Protocol):
    """What clients do in a run; found by name in the entry-point group ``chaos.workloads``."""

    name: str
    model: str
    mix: Mapping[Any, float]
    """Operations of each word, in proportion to what ``--rate`` counts, as far as the system's clients know them."""
    keys: int
    """How many keys the load uses unless somebody asks for another number."""
    needs: frozenset[Any]
    """Words without which the workload is not what its name says."""
    checks: tuple[str, ...]
    """Who judges it, by name (``chaos list checks``)."""

    def generator(self, spec: LoadSpec) -> Generator:
        """What a worker's clients do."""
        ...

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """What is asked after the load, one phase after the other."""
        ...


@runtime_checkable
class AttemptsSends(Protocol):
    """A workload whose sends are attempted until they are answered, which the system must take at most once."""

    send_deadline_s: float
    """How long a send is attempted where that is longer than the deadline of one operation."""


def send_deadline_s(workload: Workload) -> float:
    """How long a send is attempted where that is longer than an operation's deadline; 0 where it is not."""
    return workload.send_deadline_s if isinstance(workload, AttemptsSends) else 0.0


@runtime_checkable
class JudgedByClocks(Protocol):
    """A workload whose checks count with the wall clocks of brokers as they were before and after the run."""

    judged_by_clocks: Literal[True]


@runtime_checkable
class LivesToTheEnd(Protocol):
    """A workload that needs its clients to the end: they know what the system, or a final phase, asks them for."""

    lives_to_the_end: Literal[True]


@runtime_checkable
class NeedsOneOf(Protocol):
    """A workload that can be done in more than one way: it needs one of these words beside those of ``needs``."""

    needs_one_of: frozenset[Any]


def alternatives_of(workload: Workload) -> frozenset[Word]:
    """The words of which a workload needs one; empty: it needs none beside those that it needs anyway."""
    return workload.needs_one_of if isinstance(workload, NeedsOneOf) else frozenset()


def lacking_words(workload: Workload, operations: frozenset[Word]) -> list[str]:
    """The words, by name, that a workload needs and that these operations lack; those of which one is needed as one."""
    lacking = [f.word for f in sorted(workload.needs - operations)]
    alternatives = alternatives_of(workload)
    if alternatives and not alternatives & operations:
        lacking.append(" or ".join(f.word for f in sorted(alternatives)))
    return lacking


def mix_of(workload: Workload, operations: frozenset[Word]) -> dict[Word, float]:
    """The mix for a system whose clients know these words."""
    return {f: share for f, share in workload.mix.items() if f in operations}


def check_suited(workload: Workload, system: str, operations: frozenset[Word], *, idempotent_sends: bool) -> None:
    """See that a system's clients can do what a workload is about.

    Raises:
        UsageError: they cannot; the message says what is missing.
    """
    if not operations:
        raise UsageError(f"--workload {workload.name}: {system} has no clients for the model {workload.model}")
    missing = lacking_words(workload, operations)
    if isinstance(workload, AttemptsSends) and not idempotent_sends:
        missing.append("idempotent send")
    if missing:
        raise UsageError(
            f"--workload {workload.name}: clients of {system} make no {' and no '.join(missing)}; "
            "take another workload (chaos list workloads) or another --system"
        )


def staggered_times(rng: random.Random, per_s: float) -> Iterator[int]:
    """Instants in ns: one in each interval of 1/per_s, at a random place in it."""
    step = NS_PER_S / per_s
    i = 0
    while True:
        yield int((i + rng.random()) * step)
        i += 1


class OpenLoop:
    """Operations that become due by the clock, whatever became of the earlier ones.

    Args:
        spec: what they are drawn from.
        mix: operations of each word, in proportion.
        quietened: the words of which fewer are due in quiet stretches.
    """

    def __init__(self, spec: LoadSpec, mix: Mapping[Any, float], quietened: frozenset[Any]) -> None:
        self._spec = spec
        self._mix = {f: share for f, share in mix.items() if f in spec.operations}
        self._quietened = quietened
        self._quiet = tuple((int(begin * NS_PER_S), int(end * NS_PER_S)) for begin, end in spec.quiet)

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """The operations of these clients in order of time, without end; none at a rate of 0."""
        if rate <= 0 or not clients:
            return
        due = [self.of_word(f, clients, rate * share) for f, share in self._mix.items()]
        for number in range(len(self._spec.steps)):
            due += [self._more(number, f, clients, rate * share) for f, share in self._mix.items()]
        yield from heapq.merge(*due)

    def of_word(self, f: Word, clients: list[int], per_s: float) -> Iterator[Arrival]:
        """The operations of one word."""
        label = ",".join(map(str, clients))
        when = stream(self._spec.seed, "when", f.word, label)
        who = stream(self._spec.seed, "who", f.word, label)
        for number, at_ns in enumerate(staggered_times(when, per_s)):
            arrival = Arrival(at_ns, f, clients[draw_below(who, len(clients))], draw_below(who, self._spec.keys))
            if f not in self._quietened or number % QUIET_OF == 0 or not self._is_quiet(at_ns):
                yield arrival

    def _more(self, number: int, f: Word, clients: list[int], per_s: float) -> Iterator[Arrival]:
        """What is due of a word in a step beside what would be due without it, drawn by itself."""
        from_s, until_s, factor = self._spec.steps[number]
        label = ",".join(map(str, clients))
        when = stream(self._spec.seed, "step", number, f.word, label)
        who = stream(self._spec.seed, "who in step", number, f.word, label)
        for after_ns in staggered_times(when, per_s * (factor - 1)):
            at_ns = int(from_s * NS_PER_S) + after_ns
            if at_ns >= until_s * NS_PER_S:
                return
            yield Arrival(at_ns, f, clients[draw_below(who, len(clients))], draw_below(who, self._spec.keys))

    def _is_quiet(self, at_ns: int) -> bool:
        return any(begin <= at_ns < end for begin, end in self._quiet)
