"""What the events say, in a form small enough to give to every kernel.

Phases, the life of each fault, who led what in which epoch and when (``checkers.history.leadership``), and the
stretches over which what nodes said stayed the same. Made once per run from the events, which
``checkers.cluster.roles`` and ``checkers.assumptions`` judge.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.events import CLOCK_SKEW, DID_NOT_LAST, Event, Fault, Note, Observation, Phase
from chaos.core.fault_nature import Identity
from chaos.core.replica_data import REPLICA_DATA, ReplicaData, data_in
from chaos.core.verdict import FaultResult
from chaos.storage.history import NEVER_NS
from chaos.storage.runinfo import RunInfo
from checkers.history.leadership import (
    InSync,
    Reign,
    Statements,
    Stretch,
    in_sync_of,
    reigns_of,
    speeches_of,
    statements_of,
    words_of,
)
from checkers.history.node_states import NodeStates, failed_of, node_states


class FaultSpan(msgspec.Struct, frozen=True, kw_only=True):
    """The life of one fault. Times are CLOCK_MONOTONIC ns, None where a stage was not reached.

    A heal that is not proven is tried again: ``heal_ns`` is when the first one began, ``healed_ns`` when the proven one
    ended, or the last one if none is proven. ``proven``: the fault was seen to take effect, and no look saw otherwise.
    ``lasted``: a look just before the first heal saw it still in force.
    ``failed``: of a heal that was not proven, see ``node_states.failed_of``. ``identity``: which fault it is.
    """

    id: int
    name: str
    targets: tuple[str, ...] = ()
    description: str = ""
    inject_ns: int | None = None
    active_ns: int | None = None
    heal_ns: int | None = None
    healed_ns: int | None = None
    proven: bool = False
    lasted: bool = False
    healed: bool = False
    skipped: bool = False
    evidence: str = ""
    heal_evidence: str = ""
    note: str = ""
    failed: dict[str, str] = {}
    identity: Identity = Identity()

    def in_force_until_ns(self) -> int:
        """When it had ceased for certain: NEVER_NS if nobody healed it, or if who looked did not see it healed.

        A heal that nobody looked at is taken at its word: other tools write no more than that.
        """
        if self.healed_ns is None or (self.heal_evidence and not self.healed):
            return NEVER_NS
        return self.healed_ns

    def settled_ns(self) -> int:
        """From when on it changes nothing any more: it was healed, or done if it is left in force; else NEVER_NS."""
        last_ns = self.healed_ns if self.identity.heals else self.active_ns
        return NEVER_NS if last_ns is None else last_ns

    def row(self) -> FaultResult:
        """Its row of the fault table, without what it stopped and what it cost."""
        return FaultResult(
            id=self.id,
            name=self.name,
            targets=self.targets,
            description=self.description,
            proven=self.proven,
            healed=self.healed,
            skipped=self.skipped,
            inject_ns=self.inject_ns,
            active_ns=self.active_ns,
            heal_ns=self.heal_ns,
            healed_ns=self.healed_ns,
            evidence=self.evidence,
            heal_evidence=self.heal_evidence,
            note=self.note,
            identity=self.identity,
        )


class Timeline(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The run beside its operations.

    ``reigns``: who led what, in order of time. ``statements``: see there. ``words``: node → what it called itself.
    ``in_sync``: who was in sync, by speaker and time. ``clocks``: node → each comparison of its wall clock with the
    control host's, as (ns ahead, error in ns). ``final_phases_ended``: all that the run requires ended well.
    ``loaded``: the load began.
    ``nodes``: what is known of each node's process and answers. ``replica_data``: what each replica said that it holds,
    the last time it was asked.
    """

    origin_ns: int
    end_ns: int
    final_phases_ended: bool
    faults: tuple[FaultSpan, ...]
    reigns: tuple[Reign, ...]
    statements: Statements
    words: dict[str, tuple[Stretch, ...]]
    in_sync: tuple[InSync, ...]
    observed: int
    loaded: bool
    nodes: NodeStates = NodeStates()
    clocks: dict[str, tuple[tuple[int, int], ...]] = {}
    replica_data: tuple[ReplicaData, ...] = ()

    def seconds(self, at_ns: int) -> float:
        """Seconds since the load began."""
        return (at_ns - self.origin_ns) / NS_PER_S

    def last_heal_ns(self) -> int:
        """When the last fault was undone: 0 without faults, NEVER_NS if one was not.

        One that was left in force on purpose counts from when it was done: its end is not waited for (SEMANTICS 17b).
        """
        return max((fault.settled_ns() for fault in self.faults if fault.inject_ns is not None), default=0)

    def left_in_force(self) -> list[FaultSpan]:
        """The faults that began and were left in force on purpose, in order of time."""
        return [fault for fault in self.injected() if not fault.identity.heals]

    def nodes_left(self) -> frozenset[str]:
        """The nodes under them."""
        return frozenset(name for fault in self.left_in_force() for name in fault.targets)

    def edges_ns(self) -> list[int]:
        """When faults began and when they were healed."""
        return [at for fault in self.faults for at in (fault.inject_ns, fault.heal_ns) if at is not None]

    def injected(self) -> list[FaultSpan]:
        """The faults that began, in order of time."""
        return sorted(
            (fault for fault in self.faults if fault.inject_ns is not None), key=lambda fault: fault.inject_ns or 0
        )

    @cached_property
    def _reigns_by(self) -> dict[tuple[str, str | None], list[Reign]]:
        """(node, subject) → its reigns; under the subject None all of the node's over replicas."""
        out: dict[tuple[str, str | None], list[Reign]] = {}
        for reign in self.reigns:
            out.setdefault((reign.node, reign.subject), []).append(reign)
            if reign.kind == "replica":
                out.setdefault((reign.node, None), []).append(reign)
        return out

    @cached_property
    def _reigns_over(self) -> dict[str | None, list[Reign]]:
        out: dict[str | None, list[Reign]] = {}
        for reign in self.reigns:
            out.setdefault(reign.subject, []).append(reign)
        return out

    def reigns_over(self, subject: str | None) -> list[Reign]:
        """Who led a subject, in order of time; nobody led None."""
        return self._reigns_over.get(subject, [])

    def reign_of(self, node: str, at_ns: int, subject: str | None = None) -> Reign | None:
        """How a node led a subject at a time, None if no claim was heard near enough.

        The nearest claim counts, also one heard afterwards: a new leader works before the observer asks it.

        Args:
            node: who.
            at_ns: when.
            subject: of what; None: of any that keeps keys.
        """
        own = self._reigns_by.get((node, subject), ())
        near = [
            (far, reign.first_ns, reign.epoch, reign) for reign in own if (far := reign.distance_ns(at_ns)) is not None
        ]
        return min(near, key=lambda one: one[:3])[3] if near else None

    def epoch_of(self, node: str, at_ns: int, subject: str | None = None) -> int | None:
        """The epoch in which a node led at a time; see ``reign_of``."""
        reign = self.reign_of(node, at_ns, subject)
        return reign.epoch if reign is not None else None

    def controller_at(self, at_ns: int) -> str | None:
        """The controller that was the active one at a time, as far as it was heard: of several, of the newest term."""
        heard = [reign for reign in self.reigns if reign.kind == "controller" and reign.first_ns <= at_ns]
        own = [reign for reign in heard if reign.distance_ns(at_ns) is not None]
        return max(own, key=lambda reign: (reign.epoch, reign.first_ns)).node if own else None


