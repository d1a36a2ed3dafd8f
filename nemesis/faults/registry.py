"""Every fault by name, found through the entry points ``chaos.faults``: the built-in ones come in the same way.

A fault that does not load stops no other one: it is listed with its error, and its names are not known.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from chaos import plugins
from chaos.core.errors import UsageError
from cluster.simulation.commands import Answers
from nemesis.faults.fault import Fault, check_fault
from nemesis.faults.params import params_of

GROUP = "faults"


@plugins.cache_by_plugins
def _loaded() -> tuple[dict[str, type[Fault]], dict[str, str]]:
    """The faults by name, and of those that cannot be used why."""
    found: dict[str, type[Fault]] = {}
    broken: dict[str, str] = {}
    for name in plugins.names(GROUP):
        try:
            found[name] = _checked(name, plugins.load(GROUP, name))
        except (UsageError, TypeError) as error:
            broken[name] = str(error)
    return found, broken


def _checked(name: str, fault: type[Fault]) -> type[Fault]:
    """The class behind an entry point.

    Raises:
        TypeError: it is no fault, or is one of another name.
    """
    if not (isinstance(fault, type) and issubclass(fault, Fault)):
        raise TypeError(f"{name}: {fault!r} is no subclass of nemesis.faults.fault.Fault")
    check_fault(fault)
    params_of(fault.Params)
    if fault.name != name:
        raise TypeError(f"the entry point {name!r} leads to the fault {fault.name!r}; give both one name")
    return fault


def faults() -> Mapping[str, type[Fault]]:
    """Every fault by name."""
    return MappingProxyType(_loaded()[0])


def broken_faults() -> Mapping[str, str]:
    """The names of the faults that cannot be used, and why."""
    return MappingProxyType(_loaded()[1])


def fault_named(name: str) -> type[Fault]:
    """The fault of that name.

    Raises:
        UsageError: there is none.
    """
    found, why = _loaded()
    if name not in found:
        raise UsageError(
            f"no fault {name!r} here{f': {why[name]}' if name in why else plugins.did_you_mean(name, found)}"
        )
    return found[name]


def faults_on(what: Literal["process", "container"]) -> Mapping[str, type[Fault]]:
    """The faults by name, with those of nodes done to that."""
    if what == "process":
        return faults()
    return {name: fault.container or fault for name, fault in faults().items()}


@plugins.cache_by_plugins
def simulated_answers() -> Answers:
    """What the commands of all faults do on simulated machines."""
    return {key: answer for fault in faults().values() for key, answer in fault.simulated().items()}
