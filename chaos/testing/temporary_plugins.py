"""Workloads, models, checks, faults and reporters of a test, found by name without a package that brings them."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from chaos import plugins


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
        yield
