"""What is asked after the load, and when that is complete: the final phases of a workload.

A phase has parts, a key each or a key at a node. Each part is a generator that says what to ask or how long to wait,
hears the answers, and ends with why it is not complete, empty if it is. It is pure: the worker asks and waits.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from chaos.core.op import Completion, Word
from chaos.storage.runinfo import Promises

GIVE_UP_S: Final = 30.0
"""So long is waited for what cannot complete, because something did not come back within the promised time."""


class FinalSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What final phases are made for.

    ``operations``: the words that the system's clients know. ``copies``: by key, the positions of nodes that keep it.
    """

    keys: int
    op_timeout_s: float
    operations: frozenset[Word]
    promises: Promises
    copies: tuple[tuple[int, ...], ...] = ()


class Part(NamedTuple):
    """A key, and the position of a node where that matters."""

    key: int
    node: int = -1


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When to give up. ``keys_missing``, ``nodes_missing``: some did not come back within the promised time."""

    until_ns: int
    keys_missing: bool = False
    nodes_missing: bool = False


class Ask(NamedTuple):
    """An operation on the part's key, to be answered within ``timeout_s``."""

    f: Word
    argument: Any
    timeout_s: float


class Asks(NamedTuple):
    """Operations that are asked at once; ``fresh``: through a client that knows nothing yet."""

    asks: tuple[Ask, ...]
    fresh: bool = False


class Wait(NamedTuple):
    """Ask nothing for a while."""

    seconds: float


class Heard(NamedTuple):
    """The answers, in the order of the questions; when those were asked, and what time it is now."""

    asked_ns: int
    now_ns: int
    answers: tuple[Completion, ...] = ()


Steps = Generator[Asks | Wait, Heard, str]
"""What one part does; returns why it is not complete, empty if it is."""


class FinalPhase(Protocol):
    """One final phase.

    ``name``: of the phase in the history. ``what``: what its parts are then, for people: ``queues read``.
    ``required``: without its end the run is not valid; otherwise the checks see what is missing.
    ``after_s``: it begins no sooner than this after the load. ``at_once``: whether a worker's parts run side by side.
    """

    name: str
    what: str
    required: bool
    after_s: float
    at_once: bool

    def parts(self) -> Sequence[Part]:
        """All there are; the same in every process."""
        ...

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:
        """What one part does. ``notes``: what the workers' generators noted of its key."""
        ...


def keys_of(spec: FinalSpec) -> tuple[Part, ...]:
    """A part for each key."""
    return tuple(map(Part, range(spec.keys)))


def notes_of(parts: Sequence[Part], notes: Mapping[int, Sequence[Any]]) -> dict[int, tuple[Any, ...]]:
    """What was noted of the keys of some parts."""
    return {key: tuple(notes[key]) for key in {part.key for part in parts} if key in notes}
