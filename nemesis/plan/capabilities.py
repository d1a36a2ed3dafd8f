"""Which faults this machine cannot do, by what ``chaos doctor`` found by doing.

Does not guess: a fault whose needs were not tried is left to the check of the hosts themselves, which comes before the
first row (``nemesis.runner``).
"""

from collections.abc import Iterable, Mapping

from cluster.doctor import Fact, Try, namespaces
from cluster.host import Capability
from nemesis.faults.fault import Fault
from nemesis.faults.registry import faults


def missing_capabilities(facts: Iterable[Fact]) -> dict[Capability, str]:
    """Pure: what hosts on a machine with these facts do not have, each with what was seen and what helps."""
    return {
        fact.gives: f"{fact.name}: {fact.detail} ({fact.help})"
        for fact in facts
        if fact.gives is not None and not fact.ok
    }


def tries() -> Mapping[str, Try]:
    """What faults have of their own to try on a host."""
    return {
        name: fault.obstacle
        for name, fault in faults().items()
        if any("obstacle" in vars(one) for one in fault.__mro__ if one is not Fault)
    }


def missing_here(wanted: Mapping[str, type[Fault]], never: Mapping[Capability, str], *, here: bool) -> dict[str, str]:
    """The faults that cannot be done, and why; ``never``: what the hosts never have.

    ``here``: this machine's kernel is also that of the hosts, so it is tried: half a second.
    """
    found = namespaces(tries()) if here else []
    failed = {fact.fault: f"{fact.detail} ({fact.help})" for fact in found if fact.fault and not fact.ok}
    return {**failed, **unavailable(wanted, {**missing_capabilities(found), **never})}


def unavailable(wanted: Mapping[str, type[Fault]], lacks: Mapping[Capability, str]) -> dict[str, str]:
    """Pure: the faults that need what hosts lack, and why they lack it."""
    out: dict[str, str] = {}
    for name, fault in wanted.items():
        needed = [why for capability, why in lacks.items() if capability in fault.needs]
        if needed:
            out[name] = "; ".join(needed)
    return out
