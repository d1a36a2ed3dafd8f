"""The plan is data: when each fault comes, whom it draws, decided before anything happens.

Rows are a pure function of the nemesis, the topology, the times and the seed, independent of anything observed, and are
written as ``plan.jsonl`` before the start. Does not look at a cluster: who is leader when a row's time comes is
``nemesis.plan.choose_targets``' business.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from chaos.basics.name_lists import join_names
from chaos.basics.rand import stream
from chaos.core.errors import UsageError
from chaos.core.fault_nature import Colour, Identity
from chaos.storage.runinfo import Subject
from cluster.cluster import Relaunch
from nemesis.faults import params as fault_params
from nemesis.faults.fault import Fault
from nemesis.faults.registry import fault_named
from nemesis.occasions.occasion import occasion_of
from nemesis.plan.count_bounds import count_bounds
from nemesis.plan.mix import NOTHING, Mix, deposing_choices, named_slots, parse_mix, rounds_of, together_choices
from nemesis.plan.mix_times import Rhythm, Slot, even_slots, mixed_slots, restart_after
from nemesis.plan.nemesis_names import Choice
from nemesis.plan.swarm import swarm_of
from nemesis.targets.selectors import LED, Selector
from nemesis.targets.target_suffix import Whom, led_subjects, nodes_of, of_replicas, roles_of
from nemesis.targets.topology import REPLICA, Placed, Topology

_ROUNDING_S: Final = 1e-9
_DIGITS: Final = 9
NOBODY_LEADS: Final = "nobody leads there; name other nodes"
NO_LEADERS: Final = "the system has no leaders; name other nodes, as in random-kill"
MORE_THAN_ONE: Final = 2
FOLLOW_UP: Final = "restart"
"""The fault by which mixes follow one that hit the leader."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One planned fault.

    ``row`` counts from 1. ``at_s`` is seconds after the load's start, ``duration_s`` from the injection to
    the heal. ``draw`` holds the row's random numbers in [0, 1): one per node (the nodes with the smallest are
    taken first) and one per count, under ``#role`` for faults of nodes and ``#`` for faults of links. ``nodes``: whom
    it hits whatever was drawn or leads: those that ``--fault-nodes`` named, or that were hit in a run that is repeated.
    ``subjects``: those whose leaders or followers it hits; empty: the first that each role leads.
    ``follows``: it hits whom the row of that number hit; 0: none. ``quiet_s``: for so long before it the load is quiet.
    ``when``: the occasion that it waits for from ``at_s`` on, for ``within_s`` at most; empty: none.
    ``fault``: the kind, by name. ``params``: its parameters. ``colour``: how reports draw it. ``heals``: false if it
    stays in force behind the row's end, until the final reads are over.
    """

    row: int
    at_s: float
    duration_s: float
    name: str
    selector: Selector
    fault: str
    roles: tuple[str, ...]
    params: dict[str, Any] = {}
    colour: Colour | None = None
    draw: dict[str, float] = {}
    nodes: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    follows: int = 0
    quiet_s: float = 0.0
    when: str = ""
    within_s: float = 0.0
    heals: bool = True

    @property
    def end_s(self) -> float:
        """When it is healed at the latest, in seconds after the load's start."""
        return self.at_s + self.within_s + self.duration_s

    @property
    def how(self) -> type[Fault]:
        """Its fault."""
        return fault_named(self.fault)

    @property
    def identity(self) -> Identity:
        """What the history says of it."""
        return Identity(
            kind=self.fault,
            selector=self.selector,
            roles=self.roles,
            params=self.params,
            nature=self.how.nature(),
            heals=self.heals,
        )

    def read_params(self) -> Any:
        """The parameters as the fault's struct; those that are not given, as in an older plan, have their defaults.

        Raises:
            UsageError: one is unknown or out of its bounds.
        """
        return fault_params.read(self.how.Params, self.params)


