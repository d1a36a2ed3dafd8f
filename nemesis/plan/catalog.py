"""The names people type: each is whom times how, one row of one table.

A name is ``SELECTOR-FAULT`` or one of a few of their own, as in OpenChaos, with an optional ``@role`` or
``@role+role``. ``noop`` plans nothing, ``all`` and lists of names are ``nemesis.plan.mix``'s business. The table lists
what works and is tested; the module refuses to choose or to act.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from chaos.core.errors import UsageError
from nemesis.targets.suffix import read_suffix
from nemesis.targets.topology import Topology

NOOP: Final = "noop"
ALL: Final = "all"


class Selector(StrEnum):
    """Whom: how many of n nodes, or which (SEMANTICS 21)."""

    MINOR = "minor"  # floor((n - 1) / 2)
    MAJOR = "major"  # floor(n / 2) + 1
    RANDOM = "random"  # 1..n
    ALL = "all"
    LEADER = "leader"  # as last observed
    FIXED = "fixed"  # those that --fault-nodes names
    RING = "majorities-ring"  # all, each with its neighbours in a drawn ring
    BRIDGE = "bridge"  # all, in two halves of a drawn order with one between them


class Kind(StrEnum):
    """How: the fault that is done to the chosen nodes or to their links."""

    KILL = "kill"
    STOP = "stop"
    RESTART = "restart"
    SUSPEND = "suspend"
    PARTITION = "partition"
    PARTITION_IN = "partition-in"
    PARTITION_OUT = "partition-out"
    LOSS = "loss"
    DISCONNECT = "disconnect"

    @property
    def on_network(self) -> bool:
        """Whether the fault hits links among nodes rather than nodes."""
        return self.cuts or self is Kind.LOSS

    @property
    def cuts(self) -> bool:
        """Whether the fault separates nodes, so that somebody must be on the other side."""
        return self in (Kind.PARTITION, Kind.PARTITION_IN, Kind.PARTITION_OUT)

    @property
    def restarts(self) -> bool:
        """Whether nodes end and are started again, which takes them a while."""
        return self in (Kind.KILL, Kind.STOP, Kind.RESTART)


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
    Selector.LEADER: "the leader: of a drawn subject, of the controllers with @controller, of all with @all",
    Selector.FIXED: "the nodes that --fault-nodes names",
}
_HOW: Final = {
    Kind.KILL: "SIGKILL {} and start again at the fault's end",
    Kind.STOP: "ask {} to end, SIGTERM and after 10 s SIGKILL, and start again at the fault's end",
    Kind.RESTART: "ask {} to end in the same way and start again at once",
    Kind.SUSPEND: "SIGSTOP {} and SIGCONT at the fault's end",
    Kind.PARTITION: "cut {} off from the others, both ways",
    Kind.PARTITION_IN: "one way: what the others send to {} is dropped",
    Kind.PARTITION_OUT: "one way: what {} sends to the others is dropped",
    Kind.LOSS: "drop 80 % of the packets on every link of {}, each way",
    Kind.DISCONNECT: "take {} off the network: from the other nodes and from clients",
}


_ONE_WAY: Final = (Selector.LEADER, Selector.FIXED)
"""Whom one-way cuts are named for; of a random group one name is enough, its other way is that of the other side."""

_NAMED: Final = (
    Entry("all-partition", Selector.ALL, Kind.PARTITION, "cut all nodes off from each other, both ways"),
    Entry(
        "one-way-partition",
        Selector.RANDOM,
        Kind.PARTITION_IN,
        "one way: what the others send to a random number of random nodes is dropped",
    ),
    Entry(
        "partition-majorities-ring",
        Selector.RING,
        Kind.PARTITION,
        "each node reaches a majority, no two the same: its neighbours in a random ring; 4 nodes or more",
    ),
    Entry(
        "bridge",
        Selector.BRIDGE,
        Kind.PARTITION,
        "two halves that only one random node between them reaches, both ways; 3 nodes or more",
    ),
)
"""Rows whose name or help does not follow from whom and how."""


def _table() -> dict[str, Entry]:
    rows = [Entry(NOOP, None, None, "no fault: the baseline")]
    for fault in Kind:
        one_way = fault.cuts and fault is not Kind.PARTITION
        for selector, whom in _WHOM.items():
            if (fault.cuts and selector is Selector.ALL) or (one_way and selector not in _ONE_WAY):
                continue
            rows.append(Entry(f"{selector}-{fault}", selector, fault, _HOW[fault].format(whom)))
        rows += [entry for entry in _NAMED if entry.fault is fault]
    return {row.name: row for row in rows}


CATALOG: Final = MappingProxyType(_table())
"""Every nemesis by name, in the order in which ``chaos list nemeses`` shows them."""


class Choice(msgspec.Struct, frozen=True):
    """A nemesis as asked for: its row in the catalog, and the roles or subjects that its suffix gave (may be empty)."""

    text: str
    entry: Entry
    roles: tuple[str, ...]
    subjects: tuple[str, ...] = ()


def parse(text: str, topology: Topology) -> Choice:
    """Read ``NAME[@role[+role]]``; of leaders also ``NAME@subject`` and ``NAME@all``.

    Raises:
        UsageError: an unknown name or role, with a guess at what was meant; a role named twice.
    """
    name, at, suffix = text.strip().partition("@")
    entry = CATALOG.get(name)
    if entry is None:
        meant = _guess(name, [*CATALOG, ALL])
        raise UsageError(f"--nemesis {text}: no nemesis {name!r}{meant}; see chaos list nemeses")
    words = suffix.split("+") if at else []
    whom = read_suffix(text, words, topology, leads=entry.selector is Selector.LEADER)
    if words and entry.fault is None:
        raise UsageError(f"--nemesis {text}: {name} hits nobody, leave @{suffix} out")
    return Choice(f"{name}{whom.text}", entry, whom.roles, whom.subjects)


def described() -> list[tuple[str, str]]:
    """Every nemesis with its line of help, in the catalog's order, and the mix of them all."""
    everything = (ALL, "a mix of every fault available here, on brokers, on controllers and on all")
    return [*((entry.name, entry.help) for entry in CATALOG.values()), everything]


def _guess(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""
