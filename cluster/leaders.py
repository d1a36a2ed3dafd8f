"""Who leads each subject now, from the latest answer of every node, and whether that has settled. Pure.

A system says by ``subjects`` what has a leader (``HasLeaders``); one that says nothing has none. It may say by
``settled`` what else must hold before the final reads (``Settles``).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.events import Claim, Observation
from chaos.storage.runinfo import Subject

UNCHANGED_S: Final = 5.0
"""Leader, epoch and members must have stood still this long before the final reads (SEMANTICS 10)."""

HEARD_WITHIN_S: Final = 1.5
"""What changes is heard at most so much later."""


class Lead(msgspec.Struct, frozen=True, kw_only=True):
    """Who leads a subject, as last learned. ``members``: in sync, by name. ``since_ns``: unchanged since then."""

    subject: str
    kind: str = "replica"
    leader: str | None = None
    epoch: int | None = None
    members: tuple[str, ...] = ()
    since_ns: int = 0


Leads = Mapping[str, Lead]
"""Subject → who leads it: every subject that the system names, in its order, and those that nodes named beside."""

_Said = list[tuple[Observation, Claim]]


@runtime_checkable
class HasLeaders(Protocol):
    """A system in which something has a leader."""

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
        """Pure: what has a leader, and which of the keys (numbered from 0) each subject serves."""
        ...


@runtime_checkable
class Settles(Protocol):
    """A system that has its own idea of when leadership has settled."""

    def settled(self, leads: Leads, now_ns: int) -> str | None:
        """Pure: what is still missing, in one line; None if nothing is."""
        ...


def subjects_of(system: object, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
    """What has a leader in a system; nothing if it does not say."""
    return system.subjects(settings, keys) if isinstance(system, HasLeaders) else ()


def missing_to_settle(system: object, leads: Leads, now_ns: int) -> str | None:
    """What is still missing before a cluster counts as settled, in one line; None if nothing is."""
    return system.settled(leads, now_ns) if isinstance(system, Settles) else why_unsettled(leads, now_ns)


def why_unsettled(leads: Leads, now_ns: int) -> str | None:
    """The first subject without a leader, or whose leader, epoch or members changed in the last 5 s; None if none."""
    for name, lead in leads.items():
        if lead.leader is None:
            return f"nobody leads {name}"
        stood_s = (now_ns - lead.since_ns) / NS_PER_S
        if stood_s < UNCHANGED_S + HEARD_WITHIN_S:
            return f"{name} changed its leader, epoch or members {stood_s:.1f} s ago"
    return None


def incomplete(leads: Leads, subjects: Iterable[Subject]) -> str | None:
    """The first subject that has nodes out of sync, with their names; None if none has."""
    for subject in subjects:
        lead = leads.get(subject.name)
        if subject.kind == "replica" and lead is not None:
            outside = set(subject.nodes) - set(lead.members)
            if outside:
                return f"not in sync with {subject.name}: {', '.join(sorted(outside))}"
    return None


def _own(said: _Said) -> tuple[Observation, Claim] | None:
    """The claim to lead of the newest epoch, the last heard of several."""
    own = [pair for pair in said if pair[1].leader == pair[0].node]
    return max(own, key=lambda pair: (pair[1].epoch or 0, pair[0].asked_ns), default=None)


def _lead(subject: Subject, said: _Said, active: str | None) -> Lead:
    """Who leads: whom the active controller names, else who claims to."""
    told = next((claim for seen, claim in said if seen.node == active and claim.leader != active), None)
    own = _own(said)
    leader = told.leader if told is not None and told.leader else own[0].node if own is not None else None
    mine = next((claim for seen, claim in said if seen.node == leader == claim.leader), None)
    epoch = next((claim.epoch for claim in (mine, told) if claim is not None and claim.epoch is not None), None)
    members = next((claim.members for claim in (told, mine) if claim is not None and claim.members is not None), None)
    if members is None:  # then those are with it who say so
        members = tuple(sorted({seen.node for seen, claim in said if leader is not None and claim.leader == leader}))
    return Lead(subject=subject.name, kind=subject.kind, leader=leader, epoch=epoch, members=members)


def leads_of(latest: Mapping[str, Observation], subjects: Sequence[Subject]) -> dict[str, Lead]:
    """Who leads each subject, from the latest observation of each node; dead and unasked nodes count for nothing.

    The active controller with the newest term says who leads the others; where it does not, they do themselves.
    """
    said: dict[str, _Said] = {subject.name: [] for subject in subjects}
    for seen in latest.values():
        for claim in (seen.claims or ()) if seen.alive else ():
            said.setdefault(claim.subject, []).append((seen, claim))
    known = {subject.name: subject for subject in subjects}
    controllers = [name for name, subject in known.items() if subject.kind == "controller"]
    claimed = next((pair for name in controllers if (pair := _own(said[name])) is not None), None)
    active = claimed[0].node if claimed is not None else None
    return {
        name: _lead(known.get(name, Subject(name=name)), pairs, None if name in controllers else active)
        for name, pairs in said.items()
    }


def not_ready(seen: Mapping[str, Observation], subjects: Sequence[Subject]) -> str | None:
    """What is missing before a cluster serves, in one line, from observations of all nodes that must answer."""
    for name, observation in seen.items():
        if not observation.alive:
            return f"{name} does not answer: {observation.error}"
    claims = [claim.subject for observation in seen.values() for claim in observation.led()]
    leads = leads_of(seen, subjects)
    for subject in subjects:
        if claims.count(subject.name) > 1:
            return f"{claims.count(subject.name)} nodes lead {subject.name} instead of one"
        if leads[subject.name].leader is None:
            return f"nobody leads {subject.name}"
    return incomplete(leads, subjects)


class LeadKeeper:
    """Keeps who leads, and since when nothing has changed, as new observations come.

    Args:
        subjects: what has a leader.
    """

    def __init__(self, subjects: Sequence[Subject]) -> None:
        self._subjects = tuple(subjects)
        self._seen: tuple[Observation, ...] | None = None
        self._leads: Leads = leads_of({}, self._subjects)

    def leads(self, observations: tuple[Observation, ...], now_ns: int) -> Leads:
        """Who leads. ``observations``: the newest of each node; the same tuple again costs nothing."""
        if observations is self._seen:
            return self._leads
        found = leads_of({seen.node: seen for seen in observations}, self._subjects)
        self._leads = {name: _since(lead, self._leads.get(name), now_ns) for name, lead in found.items()}
        self._seen = observations
        return self._leads


def _since(lead: Lead, before: Lead | None, now_ns: int) -> Lead:
    """The lead with the time since when it is so."""
    if before is not None and before.since_ns and msgspec.structs.replace(before, since_ns=0) == lead:
        return before
    return msgspec.structs.replace(lead, since_ns=now_ns)
