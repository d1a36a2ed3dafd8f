"""Which faults this machine cannot do, by what ``chaos doctor`` found by doing.

The module refuses to guess: a fault whose needs nobody tried is left to the check of the hosts
themselves, which comes before the first row (``nemesis.runner``).
"""

from collections.abc import Iterable

from cluster.facts import Fact, namespaces
from nemesis.catalog import Kind
from nemesis.faults import FAULTS


def unavailable(facts: Iterable[Fact]) -> dict[Kind, str]:
    """Pure: the faults that need what is not there, each with what was seen and what helps."""
    lacking = {fact.gives: fact for fact in facts if fact.gives is not None and not fact.ok}
    out: dict[Kind, str] = {}
    for kind, fault in FAULTS.items():
        needed = [fact for capability, fact in lacking.items() if capability in fault.needs]
        if needed:
            out[kind] = "; ".join(f"{fact.name}: {fact.detail} ({fact.help})" for fact in needed)
    return out


def unavailable_here() -> dict[Kind, str]:
    """The same of this machine, tried now: half a second."""
    return unavailable(namespaces())
