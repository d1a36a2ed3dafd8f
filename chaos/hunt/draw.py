"""What each run of a hunt is: drawn from the hunt's seed and the run's number, and from nothing else. Pure.

Each run has a small part of all faults and of all loads (Groce et al., "Swarm Testing", ISSTA 2012): runs that do all
at once rarely do one thing often.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

import msgspec

from chaos.basics.rand import SEEDS, stream
from nemesis.plan.drawn_params import with_params

TIME_LIMITS_S: Final = (20.0, 30.0, 60.0)
INTERVALS_S: Final = (1.0, 3.0, 8.0)
DURATIONS_S: Final = (0.5, 2.0, 5.0, 10.0)
RATES: Final = (50.0, 100.0, 200.0)
CLIENTS: Final = (2, 4, 8, 16)
FAULTS_MOST: Final = 4
_EVEN: Final = 0.25


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """What may be drawn.

    ``workloads``, ``nemeses``: names as ``chaos run`` takes them. ``fixed``: options that are not drawn, by field name.
    """

    workloads: tuple[str, ...]
    nemeses: tuple[str, ...]
    fixed: Mapping[str, Any] = {}


def options_of(seed: int, number: int, space: Space) -> dict[str, Any]:
    """The options of one run, by field name, with a seed of its own; ``number`` counts from 0."""
    random = stream(seed, "hunt", number)
    interval_s, duration_s = random.choice(INTERVALS_S), random.choice(DURATIONS_S)
    drawn: dict[str, Any] = {
        "workload": random.choice(space.workloads),
        "nemesis": ",".join(faults(random, space.nemeses)),
        "seed": random.randrange(SEEDS),
        "fault_interval_s": interval_s,
        "fault_duration_s": duration_s,
        "time_limit_s": random.choice([limit for limit in TIME_LIMITS_S if limit >= interval_s + duration_s]),
        "rhythm": "even" if random.random() < _EVEN else "mixed",
        "rate": random.choice(RATES),
        "clients": random.choice(CLIENTS),
    }
    drawn |= space.fixed
    limit_s = drawn["time_limit_s"]
    if drawn["fault_interval_s"] + drawn["fault_duration_s"] > limit_s:
        drawn["fault_interval_s"] = drawn["fault_duration_s"] = limit_s / 2
    return drawn


def faults(random: Random, nemeses: Sequence[str]) -> list[str]:
    """Some of the nemeses, sometimes with parameters, in the order in which they are offered."""
    number = min(len(nemeses), random.randint(1, FAULTS_MOST))
    taken = set(random.sample(range(len(nemeses)), number))
    return [with_params(random, name) for place, name in enumerate(nemeses) if place in taken]