def _pools(
    choice: Choice, topology: Topology, fixed: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The roles a row names, and count key → the nodes that the count is taken of."""
    if choice.entry.how.on_links():
        # Of links around the leader of a named subject all count, as without a suffix.
        roles = choice.roles or topology.targeted_roles()
        return roles, {"#": tuple(name for role in roles for name in topology.nodes[role])}
    replica = topology.replica_role()
    roles = choice.roles or ((replica,) if replica else ())
    roles = roles_of(choice.subjects, topology) or roles
    if choice.entry.selector is Selector.FIXED:
        among = choice.roles or topology.targeted_roles()
        roles = tuple(role for role in among if not set(fixed).isdisjoint(topology.nodes[role]))
    return roles, {f"#{role}": topology.nodes[role] for role in roles}


def make_plan(
    nemesis: str,
    kinds: Mapping[str, str],
    nodes: Iterable[Placed],
    *,
    interval_s: float,
    duration_s: float,
    time_limit_s: float,
    seed: int,
    missing: Mapping[str, str] = NOTHING,
    fault_nodes: Sequence[str] = (),
    rhythm: Rhythm = "mixed",
    overlap: bool = True,
    subjects: Sequence[Subject] = (),
    when: str = "",
    within_s: float = 0.0,
) -> tuple[Row, ...]:
    """``interval_s`` healthy seconds, then a fault of ``duration_s``, repeated (SEMANTICS 24); of a mix drawn lengths.

    ``nemesis`` is as for ``nemesis.plan.mix.parse_mix``, ``kinds`` are ``System.roles``, ``nodes`` its
    topology, ``missing`` what cannot be done here and why, ``fault_nodes`` whom ``fixed-`` means. ``rhythm`` and
    ``overlap``, whether its rows may, are those of a mix. ``subjects`` have leaders. ``when``: the occasion that each
    row waits for, for ``within_s`` at most; rows then come one after the other. A row is planned
    only if it ends within ``time_limit_s``. Each random number comes from a stream of its own name, so that another
    node or role shifts no other draw.

    Raises:
        UsageError: an unknown name or role, times that are not positive, no row fits, or too few nodes.
    """
    topology = Topology.of(nodes, kinds, subjects)
    mix = parse_mix(nemesis, topology, missing)
    check_named(mix, topology, fault_nodes)
    if not mix.choices and not mix.every:
        return ()
    _check_length("--fault-interval", interval_s)
    _check_length("--fault-duration", duration_s)
    possible = possible_of(mix, topology, fault_nodes)
    if mix.swarm:
        mix = Mix(possible := swarm_of(possible, topology, seed))
    waiting_s = within_s if when else 0.0
    if time_limit_s + _ROUNDING_S < interval_s + waiting_s + duration_s:
        waits = f", {waiting_s:g} s of waiting for {when}" if when else ""
        raise _no_room(time_limit_s, f"{interval_s:g} s of health{waits} and {duration_s:g} s of fault")
    mixed = rhythm == "mixed" and (mix.every or len(mix.choices) > 1) and not when
    leads = deposing_choices(possible, topology)
    recurring = (*leads, *(together_choices(possible, topology) if mixed else ())) if mix.every else ()
    names = rounds_of(possible, seed, recurring)
    if mixed:
        slots = mixed_slots(seed, interval_s, duration_s, time_limit_s, overlap=overlap)
        made = named_slots(slots, names, topology, leads)
        drawn = [one for one in made if one[0].at_s + one[0].length_s <= time_limit_s + _ROUNDING_S]
    else:
        drawn = list(zip(even_slots(interval_s + waiting_s, duration_s, time_limit_s), names, strict=False))
    rows = [_row_in(slot, choice, topology, seed, fault_nodes) for slot, choice in drawn]
    if when:
        rows = _waiting(rows, when, waiting_s, topology)
    if mixed and any(choice.entry.fault == FOLLOW_UP for choice in possible):
        rows = [*rows, *_restarts(drawn, rows, topology, seed, interval_s, time_limit_s)]
    return _numbered(rows)


def _check_length(option: str, length_s: float) -> None:
    if not (math.isfinite(length_s) and length_s > 0):
        raise UsageError(f"{option} {length_s:g}: give a number of seconds above 0")


def _no_room(time_limit_s: float, needed: str) -> UsageError:
    return UsageError(
        f"--time-limit {time_limit_s:g}: no fault fits; one takes {needed}; give more, or --nemesis noop for none"
    )


def _row_in(slot: Slot, choice: Choice, topology: Topology, seed: int, fixed: Sequence[str]) -> Row:
    """The row of a slot; its number is the slot's until all are there."""
    row = row_of(slot.number, slot.at_s, slot.length_s, choice, topology, seed, fixed)
    return msgspec.structs.replace(row, quiet_s=slot.quiet_s)


def _waiting(rows: Sequence[Row], when: str, within_s: float, topology: Topology) -> list[Row]:
    """The rows of slots before each of which there are ``within_s`` for waiting."""
    try:
        occasion_of(when, topology)
    except UsageError as error:
        raise UsageError(f"--fault-when {error}") from None
    if load_steps(rows):
        raise UsageError(f"--fault-when {when}: the load is planned before it begins; a step of it cannot wait")
    begin = [round(row.at_s - within_s, _DIGITS) for row in rows]
    return [
        msgspec.structs.replace(row, at_s=at_s, when=when, within_s=within_s)
        for row, at_s in zip(rows, begin, strict=True)
    ]


def _restarts(
    drawn: Sequence[tuple[Slot, Choice]],
    rows: Sequence[Row],
    topology: Topology,
    seed: int,
    interval_s: float,
    time_limit_s: float,
) -> Iterator[Row]:
    """Restarts of whom rows aimed at the leader of the replicas hit, shortly after they are healed."""
    replica = topology.replica_role()
    for (slot, _), row in zip(drawn, rows, strict=True):
        when = restart_after(seed, slot, interval_s, row.duration_s)
        if when is None or replica is None or row.selector is not Selector.LEADER:
            continue
        if row.roles[:1] != (replica,) or not of_replicas(row.subjects, topology):
            continue
        at_s, duration_s = when
        crossed = any(row.end_s <= other.at_s < at_s + duration_s for other in rows)
        if not crossed and at_s + duration_s <= time_limit_s + _ROUNDING_S:
            yield Row(
                row=0,
                at_s=at_s,
                duration_s=duration_s,
                name=f"{Selector.FIXED}-{FOLLOW_UP}@{replica}",
                selector=Selector.FIXED,
                fault=FOLLOW_UP,
                colour=fault_named(FOLLOW_UP).colour,
                roles=(replica,),
                follows=row.row,
            )


def _numbered(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows in order of time, numbered from 1; what follows another names it by its new number."""
    ordered = sorted(rows, key=lambda row: (row.at_s, row.row))
    number = {row.row: place for place, row in enumerate(ordered, 1) if row.row}
    return tuple(
        msgspec.structs.replace(row, row=place, follows=number[row.follows] if row.follows else 0)
        for place, row in enumerate(ordered, 1)
    )


QUIET_TAIL_S: Final = 0.5
"""The load stays quiet for so long after the planned beginning of the fault, so that the fault meets an idle log."""


def quiet_stretches(rows: Iterable[Row]) -> tuple[tuple[float, float], ...]:
    """When the load is quiet: (from, until) in seconds after the load's start, in order of time."""
    return tuple((row.at_s - row.quiet_s, row.at_s + QUIET_TAIL_S) for row in rows if row.quiet_s > 0)


def load_steps(rows: Iterable[Row]) -> tuple[tuple[float, float, float], ...]:
    """When more is due: (from, until, how many times as much), in seconds after the load's start, in order of time."""
    steps = ((row.at_s, row.end_s, row.how.load_factor(row.read_params())) for row in rows)
    return tuple(step for step in steps if step[2] > 1)


def relaunches_of(rows: Iterable[Row]) -> tuple[Relaunch, ...]:
    """How planned faults start nodes again otherwise, each way once."""
    found = (row.how.relaunch(row.read_params()) for row in rows)
    return tuple(dict.fromkeys(one for one in found if one is not None))


def lanes(rows: Sequence[Row]) -> tuple[tuple[Row, ...], ...]:
    """The rows in as few lists as do, each in order of time and without two that overlap; one list if none do."""
    out: list[list[Row]] = []
    for row in sorted(rows, key=lambda one: (one.at_s, one.row)):
        free = next((lane for lane in out if lane[-1].end_s <= row.at_s + _ROUNDING_S), None)
        if free is None:
            out.append([row])
        else:
            free.append(row)
    return tuple(map(tuple, out))


def row_of(
    number: int, at_s: float, duration_s: float, choice: Choice, topology: Topology, seed: int, fixed: Sequence[str]
) -> Row:
    """One row, with its own draws; ``fixed``: the nodes of a fault that takes those that were named."""
    selector, fault = choice.entry.selector, choice.entry.how
    assert selector is not None
    roles, pools = _pools(choice, topology, fixed)
    return Row(
        row=number,
        at_s=at_s,
        duration_s=duration_s,
        name=choice.text,
        selector=selector,
        fault=fault.name,
        roles=roles,
        params=dict(choice.params),
        colour=fault.colour,
        draw=_draw(selector, pools, seed, number),
        subjects=_led(choice, roles, topology, seed, number),
        nodes=tuple(fixed) if selector is Selector.FIXED else (),
    )


def _led(choice: Choice, roles: tuple[str, ...], topology: Topology, seed: int, row: int) -> tuple[str, ...]:
    """The subjects whose leaders or followers a row hits; of a fault of links the first role's: it has one centre."""
    if choice.entry.selector not in LED:
        return ()
    among = roles[:1] if choice.entry.how.on_links() else roles
    return led_subjects(Whom(subjects=choice.subjects), among, topology, seed, row)


def possible_of(mix: Mix, topology: Topology, fixed: Sequence[str] = ()) -> tuple[Choice, ...]:
    """The choices that these nodes allow; one that was named and cannot be done is refused."""
    obstacles = {choice: obstacle_of(choice, topology, fixed) for choice in mix.choices}
    possible = tuple(choice for choice, why in obstacles.items() if why is None)
    refused = next(((choice, why) for choice, why in obstacles.items() if why is not None), None)
    if refused is not None and not (mix.every and possible):
        raise UsageError(f"--nemesis {refused[0].text}: {refused[1]}")
    if not possible:
        raise UsageError("--nemesis: no fault of the mix can be done here; see chaos doctor")
    return possible


def check_named(mix: Mix, topology: Topology, fault_nodes: Sequence[str]) -> None:
    """Refuse names in ``--fault-nodes`` that nobody has or that a fault may not hit, and names without a use.

    Raises:
        UsageError: naming the name.
    """
    asked = [choice for choice in mix.choices if choice.entry.selector is Selector.FIXED]
    if asked and not fault_nodes:
        raise UsageError(f"--nemesis {asked[0].text}: say whom with --fault-nodes, e.g. --fault-nodes b1,b2")
    if fault_nodes and not asked:
        raise UsageError(f"--fault-nodes {','.join(fault_nodes)}: it goes with a fixed- nemesis, e.g. fixed-kill")
    for choice in asked:
        known = [name for role in choice.roles or topology.targeted_roles() for name in topology.nodes[role]]
        for place, name in enumerate(fault_nodes):
            if name not in known:
                whose = f" {'+'.join(choice.roles)}" if choice.roles else ""
                raise UsageError(f"--fault-nodes {name}: no such{whose} node that a fault may hit: {', '.join(known)}")
            if name in fault_nodes[:place]:
                raise UsageError(f"--fault-nodes {','.join(fault_nodes)}: {name} is named twice")


def obstacle_of(choice: Choice, topology: Topology, fixed: Sequence[str] = ()) -> str | None:
    """Why these nodes do not allow a choice, None if they do."""
    selector, fault = choice.entry.selector, choice.entry.how
    assert selector is not None
    roles, pools = _pools(choice, topology, fixed)
    if not roles:
        return f"the system has no replicas; name a role as in {choice.text}@ROLE"
    if selector in LED and not _led(choice, roles, topology, 0, 0):
        return NOBODY_LEADS if topology.subjects else NO_LEADERS
    if selector is Selector.FOLLOWER and (alone := _without_follower(choice, roles, topology)):
        return f"{alone} has one node and no follower; start more nodes or choose another nemesis"
    for key, names in pools.items():
        replicas = key != "#" and topology.kinds[key[1:]] == REPLICA
        most = count_bounds(selector, fault, len(names), replicas=replicas)[1]
        if selector is Selector.FIXED and len(set(fixed) & set(names)) > most:
            whom = "everybody, and nobody would be on the other side" if fault.cuts else "every replica"
            return f"--fault-nodes names {whom}; leave one out, or say all-{fault.name}"
        if most < 1:
            whom = f"{len(names)} node(s) of {join_names(roles)}"
            return f"cannot be done to {whom}; start more nodes or choose another nemesis"
    return None


def _without_follower(choice: Choice, roles: tuple[str, ...], topology: Topology) -> str:
    """A subject that a row may mean and that has one node; empty if there is none."""
    among = roles[:1] if choice.entry.how.on_links() else roles
    drawn = [name for role in among for name in topology.led_by(role)]
    named = led_subjects(Whom(subjects=choice.subjects), (), topology, 0, 0) if choice.subjects else drawn
    return next((name for name in named if len(nodes_of(name, roles, topology)) < MORE_THAN_ONE), "")


def _draw(selector: Selector, pools: dict[str, tuple[str, ...]], seed: int, row: int) -> dict[str, float]:
    if selector in (Selector.LEADER, Selector.ALL, Selector.FIXED):
        return {}
    names = [key for pool, nodes in pools.items() for key in (pool, *nodes)]
    return {name: stream(seed, "plan", row, name).random() for name in names}