def fault_spans(events: Iterable[Event]) -> tuple[FaultSpan, ...]:
    """The faults that events tell of, by number; the events are in order of time."""
    spans: dict[int, FaultSpan] = {}
    for event in events:
        if not isinstance(event, Fault):
            continue
        span = spans.get(event.id, FaultSpan(id=event.id, name=event.name, identity=event.told_identity))
        seen = event.evidence
        changes: dict[str, Any] = {
            "targets": event.targets or span.targets,
            "description": event.description or span.description,
            "note": event.note or span.note,
        }
        if event.stage == "inject":
            changes["inject_ns"] = event.time_ns
        elif event.stage == "active":
            changes |= {"active_ns": event.time_ns, "proven": seen is not None and seen.proven}
            changes["evidence"] = seen.summary if seen is not None else "no evidence"
        elif event.stage == "heal" and span.heal_ns is None:
            changes |= {"heal_ns": event.time_ns, "lasted": seen is not None and seen.proven}
        elif event.stage == "healed" and not span.healed:
            changes |= {"healed_ns": event.time_ns, "healed": seen is not None and seen.proven}
            changes |= {"failed": failed_of(seen), "heal_evidence": seen.summary if seen is not None else "no evidence"}
            early = seen.details.get(DID_NOT_LAST, {}) if seen is not None else {}
            if early:
                changes["note"] = "broke: did not last: " + ", ".join(f"{node} {how}" for node, how in early.items())
        elif event.stage == "skipped":
            changes["skipped"] = True
        elif event.stage == "broke":
            changes |= {"proven": False, "note": f"broke: {event.note}"}
        spans[event.id] = msgspec.structs.replace(span, **changes)
    # A fault that broke after it was looked at stays unproven, whatever had been seen.
    return tuple(
        msgspec.structs.replace(span, proven=span.proven and not span.note.startswith("broke: "))
        for _, span in sorted(spans.items())
    )


def _clocks(events: Iterable[Event]) -> dict[str, tuple[tuple[int, int], ...]]:
    out: dict[str, tuple[tuple[int, int], ...]] = {}
    for event in events:
        if isinstance(event, Note) and event.name == CLOCK_SKEW and event.node is not None:
            seen = (int(event.data["ahead_ns"]), int(event.data["error_ns"]))
            out[event.node] = (*out.get(event.node, ()), seen)
    return out


def _replica_data(events: Iterable[Event]) -> tuple[ReplicaData, ...]:
    notes = [event for event in events if isinstance(event, Note) and event.name == REPLICA_DATA]
    said = [data_in(note) for note in notes]
    return tuple({(one.subject, one.node): one for one in said}.values())


def _ended(events: list[Event], name: str) -> bool:
    """Whether a phase ended, and well."""
    edges = [event for event in events if isinstance(event, Phase) and event.name == name]
    return bool(edges) and edges[-1].edge == "end" and edges[-1].ok


def timeline_of(events: list[Event], run: RunInfo) -> Timeline:
    """Sum up the events of a run, which are in order of time."""
    observations = sorted(
        (event for event in events if isinstance(event, Observation)), key=lambda event: (event.time_ns, event.node)
    )
    speeches = speeches_of(observations)
    return Timeline(
        origin_ns=run.origin_ns,
        end_ns=max((event.time_ns for event in events), default=run.origin_ns),
        final_phases_ended=run.required_phases is not None
        and all(_ended(events, name) for name in run.required_phases),
        faults=fault_spans(events),
        reigns=reigns_of(speeches, run),
        statements=statements_of(speeches, run),
        words=words_of(speeches, run),
        in_sync=in_sync_of(speeches, run),
        observed=len(observations),
        loaded=any(isinstance(event, Phase) and event.name == "load" for event in events),
        nodes=node_states(events),
        clocks=_clocks(events),
        replica_data=_replica_data(events),
    )
