"""Whom a planned row hits: a pure function of the row, the names and the last observation.

The answer also says, for faults of links, which packets each node drops. Does not look at a host; without a known
leader there is no target.
"""

from collections.abc import Sequence
from typing import Final

from cluster.leaders import Leads
from nemesis.plan.count_bounds import count_bounds
from nemesis.plan.plan import Row
from nemesis.targets.selectors import LED, Selector
from nemesis.targets.target_suffix import nodes_of
from nemesis.targets.targets import Targets
from nemesis.targets.topology import CONTROLLER, REPLICA, Topology

_ORDERED: Final = (Selector.RING, Selector.BRIDGE)
"""Selectors that take all nodes and mean their order."""

_LEADS: Final = {REPLICA: "leader", CONTROLLER: "active controller"}
_FOLLOWER: Final = "follower"


NOBODY: Final[frozenset[str]] = frozenset()


def choose(row: Row, topology: Topology, leads: Leads, busy: frozenset[str] = NOBODY) -> Targets | None:
    """The targets of a row, or None while a leader that it needs is not known or too few nodes are free.

    ``busy``: nodes under another fault of nodes. A fault of nodes takes none of them, and they count among those
    that it may take: whoever is to be left is left by all faults together (SEMANTICS 21).
    """
    busy = busy if row.how.takes_nodes() else NOBODY
    if row.nodes or row.follows or row.selector in LED:
        # Whom the row before it hit is in ``nodes`` once that is known.
        named = row.nodes or (None if row.follows else _by_lead(row, topology, leads, busy))
        if named is None or (busy and not all(_room(row, role, topology, busy, named) for role in row.roles)):
            return None
        return targets_at(row, topology, named)
    if row.how.on_links():
        pool = tuple(name for role in row.roles for name in topology.nodes[role])
        bounds = count_bounds(row.selector, row.how, len(pool), replicas=False)
        return targets_at(row, topology, _taken(row, "#", pool, bounds))
    names: tuple[str, ...] = ()
    for role in row.roles:
        pool = topology.nodes[role]
        bounds = count_bounds(row.selector, row.how, len(pool), replicas=topology.kinds[role] == REPLICA)
        free = tuple(name for name in pool if name not in busy)
        least, greatest = bounds[0], min(bounds[1], _most(row, role, topology) - (len(pool) - len(free)))
        if busy and greatest < least:
            return None
        names += _taken(row, f"#{role}", free, (least, greatest))
    return targets_at(row, topology, names)


def _most(row: Row, role: str, topology: Topology) -> int:
    """How many nodes of a role may be under faults of nodes at once."""
    replicas = topology.kinds[role] == REPLICA and row.selector is not Selector.ALL
    return len(topology.nodes[role]) - replicas


def _room(row: Row, role: str, topology: Topology, busy: frozenset[str], wanted: tuple[str, ...]) -> bool:
    """Whether these nodes, as far as they are of the role, are free and may be taken beside those that others have."""
    taken = {name for name in topology.nodes[role] if name in busy}
    added = {name for name in topology.nodes[role] if name in wanted}
    return taken.isdisjoint(added) and (not added or len(taken | added) <= _most(row, role, topology))


def targets_at(row: Row, topology: Topology, names: tuple[str, ...]) -> Targets:
    """What the row does to exactly these nodes, however they were chosen (drawn, or recorded in an earlier run)."""
    participants = tuple(name for role in row.roles for name in topology.nodes[role])
    if row.selector not in _ORDERED:
        names = tuple(name for name in participants if name in names)
    return Targets(
        names=names,
        participants=participants,
        grudge=dict(row.how.grudge(row.selector, names, participants)),
        description=_describe(row, topology, names, participants),
    )


def _by_lead(row: Row, topology: Topology, leads: Leads, busy: frozenset[str]) -> tuple[str, ...] | None:
    """The leaders of the row's subjects, or a follower of each, as far as known; None until one of each role is."""
    on_links = row.how.on_links()
    roles = row.roles[:1] if on_links else row.roles
    subjects = row.subjects or tuple(name for role in roles for name in topology.led_by(role)[:1])
    known = {name: leads[name].leader for name in subjects if name in leads}
    led = {name: leader for name, leader in known.items() if leader is not None}
    if row.selector is Selector.FOLLOWER:
        found = [_follower(row, name, leader, topology, busy) for name, leader in led.items()]
    else:
        found = list(led.values())
    targets = dict.fromkeys(name for name in found if name is not None)
    wanted = roles if not row.subjects or not on_links else ()
    if not targets or any(set(targets).isdisjoint(topology.nodes[role]) for role in wanted):
        return None
    everybody = {name for role in row.roles for name in topology.nodes[role]}
    return tuple(targets) if set(targets) <= everybody else None


def _follower(row: Row, subject: str, leader: str, topology: Topology, busy: frozenset[str]) -> str | None:
    """The node of a subject with the smallest draw that does not lead it and is free; None if there is none."""
    others = [name for name in nodes_of(subject, row.roles, topology) if name != leader and name not in busy]
    return min(others, key=lambda name: (row.draw.get(name, 0.0), name), default=None)


def _leader_word(row: Row, topology: Topology, role: str, names: Sequence[str]) -> str:
    """``leader`` or ``follower``; ``leader of group-2`` where nodes of the role lead several subjects."""
    word = _LEADS[topology.kinds[role]] if row.selector is Selector.LEADER else _FOLLOWER
    led = topology.led_by(role)
    own = [name for name in row.subjects if name in led]
    if len(led) <= 1 or not own:
        return word
    of = own[0] if len(own) == 1 else f"{len(own)} subjects"
    return f"{word}{'' if len(names) == 1 else 's'} of {of}"


def _taken(row: Row, key: str, pool: tuple[str, ...], bounds: tuple[int, int]) -> tuple[str, ...]:
    """The nodes of one pool with the smallest draws, as many as the row's count says."""
    least, greatest = bounds
    count = least + int(row.draw.get(key, 0.0) * (greatest - least + 1))
    drawn = sorted(pool, key=lambda name: (row.draw.get(name, 0.0), name))
    if row.how.cuts and row.how.silences and row.selector is Selector.RANDOM and 2 * count > len(pool):
        return tuple(drawn[count:])  # the same cut, told by its smaller side
    return tuple(drawn[:count])


def _describe(row: Row, topology: Topology, names: tuple[str, ...], participants: tuple[str, ...]) -> str:
    leads = row.selector in LED and not row.nodes
    if not row.how.takes_nodes():
        others = [name for name in participants if name not in names]
        said = row.how.describe(row.selector, names, others, row.read_params())
        return f"{_leader_word(row, topology, row.roles[0], names)} {said}" if leads else said
    groups = []
    for role in row.roles:
        taken = [name for name in topology.nodes[role] if name in names]
        if leads:
            groups.append(f"{_leader_word(row, topology, role, taken)} {' '.join(taken)}")
        else:
            groups.append(f"{' '.join(taken)} of {len(topology.nodes[role])} {role}s")
    return f"{', '.join(groups)}, {row.how.verb}"
