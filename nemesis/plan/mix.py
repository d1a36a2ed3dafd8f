"""Several nemeses in one plan: which of them each row is, decided by the seed alone.

``a,b,c`` is a mix of these, ``all`` a mix of every fault available here (SEMANTICS 21), ``swarm`` of a few (40).
Names are dealt in rounds without replacement, so a short plan shows different faults, and each name's place in a round
comes from a stream of that name. ``nemesis.plan.mix_times`` says when rows come; ``named_slots`` gives each slot a name
that it has room for. Does not draw targets.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from types import MappingProxyType
from typing import Final

import msgspec

from chaos.basics.rand import stream
from chaos.core.errors import UsageError
from nemesis.faults.fault import Fault
from nemesis.faults.params import plain
from nemesis.faults.registry import faults
from nemesis.plan.mix_times import Slot
from nemesis.plan.nemesis_names import ALL, MANY, NOOP, SWARM, Choice, Entry, catalog, parse, parts, words
from nemesis.plan.swarm import is_survived
from nemesis.targets.selectors import Selector
from nemesis.targets.target_suffix import of_replicas, roles_of
from nemesis.targets.topology import Topology

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Mix(msgspec.Struct, frozen=True):
    """The nemeses of a plan, none for ``noop``. ``every``: they are all there are, not named one by one.

    ``swarm``: a few of them are to be drawn.
    """

    choices: tuple[Choice, ...]
    every: bool = False
    swarm: bool = False


def parse_mix(text: str, topology: Topology, missing: Mapping[str, str] = NOTHING) -> Mix:
    """Read ``NAME[:PARAM=VALUE[,…]][@role[+role]][,NAME…]``, ``all`` or ``swarm``.

    Args:
        text: what was typed.
        topology: whose roles may be named.
        missing: faults that cannot be done here, and why; ``all`` and ``swarm`` leave them out.

    Raises:
        UsageError: an unknown name, role or parameter, a name twice, or company for ``all``, ``swarm`` or ``noop``.
    """
    asked = words(text)
    for word in asked:
        name, _, _ = parts(word)
        if name in MANY and asked != [name]:
            raise UsageError(f"--nemesis {text}: {name} is {MANY[name]}, name it alone")
        if name == NOOP and len(asked) > 1:
            raise UsageError(f"--nemesis {text}: noop is no fault, leave it out of the mix")
    if asked == [ALL]:
        return Mix(tuple(_every(topology, missing, lambda entry: entry.how.in_all)), every=True)
    if asked == [SWARM]:
        return Mix(tuple(_every(topology, missing, is_survived)), every=True, swarm=True)
    choices = tuple(parse(word, topology) for word in asked)
    for i, choice in enumerate(choices):
        if any(choice.text == other.text for other in choices[:i]):
            raise UsageError(f"--nemesis {text}: {choice.text} is named twice")
    return Mix(tuple(choice for choice in choices if choice.entry.fault is not None))


def faults_in(text: str) -> frozenset[type[Fault]]:
    """The faults that a text as for ``parse_mix`` may plan, whatever the cluster.

    A name that nobody knows stands for none; whoever plans refuses it.
    """
    names = {parts(word)[0] for word in words(text)}
    known = catalog()
    if ALL in names:
        return frozenset(fault for fault in faults().values() if fault.in_all)
    if SWARM in names:
        return frozenset(entry.how for entry in known.values() if entry.fault is not None and is_survived(entry))
    entries = [known[name] for name in names if name in known]
    return frozenset(entry.how for entry in entries if entry.fault is not None)


def _every(topology: Topology, missing: Mapping[str, str], wanted: Callable[[Entry], bool]) -> Iterator[Choice]:
    """Every row of the catalog that needs no names: faults of nodes on each role, of links on each role and on all."""
    roles = topology.targeted_roles()
    single = [(role,) for role in roles]
    for entry in catalog().values():
        if entry.fault is None or entry.fault in missing or entry.selector in NAMED_ALONE or not wanted(entry):
            continue
        together = [()] if entry.how.on_links() and len(roles) > 1 else []
        for named in (*single, *together):
            yield _choice(entry, named)


def _choice(entry: Entry, roles: tuple[str, ...]) -> Choice:
    params = tuple(plain(entry.how.Params()).items())
    return Choice(f"{entry.name}@{'+'.join(roles)}" if roles else entry.name, entry, roles, params=params)


NAMED_ALONE: Final = (Selector.FIXED, Selector.FOLLOWER)
"""Selectors that come where somebody names them, and in no mix of everything."""

LOOK_AHEAD: Final = 12
"""So many names further on another is looked for where a slot has no room for the next one."""


def deposing_choices(choices: Iterable[Choice], topology: Topology) -> tuple[Choice, ...]:
    """For each fault that recurs the choice that takes the leader of the replicas away, if it is among ``choices``.

    A cut does only if it parts the leader from every node that faults may hit, not from the other replicas alone.
    """
    replica, every = topology.replica_role(), topology.targeted_roles()
    out: dict[str, Choice] = {}
    for choice in choices:
        fault = choice.entry.how
        if not fault.recurs or choice.entry.selector is not Selector.LEADER or replica is None:
            continue
        wanted = every if fault.on_links() else (replica,)
        if (choice.roles or wanted) == wanted and of_replicas(choice.subjects, topology):
            out.setdefault(fault.name, choice)
    return tuple(out.values())


def together_choices(choices: Iterable[Choice], topology: Topology) -> tuple[Choice, ...]:
    """The choices that hit every replica, or part every controller from every other, at the same time.

    What all replicas forget at once is lost, and controllers that were all alone must elect again: few faults show it.
    """
    first = {topology.kinds[role]: role for role in reversed(topology.targeted_roles())}
    replica = topology.replica_role()
    return tuple(
        choice
        for choice in choices
        if choice.entry.selector is Selector.ALL
        and choice.entry.how.together in first
        and (choice.roles or (replica,)) == (first[choice.entry.how.together],)
    )


def rounds_of(choices: Sequence[Choice], seed: int, recurring: Collection[Choice] = ()) -> Iterator[Choice]:
    """The choices row by row, for ever: every one once in a round, each mechanism once before any comes again.

    ``recurring``: choices that come every time that all mechanisms have come once; the first time they stand for
    theirs.
    """
    for number in count(1):
        by_kind: dict[str, list[Choice]] = {}
        for choice in sorted(choices, key=lambda one: stream(seed, "mix", number, one.text).random()):
            if choice.entry.fault is not None and choice not in recurring:
                by_kind.setdefault(choice.entry.fault, []).append(choice)
        layer = 0
        while layer == 0 or any(by_kind.values()):
            own = list(recurring)
            stood_for = {one.entry.fault for one in recurring} if layer == 0 else set()
            own += [named.pop(0) for kind, named in by_kind.items() if named and kind not in stood_for]
            yield from sorted(own, key=lambda one: _place(one, seed, number, layer, recurring))
            layer += 1


def _place(choice: Choice, seed: int, number: int, layer: int, recurring: Collection[Choice]) -> float:
    """Where a choice stands among those of one of each mechanism: drawn by its mechanism, whatever its name."""
    names = (choice.text,) if choice in recurring else ()
    return stream(seed, "mix", number, layer, str(choice.entry.fault), *names).random()


def named_slots(
    slots: Iterable[Slot], names: Iterator[Choice], topology: Topology, deposers: Iterable[Choice]
) -> Iterator[tuple[Slot, Choice]]:
    """Each slot with its name: the next one that it has room for.

    A name of ``deposers`` begins alone, and the first time in a long slot, of which the first four have each of them
    once; what links prove is not put into a slot shorter than its proof takes; what begins beside another fault leaves
    it its nodes. A slot beside another stays empty if none of the next ``LOOK_AHEAD`` names is possible there; any
    other then has the next name, and lasts as long as that needs.
    """
    waiting: list[Choice] = []
    leads = {one.text: one for one in deposers}
    owed, long_ones, before = dict(leads), 0, None
    for slot in slots:
        waiting += islice(names, LOOK_AHEAD - len(waiting))
        beside = before if slot.beside else None
        lasting = slot.long and not slot.beside
        possible = [one for one in waiting if _has_room(slot, one, beside, topology)]
        possible = [one for one in possible if one.text not in (leads if slot.beside else () if lasting else owed)]
        if lasting:
            long_ones += 1
            if long_ones != 2:  # noqa: PLR2004 - the second one is left to the others, so that a short plan shows them too
                possible = [*(one for one in possible if one.text in owed), *possible]
        if not possible and slot.beside:
            continue
        found = possible[0] if possible else waiting[0]
        waiting.remove(found)
        if lasting:
            owed.pop(found.text, None)
        length_s = max(slot.length_s, least_length_s(found))
        yield msgspec.structs.replace(slot, length_s=length_s), found
        before = before if slot.beside else found


def least_length_s(choice: Choice) -> float:
    """How long a row of this name lasts at least where its length is drawn."""
    return choice.entry.how.least_s


def _has_room(slot: Slot, choice: Choice, beside: Choice | None, topology: Topology) -> bool:
    if slot.length_s < least_length_s(choice):
        return False
    if beside is None or choice.entry.how.on_links() or beside.entry.how.on_links():
        return True
    return _roles(choice, topology).isdisjoint(_roles(beside, topology))


def _roles(choice: Choice, topology: Topology) -> frozenset[str | None]:
    """The roles whose nodes a fault of nodes hits."""
    return frozenset(roles_of(choice.subjects, topology) or choice.roles or (topology.replica_role(),))
