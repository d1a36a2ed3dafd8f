"""Workloads, models, checks, faults and reporters of a test, found by name without a package that brings them."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from chaos import plugins
from chaos.models import registry as models_by_name
from chaos.testing import fake_bugs
from checkers.anomalies import catalogue
from checkers.engine import registry as checks_by_name
from checkers.history import words
from nemesis.faults import registry as faults_by_name
from nemesis.plan import catalog
from reports import reporter as reporters_by_name

_KEPT: Final = ("models", "checks", "faults", "reporters")
"""Groups of which what was found is kept; the others are looked up each time."""


@contextmanager
def offered(
    *,
    systems: Iterable[Any] = (),
    models: Iterable[Any] = (),
    workloads: Iterable[type[Any]] = (),
    checks: Iterable[type[Any]] = (),
    faults: Iterable[type[Any]] = (),
    reporters: Iterable[type[Any]] = (),
) -> Iterator[None]:
    """Let chaos find these by their ``name`` while inside, as if an installed package had brought them.

    Systems and models are objects, the others classes. A check must stand at the top of a module. Spark's executors
    find what is installed only: install your package for runs with ``engine="spark"``.
    """
    groups = {
        "systems": {system.name: lambda system=system: system for system in systems},
        "models": {model.name: model for model in models},
        "workloads": {one.name: one for one in workloads},
        "checks": {one.name: one for one in checks},
        "faults": {one.name: one for one in faults},
        "reporters": {one.name: one for one in reporters},
    }
    with ExitStack() as stack:
        for group, things in groups.items():
            for name, thing in things.items():
                stack.enter_context(plugins.offered(group, name, thing))
        if any(groups[group] for group in _KEPT):
            _look_again()
            stack.callback(_look_again)
        yield


def _look_again() -> None:
    """Forget what was found before."""
    for found in (
        models_by_name.model_named,
        fake_bugs.changing,
        words._of_model,  # noqa: SLF001 - keeps what there was, and has no other way to be told
        catalogue.kinds,
        catalog.catalog,
        checks_by_name._loaded,  # noqa: SLF001
        checks_by_name.instance,
        faults_by_name._loaded,  # noqa: SLF001
        reporters_by_name._loaded,  # noqa: SLF001
    ):
        found.cache_clear()
