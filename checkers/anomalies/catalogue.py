"""Every anomaly that a verdict can name: how it is called, what it means, and what should have happened instead.

The order of strength, the words of sentences, the report, ``chaos list anomalies`` and docs/reference/anomalies.md
derive from here. A check of another package brings kinds of its own in its ``anomalies``.
"""

import contextlib
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

import msgspec

from chaos import plugins
from chaos.core.anomaly_kind import AnomalyKind
from chaos.core.errors import UsageError
from checkers.anomalies.built_in import ASSUMPTIONS, STRONGEST_FIRST, TRANSACTIONS

STEP: Final = 100
"""Between neighbours of the tables, so that a check of another package can place its own anomalies among them."""


@cache
def built_in() -> Mapping[str, AnomalyKind]:
    """The kinds of our own checks, the strongest first."""
    ordered = (*STRONGEST_FIRST, *TRANSACTIONS, *ASSUMPTIONS)
    top = STEP * len(ordered)
    return MappingProxyType(
        {kind.name: msgspec.structs.replace(kind, strength=top - STEP * i) for i, kind in enumerate(ordered)}
    )


@plugins.cache_by_plugins
def kinds() -> Mapping[str, AnomalyKind]:
    """Every kind that an installed check may find, the strongest first; a check that does not load adds none."""
    every = dict(built_in())
    for name in plugins.foreign_names(plugins.CHECKS):
        with contextlib.suppress(UsageError):
            for kind in plugins.load(plugins.CHECKS, name).anomalies:
                every.setdefault(kind.name, kind)
    return MappingProxyType(dict(sorted(every.items(), key=lambda item: -item[1].strength)))


def kind_of(name: str) -> AnomalyKind:
    """The kind of that name.

    Of one that nobody here knows, as in the results of a check that is not installed, a plain one.
    """
    known = built_in().get(name) or kinds().get(name)
    return known or AnomalyKind(name=name, one=name, many=name, meaning="", expected="", strength=0, rule="")


def kinds_named(*names: str) -> tuple[AnomalyKind, ...]:
    """Some kinds of our own checks.

    Raises:
        KeyError: there is none of a name.
    """
    return tuple(built_in()[name] for name in names)


def rank(name: str) -> tuple[int, str]:
    """Sorts the strongest first; kinds that nobody here knows come last, by name."""
    return -kind_of(name).strength, name
