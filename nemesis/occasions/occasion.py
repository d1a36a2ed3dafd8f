"""Occasions by name, and whether one has come. Pure.

``role-change``, ``first-ack``, ``out-of-sync``, each with ``@SUBJECT`` or of any subject, and ``log:REGEX`` with
``@ROLE`` or of any node (docs/semantics.md, 24). Does not look at anything itself.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import msgspec

from chaos.core.errors import UsageError
from cluster.leaders import Lead, Leads
from nemesis.targets.topology import REPLICA, Topology

Kind = Literal["role-change", "first-ack", "out-of-sync", "log"]

OCCASIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "role-change": "a subject has another leader, or a later epoch, than when the wait began",
        "first-ack": "a change was acknowledged after such a change",
        "out-of-sync": "a subject has a replica that is not in sync",
        "log:REGEX": "a node writes a line in which the regular expression is found",
    }
)
"""What may be waited for, and when it has come."""

LOG: Final = "log"


class Occasion(msgspec.Struct, frozen=True, kw_only=True):
    """What is waited for. ``of``: subjects, or of a line in a log nodes; ``pattern``: what the line holds."""

    kind: Kind
    of: tuple[str, ...]
    pattern: str = ""


class Seen(NamedTuple):
    """How it stands.

    ``acked_ns``: when the last change was acknowledged, 0 for never. ``line``: a node, and the line that is waited for.
    """

    leads: Leads
    acked_ns: int = 0
    line: tuple[str, str] | None = None


def occasion_of(text: str, topology: Topology) -> Occasion:
    """The occasion of a name.

    Raises:
        UsageError: there is none of that name, subject or role here, or the expression is none.
    """
    name, colon, given = text.partition(":")
    if name == LOG and colon:
        return _line(text, given, topology)
    name, at, subject = text.partition("@")
    if name not in OCCASIONS or name == LOG:
        near = get_close_matches(name, OCCASIONS, 1)
        hint = f"; did you mean {near[0]}?" if near else f": {', '.join(OCCASIONS)}"
        raise UsageError(f"{text}: no such occasion{hint}")
    kind: Kind = msgspec.convert(name, Kind)
    wanted, nothing = list(topology.subjects.values()), "nothing has a leader here"
    if kind == "out-of-sync":
        wanted, nothing = (
            [one for one in wanted if one.kind == REPLICA and one.nodes],
            "nobody says who is in sync here",
        )
    able = [one.name for one in wanted]
    if not able:
        raise UsageError(f"{text}: {nothing}")
    if at and subject not in able:
        raise UsageError(f"{text}: no such subject; there are {', '.join(able)}")
    return Occasion(kind=kind, of=(subject,) if at else tuple(able))


def _line(text: str, given: str, topology: Topology) -> Occasion:
    """A line in a log; what stands behind the last @ is a role if there is one of that name."""
    pattern, at, role = given.rpartition("@")
    if not at or role not in topology.nodes:
        pattern, role = given, ""
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{text}: {pattern}: {error}; give a regular expression as Python has them") from None
    if not pattern:
        raise UsageError(f"{text}: give what the line holds, as in log:became leader")
    nodes = topology.nodes[role] if role else tuple(name for its in topology.nodes.values() for name in its)
    return Occasion(kind="log", of=nodes, pattern=pattern)


def what_came(occasion: Occasion, topology: Topology, before: Leads, seen: Seen) -> str | None:
    """In words what has come; None if it has not.

    Args:
        occasion: what is waited for.
        topology: of the cluster.
        before: who led when the wait began.
        seen: how it stands.
    """
    if occasion.kind == LOG:
        return f"{seen.line[0]} wrote: {seen.line[1]}" if seen.line else None
    said = (_subject(occasion.kind, topology, name, before.get(name), seen) for name in occasion.of)
    return next(filter(None, said), None)


def _subject(kind: Kind, topology: Topology, name: str, was: Lead | None, seen: Seen) -> str | None:
    now = seen.leads.get(name)
    if now is None:
        return None
    if kind == "out-of-sync":
        outside = sorted(set(topology.subjects[name].nodes) - set(now.members))
        return f"{' '.join(outside)} not in sync with {name}" if outside and now.leader else None
    changed = _changed(name, was, now)
    if kind == "role-change" or changed is None:
        return changed
    return f"{changed}; the first change was acknowledged since" if seen.acked_ns > now.since_ns else None


def _changed(name: str, was: Lead | None, now: Lead) -> str | None:
    if now.leader is None or (was is not None and not _later(was, now)):
        return None
    in_epoch = f" in epoch {now.epoch}" if now.epoch is not None else ""
    before = f", {was.leader} did" if was is not None and was.leader else ", nobody did"
    return f"{now.leader} leads {name}{in_epoch}{before}"


def _later(was: Lead, now: Lead) -> bool:
    """Whether it is another reign: a later epoch, or where an epoch is not known another leader."""
    if was.epoch is None or now.epoch is None:
        return was.leader != now.leader
    return now.epoch > was.epoch
