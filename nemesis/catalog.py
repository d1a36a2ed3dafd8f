"""The names people type: each is whom times how, one row of one table.

A name is ``SELECTOR-FAULT``, as in OpenChaos, with an optional ``@role`` or ``@role+role``. ``noop`` plans
nothing, ``all`` and lists of names are ``nemesis.mix``'s business. The table lists what works and is
tested; the module refuses to choose or to act.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from chaos.core.errors import UsageError
from nemesis.topology import Topology

NOOP: Final = "noop"
ALL: Final = "all"


class Selector(StrEnum):
    """Whom: how many of n nodes, or which (SEMANTICS 21)."""

    MINOR = "minor"  # floor((n - 1) / 2)
    MAJOR = "major"  # floor(n / 2) + 1
    RANDOM = "random"  # 1..n
    ALL = "all"
    LEADER = "leader"  # as last observed


class Kind(StrEnum):
    """How: the fault that is done to the chosen nodes or to their links."""

    KILL = "kill"
    STOP = "stop"
    RESTART = "restart"
    SUSPEND = "suspend"
    PARTITION = "partition"
    LOSS = "loss"
    DISCONNECT = "disconnect"

    @property
    def on_network(self) -> bool:
        """Whether the fault hits links among nodes rather than nodes."""
        return self in (Kind.PARTITION, Kind.LOSS)


class Entry(msgspec.Struct, frozen=True):
    """One nemesis: whom, how, and a line of help. ``noop`` has neither."""

    name: str
    selector: Selector | None
    fault: Kind | None
    help: str


_WHOM: Final = {
    Selector.MINOR: "fewer than half of the nodes",
    Selector.MAJOR: "more than half of the nodes",
    Selector.RANDOM: "a random number of random nodes",
    Selector.ALL: "all nodes",
    Selector.LEADER: "the leader: the master, or the active controller with @controller",
}
_HOW: Final = {
    Kind.KILL: "SIGKILL {} and start again at the fault's end",
    Kind.STOP: "ask {} to end, SIGTERM and after 10 s SIGKILL, and start again at the fault's end",
    Kind.RESTART: "ask {} to end in the same way and start again at once",
    Kind.SUSPEND: "SIGSTOP {} and SIGCONT at the fault's end",
    Kind.PARTITION: "cut {} off from the others, both ways",
    Kind.LOSS: "drop 80 % of the packets on every link of {}, each way",
    Kind.DISCONNECT: "take {} off the network: from the other nodes and from clients",
}


def _table() -> dict[str, Entry]:
    rows = [Entry(NOOP, None, None, "no fault: the baseline")]
    for fault in Kind:
        for selector in Selector:
            if (selector, fault) == (Selector.ALL, Kind.PARTITION):
                continue  # cutting everybody off has no other side
            rows.append(Entry(f"{selector}-{fault}", selector, fault, _HOW[fault].format(_WHOM[selector])))
    return {row.name: row for row in rows}


CATALOG: Final = MappingProxyType(_table())
"""Every nemesis by name, in the order in which ``chaos list nemeses`` shows them."""


class Choice(msgspec.Struct, frozen=True):
    """A nemesis as asked for: its row in the catalog and the roles that the name's suffix gave (may be empty)."""

    text: str
    entry: Entry
    roles: tuple[str, ...]


def parse(text: str, topology: Topology) -> Choice:
    """Read ``NAME[@role[+role]]``.

    Raises:
        UsageError: an unknown name or role, with a guess at what was meant; a role named twice.
    """
    name, at, suffix = text.strip().partition("@")
    entry = CATALOG.get(name)
    if entry is None:
        meant = _guess(name, [*CATALOG, ALL])
        raise UsageError(f"--nemesis {text}: no nemesis {name!r}{meant}; see chaos list nemeses")
    roles = tuple(suffix.split("+")) if at else ()
    known = topology.targeted_roles()
    for role in roles:
        if role not in known:
            raise UsageError(
                f"--nemesis {text}: no role {role!r} here that a fault may hit{_guess(role, known)};"
                f" roles: {', '.join(known) or 'none'}"
            )
    if len(set(roles)) < len(roles):
        raise UsageError(f"--nemesis {text}: a role is named twice")
    if roles and entry.fault is None:
        raise UsageError(f"--nemesis {text}: {name} hits nobody, leave @{suffix} out")
    ordered = tuple(role for role in known if role in roles)
    return Choice(f"{name}@{'+'.join(ordered)}" if ordered else name, entry, ordered)


def described() -> list[tuple[str, str]]:
    """Every nemesis with its line of help, in the catalog's order, and the mix of them all."""
    everything = (ALL, "a mix of every fault available here, on brokers, on controllers and on all")
    return [*((entry.name, entry.help) for entry in CATALOG.values()), everything]


def _guess(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""
