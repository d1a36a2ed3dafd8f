"""What a system is tried with in series of runs: matrices ask for it, so that a new system needs no line in them."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from cluster.system import System


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A workload for a system, under settings that promise that nothing is lost.

    ``name``: what tells it from the system's other trials. ``main``: it is what the system is used for most.
    """

    name: str
    workload: str
    settings: Mapping[str, str] = {}
    main: bool = False


@runtime_checkable
class HasTrials(Protocol):
    """A system that says what it is tried with; of any other that is its own workload."""

    trials: Sequence[Trial]
    """At least one of them is ``main``."""


def trials_of(system: System) -> Sequence[Trial]:
    """What a system is tried with."""
    if isinstance(system, HasTrials):
        return system.trials
    return (Trial(name=system.workload, workload=system.workload, main=True),)
