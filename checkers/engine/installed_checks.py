"""Every check by name, found through the entry points ``chaos.checks``, and which of them judge a run.

The built-in ones come by the door that plugins use. A check that does not load harms no run that does not name it.
Executors have no entry points: they are told where the checks are.
"""

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from chaos import plugins
from chaos.core.errors import UsageError
from chaos.models.log.checks import CHECKS
from chaos.storage.runinfo import RunInfo
from checkers.history.check import Check, Examiner, MayBeAssumption
from checkers.history.check_input import Context

OF_LOGS: Final = CHECKS
"""Who judges a run whose ``run.json`` names no checks, in the order of the verdict table."""

FIGURES: Final = (
    "checkers.recovery.series:SeriesKernel",
    "checkers.recovery.service:ServiceKernel",
    "checkers.recovery.errors_by_node:ErrorsKernel",
    "checkers.recovery.operation_kinds:KindsKernel",
)
"""The curves and the figures of a run, which decide nothing."""


@plugins.cache_by_plugins
def instance(place: str) -> Any:
    """The one object of a class: ``module:Class``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)()


@plugins.cache_by_plugins
def _loaded() -> tuple[dict[str, Check[Any]], dict[str, str]]:
    """The checks by name, and of those that cannot be used why."""
    found: dict[str, Check[Any]] = {}
    broken: dict[str, str] = {}
    for name in plugins.names(plugins.CHECKS):
        try:
            found[name] = _checked(name)
        except (UsageError, TypeError, ImportError, AttributeError) as error:
            broken[name] = str(error)
    return found, broken


def _checked(name: str) -> Check[Any]:
    """The check behind an entry point.

    Raises:
        TypeError: it is none, or is one of another name.
    """
    check = instance(plugins.place_of(plugins.CHECKS, name))
    lacking = [
        one
        for one in ("name", "help", "anomalies", "partition", "applies", "examine", "merge", "conclude")
        if not hasattr(check, one)
    ]
    if lacking:
        raise TypeError(f"{name}: {check!r} is no check: it has no {', '.join(lacking)}")
    if check.name != name:
        raise TypeError(f"the entry point {name!r} leads to the check {check.name!r}; give both one name")
    return cast("Check[Any]", check)


def checks() -> Mapping[str, Check[Any]]:
    """Every check that can be used, by name: those of logs in their order, then the others."""
    found = _loaded()[0]
    ordered = [*(name for name in OF_LOGS if name in found), *(name for name in found if name not in OF_LOGS)]
    return MappingProxyType({name: found[name] for name in ordered})


def broken_checks() -> Mapping[str, str]:
    """The names of the checks that cannot be used, and why."""
    return MappingProxyType(_loaded()[1])


def check_named(name: str) -> Check[Any]:
    """The check of that name.

    Raises:
        UsageError: there is none here.
    """
    found, why = _loaded()
    if name not in found:
        raise UsageError(
            f"no check {name!r} here{f': {why[name]}' if name in why else plugins.did_you_mean(name, found)}"
        )
    return found[name]


class Panel(NamedTuple):
    """Who judges a run.

    ``checks``: in the order of the verdict table. ``declined``: name → why it has nothing to say of this run.
    ``figures``: what is measured beside. ``partial``: only some checks were asked for.
    """

    checks: tuple[Check[Any], ...]
    declined: dict[str, str]
    figures: tuple[Examiner[Any], ...]
    partial: bool

    def examiners(self) -> tuple[Examiner[Any], ...]:
        """What is run over the shards."""
        return (*(check for check in self.checks if check.partition == "key"), *self.figures)

    def places(self) -> tuple[str, ...]:
        """Where the examiners are, for a process that has no entry points."""
        return tuple(f"{type(one).__module__}:{type(one).__qualname__}" for one in self.examiners())


def of_run(run: RunInfo) -> tuple[str, ...]:
    """The names of the checks that its workload chose."""
    return run.checks or OF_LOGS


def is_assumption(name: str) -> bool:
    """Whether the other rows mean nothing without this check."""
    check = checks().get(name)
    return isinstance(check, MayBeAssumption) and check.is_assumption


def panel(context: Context, only: Collection[str] = ()) -> Panel:
    """Who judges this run.

    Args:
        context: the run.
        only: the checks that are asked for, by name, beside the assumptions; all that the workload chose if none is
            named. One that the workload did not choose judges as well if it is named.

    Raises:
        UsageError: a check is not installed here.
    """
    own = of_run(context.run)
    chosen: Sequence[str] = own
    if only:
        chosen = [*(name for name in own if name in only or is_assumption(name)), *sorted(set(only) - set(own))]
    declined, judging = {}, []
    for check in map(check_named, chosen):
        why = check.applies(context)
        if why is None:
            judging.append(check)
        else:
            declined[check.name] = why
    figures = () if only else tuple(map(instance, FIGURES))
    return Panel(tuple(judging), declined, figures, partial=bool(only))
