"""A swarm: for each run a few of all faults that sound systems survive, drawn from its seed. Pure.

Runs that do all at once rarely do one thing often (Groce et al., "Swarm Testing", ISSTA 2012).
"""

from collections.abc import Sequence
from typing import Final

from chaos.basics.rand import stream
from nemesis.faults.params import must_be_given
from nemesis.plan.drawn_params import with_params
from nemesis.plan.nemesis_names import Choice, Entry, parse
from nemesis.targets.topology import Topology

FAULTS: Final = (3, 6)
"""So many faults a run has at least and at most."""
NAMES_MOST: Final = 2
"""By so many names each: whom it hits."""


def is_survived(entry: Entry) -> bool:
    """Whether every sound system keeps its promises under a nemesis, whose parameters nobody must give."""
    survived = entry.how.survived
    return (survived is None or entry.selector in survived) and not must_be_given(entry.how.Params)


def swarm_of(choices: Sequence[Choice], topology: Topology, seed: int) -> tuple[Choice, ...]:
    """A few of the choices, with parameters of their own.

    Args:
        choices: what is possible, none of them with parameters that were typed.
        topology: whose roles they name.
        seed: of the run.
    """
    by_fault: dict[str, list[Choice]] = {}
    for choice in choices:
        by_fault.setdefault(choice.entry.how.name, []).append(choice)
    random = stream(seed, "swarm")
    faults = random.sample(sorted(by_fault), min(len(by_fault), random.randint(*FAULTS)))
    found = []
    for fault in faults:
        own = by_fault[fault]
        taken = random.sample(own, min(len(own), random.randint(1, NAMES_MOST)))
        found += [parse(with_params(random, choice.text), topology) for choice in taken]
    return tuple(found)
