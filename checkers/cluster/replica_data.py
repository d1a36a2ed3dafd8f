"""Replicas compared after the load: all that have applied the same hold the same (SEMANTICS 15).

Each replica's own data was asked for once nothing changed any more; the notes of the history say what each holds. The
check knows neither model nor system: an entry is a key and a content, a digest has a name. Replicas are compared with
those that have applied as much of the log as they have; one that has applied less lags, which is told and is no fork.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec

from chaos.basics.name_lists import join_names
from chaos.core.replica_data import DIFFERING_MOST, WHOLE, ReplicaData
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, Example
from chaos.models.log.words import MODEL as LOG_MODEL
from checkers.anomalies.attribution import actor
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import Finding, conclude_findings, count_of, examples, findings
from checkers.history.check import Held
from checkers.history.check_input import Context, QueueShard
from checkers.history.last_answers import left_out

_TWO: Final = 2
_NOTHING: Final = "nothing"
_EMPTY: Final = "an empty value"

Peers = tuple[ReplicaData, ...]
"""Replicas of one subject that have applied the same."""


def peers_of(found: Sequence[ReplicaData]) -> list[Peers]:
    """The replicas that are compared with each other, the farthest of a subject first. Pure."""
    groups: dict[tuple[str, int], list[ReplicaData]] = defaultdict(list)
    for one in found:
        if not one.error and one.position is not None:
            groups[one.subject, one.position].append(one)
    ordered = sorted(groups.items(), key=lambda item: (item[0][0], -item[0][1]))
    return [tuple(peers) for _, peers in ordered if len(peers) >= _TWO]


def forked_entries(peers: Peers) -> list[str]:
    """The keys that not all of them have alike. Pure."""
    keys = sorted({key for one in peers for key in one.entries})
    return [key for key in keys if len({one.entries.get(key) for one in peers}) > 1]


def forked_digests(peers: Peers) -> list[str]:
    """The names of the digests that differ where two have them. Pure."""
    names = sorted({name for one in peers for name in one.digests})
    return [name for name in names if len({one.digests[name] for one in peers if name in one.digests}) > 1]


class _Teller:
    """Forks in words: the larger side is the one that others differ from."""

    def __init__(self, context: Context, peers: Peers) -> None:
        self._context = context
        self._peers = peers

    def entry(self, key: str) -> Example:
        """One key."""
        said = {one.node: one.entries.get(key, _NOTHING) or _EMPTY for one in self._peers}
        return self._example(said, "hold", f"under {key}")

    def digest(self, name: str) -> Example:
        """A digest of all data."""
        said = {one.node: one.digests[name] for one in self._peers if name in one.digests}
        return self._example(said, "give", f"as {name}")

    def _example(self, said: Mapping[str, str], verb: str, place: str) -> Example:
        sides: dict[str, list[str]] = defaultdict(list)
        for node, content in said.items():
            sides[content].append(node)
        (usual, many), (other, few) = sorted(sides.items(), key=lambda side: (-len(side[1]), side[1]))[:_TWO]
        subject, position = self._peers[0].subject, self._peers[0].position
        who = actor(self._context, few[0], self._context.timeline.end_ns, subject=subject)
        return who.example(
            f"after the load {who.subject} {verb}s {other} {place}, where {join_names(many)} "
            f"{verb if len(many) > 1 else f'{verb}s'} {usual}; each has applied {subject} up to {position}",
            ops=tuple({"node": node, "holds": content} for node, content in said.items()),
        )


class ReplicaDataCheck:
    """Every replica's own data against every other's."""

    name = "replica-data"
    help = "after the load all replicas hold the same data"
    anomalies = kinds_named("replica-fork")
    partition: Literal["key", "history"] = "history"

    def applies(self, context: Context) -> str | None:
        """Where something has more than one replica; those of logs are compared by the check ``replicas``."""
        if context.timeline.replica_data:
            return None
        if context.run.model == LOG_MODEL:
            return "a log's replicas are read as logs"
        most = max((len(one.nodes) for one in context.run.replicated), default=0)
        return None if most >= _TWO else "there is one replica"

    def examine(self, shard: QueueShard, context: Context) -> None:
        """The notes have it all."""

    def merge(self, left: None, right: None) -> None:
        """There is nothing to add."""

    def held(self, summary: None, anomalies: dict[str, Anomaly], context: Context) -> Held:  # noqa: ARG002
        """That the replicas are alike, or that they could not be compared."""
        found = _compared_data(context)
        compared = {one.node for peers in peers_of(found) for one in peers}
        if compared:
            return Held(then=f"{count_of(len(compared), 'replica')} hold the same data")
        return Held(beside="replicas were not compared" if found else "")

    def conclude(self, summary: None, context: Context) -> CheckResult | None:  # noqa: ARG002 - the notes have it all
        """The row of the verdict table; none where no data was asked for nor promised."""
        found, promised = _compared_data(context), context.run.promises.replicas_read
        if not found:
            why = "no replica was asked for its data after the load"
            return CheckResult(name=self.name, valid=UNKNOWN, found=why, reason=why) if promised else None
        groups = peers_of(found)
        compared = {one.node for peers in groups for one in peers}
        forks = sum(map(_forks, groups))
        fork = Finding(count=forks, examples=examples(_told(groups, context)))
        clean = "all hold the same" if compared else "nothing compared"
        row = conclude_findings(
            self.name, findings(len(compared), replica_fork=fork), context, noun="replica", clean=clean
        )
        missing = [*_not_compared(found, compared), *_not_asked(found, context)]
        row = msgspec.structs.replace(row, found="; ".join((row.found, *missing, *left_out(context))))
        if promised and missing and row.valid is True:
            return msgspec.structs.replace(row, valid=UNKNOWN, reason="; ".join(missing))
        return row


def _compared_data(context: Context) -> tuple[ReplicaData, ...]:
    """What replicas said, without those under a fault that was left in force."""
    left = context.timeline.nodes_left()
    return tuple(one for one in context.timeline.replica_data if one.node not in left)


def _forks(peers: Peers) -> int:
    """At how many places they differ; where they only differ in digests, at one."""
    kept = len(forked_entries(peers))
    if kept >= DIFFERING_MOST:  # the others were not kept
        return max(one.differing for one in peers)
    return kept or bool(forked_digests(peers))


def _told(groups: Sequence[Peers], context: Context) -> Iterator[Example]:
    for peers in groups:
        teller, entries = _Teller(context, peers), forked_entries(peers)
        yield from map(teller.entry, entries)
        yield from (teller.digest(name) for name in forked_digests(peers) if not entries or name != WHOLE)


def _not_compared(found: Sequence[ReplicaData], compared: set[str]) -> list[str]:
    """The replicas that were asked and take no part in the comparison, and why."""
    out = []
    farthest: dict[str, int] = defaultdict(int)
    for one in found:
        farthest[one.subject] = max(farthest[one.subject], one.position or 0)
    for one in found:
        if one.node not in compared:
            behind = farthest[one.subject] - (one.position or 0)
            lags = f"it has applied {behind} less than another" if behind else "no other has applied as much"
            out.append(f"not compared: {one.node}, {one.error or lags}")
    return out


def _not_asked(found: Sequence[ReplicaData], context: Context) -> list[str]:
    asked = {one.node for one in found}
    wanted = {node for subject in context.run.replicated for node in subject.nodes} - context.timeline.nodes_left()
    return [f"not compared: {node}, it was not asked" for node in sorted(wanted - asked)]
