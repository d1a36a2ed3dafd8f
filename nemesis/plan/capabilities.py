"""Which faults this machine cannot do, by what ``chaos doctor`` found by doing.

The module refuses to guess: a fault whose needs nobody tried is left to the check of the hosts
themselves, which comes before the first row (``nemesis.runner``).
"""

from collections.abc import Iterable, Mapping

from cluster.doctor import Fact, namespaces
from cluster.host import Capability
from nemesis.faults.fault import Fault


def lacking(facts: Iterable[Fact]) -> dict[Capability, str]:
    """Pure: what hosts on a machine with these facts do not have, each with what was seen and what helps."""
    return {
        fact.gives: f"{fact.name}: {fact.detail} ({fact.help})"
        for fact in facts
        if fact.gives is not None and not fact.ok
    }


def lacking_here() -> dict[Capability, str]:
    """The same of this machine, tried now: half a second."""
    return lacking(namespaces())


def unavailable(faults: Mapping[str, type[Fault]], lacks: Mapping[Capability, str]) -> dict[str, str]:
    """Pure: the faults that need what hosts lack, and why they lack it."""
    out: dict[str, str] = {}
    for name, fault in faults.items():
        needed = [why for capability, why in lacks.items() if capability in fault.needs]
        if needed:
            out[name] = "; ".join(needed)
    return out
