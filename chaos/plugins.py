"""Systems, backends, workloads, models, faults, checks, formats, reporters and generators by name, plugins' too.

Packages bring them through entry points; a test may offer one of its own process (``offered``).

A plugin is loaded when its name is used, so ``--help`` stays fast and a broken plugin stops no other one. An unknown
name is an error with the nearest known one.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar, cast

import msgspec

from chaos.core.errors import UsageError

CHECKS = "checks"
FORMATS = "formats"
JUDGING = (CHECKS, "models", FORMATS)
"""The groups that histories are read and judged by: executors of Spark are brought these as well."""

OURS = frozenset({"chaos", "nemesis", "checkers", "cluster", "spark_checkers", "reports"})
"""Our own packages."""


class Listed(msgspec.Struct, frozen=True):
    """A plugin as ``chaos list`` shows it. ``error`` is set when it cannot be loaded."""

    name: str
    help: str
    error: str | None = None


class Offer(NamedTuple):
    """A plugin that this process has and no package brought. ``value``: where it is, ``module:name``."""

    name: str
    value: str
    thing: Any
    dist: None = None

    @property
    def module(self) -> str:
        """The module that holds it."""
        return self.value.partition(":")[0]

    def load(self) -> Any:
        """It is there."""
        return self.thing


_OFFERS: Final[dict[str, tuple[Offer, ...]]] = {}
_KEPT: Final[list[Callable[[], None]]] = []
"""Each forgets what one function kept."""
P = ParamSpec("P")
T = TypeVar("T")


def cache_by_plugins(made_of_plugins: Callable[P, T]) -> Callable[P, T]:
    """Keep what a function made of the plugins, as ``functools.cache`` does, until other ones are offered."""
    found = cache(made_of_plugins)
    _KEPT.append(found.cache_clear)
    return cast("Callable[P, T]", found)


def look_again() -> None:
    """Forget what was made of the plugins that there were."""
    for forget in _KEPT:
        forget()


@contextmanager
def offered(group: str, name: str, thing: Any) -> Iterator[None]:
    """Let an object of this process be found by its name while inside, as if a package had brought it."""
    before = _OFFERS.get(group, ())
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    _OFFERS[group] = (*before, Offer(name, f"{kind.__module__}:{kind.__qualname__}", thing))
    look_again()
    try:
        yield
    finally:
        _OFFERS[group] = before
        look_again()


@cache_by_plugins
def _found(group: str) -> Mapping[str, EntryPoint | Offer]:
    points: dict[str, EntryPoint | Offer] = {}
    for point in (*entry_points(group=f"chaos.{group}"), *_OFFERS.get(group, ())):
        other = points.get(point.name)
        if other is not None and other.value != point.value:
            names = sorted({str(p.dist.name) if p.dist else p.value for p in (other, point)})
            raise UsageError(f"{group}: the name {point.name!r} is claimed by {' and '.join(names)}; uninstall one")
        points[point.name] = point
    return points


def names(group: str) -> list[str]:
    """The names known in a group (systems, backends, workloads), sorted."""
    return sorted(_found(group))


def place_of(group: str, name: str) -> str:
    """Where the object behind a name is: ``module:Class``.

    Raises:
        UsageError: unknown name, with a guess.
    """
    points = _found(group)
    if name not in points:
        raise UsageError(f"unknown {group.removesuffix('s')} {name!r}{did_you_mean(name, points)}")
    return points[name].value


def distributions(group: str) -> list[Distribution]:
    """The installed packages that brought something to a group."""
    return [point.dist for point in _found(group).values() if point.dist is not None]


def foreign_names(group: str) -> list[str]:
    """The names in a group that packages other than our own brought, sorted."""
    return sorted(name for name, point in _found(group).items() if point.module.split(".")[0] not in OURS)


def load(group: str, name: str) -> Any:
    """The object behind a name.

    Raises:
        UsageError: unknown name, with a guess; or a plugin that does not import.
    """
    points = _found(group)
    if name not in points:
        raise UsageError(f"unknown {group.removesuffix('s')} {name!r}{did_you_mean(name, points)}")
    try:
        return points[name].load()
    except ImportError as error:
        raise UsageError(f"{group}: {name} does not load: {error}") from error


def did_you_mean(word: str, known: Any) -> str:
    """A clause for the end of an error line: the nearest known word, else all of them."""
    options = sorted(known)
    near = difflib.get_close_matches(word, options, n=1)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; known: {', '.join(options)}" if options else ""


def list_group(group: str) -> list[Listed]:
    """Every plugin of a group with its ``help``, or why it does not load.

    One that has none is described by the first line of its docstring.
    """
    rows = []
    for name, point in sorted(_found(group).items()):
        try:
            plugin = point.load()
            said = getattr(plugin, "help", None) or plugin.__doc__ or ""
        except Exception as error:  # noqa: BLE001 - a broken plugin is shown, whatever it raises
            rows.append(Listed(name, "", f"{type(error).__name__}: {error}"))
        else:
            rows.append(Listed(name, said.strip().splitlines()[0] if said.strip() else ""))
    return rows
