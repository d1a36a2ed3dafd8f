"""Several nemeses in one plan: which of them each row is, decided by the seed alone.

``a,b,c`` is a mix of these, ``all`` a mix of every fault available here (SEMANTICS 21). Names are dealt
in rounds without replacement, so a short plan shows different faults, and each name's place in a round
comes from a stream of that name. What stays the same when a name is added: the times of all rows, every
row's own draws, and the order of the other names of that mechanism within each round. What moves: the
name behind the place where the new one was dealt. The module refuses to draw targets.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Final

import msgspec

from chaos.core.errors import UsageError
from chaos.core.rand import stream
from nemesis.catalog import ALL, CATALOG, NOOP, Choice, Entry, Kind, Selector, parse
from nemesis.topology import Topology

NOTHING: Final[Mapping[Kind, str]] = MappingProxyType({})


class Mix(msgspec.Struct, frozen=True):
    """The nemeses of a plan, none for ``noop``. ``every``: they are all there are, not named one by one."""

    choices: tuple[Choice, ...]
    every: bool = False


def parse_mix(text: str, topology: Topology, missing: Mapping[Kind, str] = NOTHING) -> Mix:
    """Read ``NAME[@role[+role]][,NAME…]`` or ``all``.

    Args:
        text: what was typed.
        topology: whose roles may be named.
        missing: faults that cannot be done here, and why; ``all`` leaves them out.

    Raises:
        UsageError: an unknown name or role, a name twice, or company for ``all`` or ``noop``.
    """
    words = [word.strip() for word in text.split(",")]
    for word in words:
        name, at, _ = word.partition("@")
        if name == ALL and (at or len(words) > 1):
            raise UsageError(f"--nemesis {text}: all is every fault on every role, name it alone")
        if name == NOOP and len(words) > 1:
            raise UsageError(f"--nemesis {text}: noop is no fault, leave it out of the mix")
    if words == [ALL]:
        return Mix(tuple(_every(topology, missing)), every=True)
    choices = tuple(parse(word, topology) for word in words)
    for i, choice in enumerate(choices):
        if any(choice.text == other.text for other in choices[:i]):
            raise UsageError(f"--nemesis {text}: {choice.text} is named twice")
    return Mix(tuple(choice for choice in choices if choice.entry.fault is not None))


def kinds_of(text: str) -> frozenset[Kind]:
    """The faults that a text as for ``parse_mix`` may plan, whatever the cluster: all of them for ``all``.

    A name that nobody knows stands for none; whoever plans refuses it.
    """
    names = {word.strip().partition("@")[0] for word in text.split(",")}
    entries = CATALOG.values() if ALL in names else [CATALOG[name] for name in names if name in CATALOG]
    return frozenset(entry.fault for entry in entries if entry.fault is not None)


def _every(topology: Topology, missing: Mapping[Kind, str]) -> Iterator[Choice]:
    """Every row of the catalog that needs no names: faults of nodes on each role, of links on each role and on all."""
    roles = topology.targeted_roles()
    single = [(role,) for role in roles]
    for entry in CATALOG.values():
        if entry.fault is None or entry.fault in missing or entry.selector is Selector.FIXED:
            continue
        together = [()] if entry.fault.on_network and len(roles) > 1 else []
        for named in (*single, *together):
            yield _choice(entry, named)


def _choice(entry: Entry, roles: tuple[str, ...]) -> Choice:
    return Choice(f"{entry.name}@{'+'.join(roles)}" if roles else entry.name, entry, roles)


def dealt(choices: Sequence[Choice], seed: int) -> Iterator[Choice]:
    """The choices row by row, for ever: every one once in a round, each mechanism once before any comes again."""
    for number in count(1):
        by_kind: dict[Kind | None, list[Choice]] = {}
        for choice in sorted(choices, key=lambda one: stream(seed, "mix", number, one.text).random()):
            by_kind.setdefault(choice.entry.fault, []).append(choice)
        for layer in range(max(map(len, by_kind.values()))):
            kinds = [kind for kind, own in by_kind.items() if layer < len(own)]
            for kind in sorted(kinds, key=lambda one: stream(seed, "mix", number, layer, str(one)).random()):
                yield by_kind[kind][layer]
