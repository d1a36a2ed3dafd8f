"""What the events say, in a form small enough to give to every kernel.

Phases, the life of each fault, who claimed to lead in which epoch and when, and for each node the
stretches over which its statements stayed the same. Made once per run from the events; the module
refuses to judge them (``checkers.cluster.roles`` and ``checkers.assumptions`` do).
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.events import CLOCK_SKEW, DID_NOT_LAST, OBSERVE_PERIOD_S, Event, Fault, Note, Observation, Phase
from chaos.core.fault_nature import Identity
from chaos.core.history import NEVER_NS
from chaos.core.runinfo import RunInfo
from chaos.core.verdict import FaultResult
from checkers.history.node_states import NodeStates, failed_of, node_states

LEADING: Final = ("master", "leader")

HEARD_NS: Final = 2 * round(OBSERVE_PERIOD_S * NS_PER_S)
"""What a node says is heard at most this much later: it is asked every period, and answers within another."""

DECIDED_NS: Final = 2 * NS_PER_S
"""So near to a master's claim a controller's statement of its epoch must be for the claim to be of that epoch."""


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


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A node said that it leads: one stretch of one epoch (term for controllers).

    ``not_before_ns``, ``not_after_ns``: when the node last said otherwise before it, and first said otherwise after it.
    """

    role: str
    kind: str
    subject: str | None
    node: str
    epoch: int
    first_ns: int
    last_ns: int
    not_before_ns: int = -1
    not_after_ns: int = NEVER_NS

    def distance_ns(self, at_ns: int) -> int | None:
        """How far from an instant it was heard: 0 within it, None if too far, or if the node said otherwise between."""
        if self.first_ns <= at_ns <= self.last_ns:
            return 0
        if not self.not_before_ns < at_ns < self.not_after_ns:
            return None
        distance_ns = self.first_ns - at_ns if at_ns < self.first_ns else at_ns - self.last_ns
        return distance_ns if distance_ns <= HEARD_NS else None


class Stretch(msgspec.Struct, frozen=True):
    """A statement that stayed the same from its first to its last hearing."""

    first_ns: int
    last_ns: int
    said: Any


class InSync(msgspec.Struct, frozen=True, kw_only=True):
    """What one node said of a master's SyncStateSet, unchanged from ``first_ns`` to ``last_ns``.

    ``first_ns`` is the end of the first answer and ``last_ns`` the question behind the last, so that what was
    said held all the time between. ``epoch`` is the speaker's: a master's epoch, a controller's term.
    ``number`` is the SyncStateSet's own epoch.
    """

    node: str
    master: str
    epoch: int
    members: tuple[str, ...]
    number: int
    first_ns: int
    last_ns: int


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The run beside its operations.

    ``statements``: (node, what) → stretches in order of time; what is role, epoch, master or SyncStateSet.
    ``in_sync``: who was in sync, by speaker and time. ``clocks``: node → each comparison of its wall clock with the
    control host's, as (ns ahead, error in ns). ``drain_ended``: the phase of the final reads ended well.
    ``loaded``: the load began.
    ``nodes``: what is known of each node's process and answers.
    """

    origin_ns: int
    end_ns: int
    drain_ended: bool
    faults: tuple[FaultSpan, ...]
    claims: tuple[Claim, ...]
    statements: dict[str, dict[str, tuple[Stretch, ...]]]
    in_sync: tuple[InSync, ...]
    observed: int
    loaded: bool
    nodes: NodeStates = NodeStates()
    clocks: dict[str, tuple[tuple[int, int], ...]] = {}

    def seconds(self, at_ns: int) -> float:
        """Seconds since the load began."""
        return (at_ns - self.origin_ns) / NS_PER_S

    def last_heal_ns(self) -> int:
        """When the last fault was undone: 0 without faults, NEVER_NS if one was not."""
        times = [
            NEVER_NS if fault.healed_ns is None else fault.healed_ns
            for fault in self.faults
            if fault.inject_ns is not None
        ]
        return max(times, default=0)

    def injected(self) -> list[FaultSpan]:
        """The faults that began, in order of time."""
        return sorted(
            (fault for fault in self.faults if fault.inject_ns is not None), key=lambda fault: fault.inject_ns or 0
        )

    def epoch_of(self, node: str, at_ns: int) -> int | None:
        """The epoch in which a replica led at a time, None if no claim was heard near enough.

        The nearest claim counts, also one heard afterwards: a new master works before the observer asks it.
        """
        own = (claim for claim in self.claims if claim.node == node and claim.kind == "replica")
        near = [(far, claim.first_ns, claim.epoch) for claim in own if (far := claim.distance_ns(at_ns)) is not None]
        return min(near)[2] if near else None

    def controller_at(self, at_ns: int) -> str | None:
        """The controller that was the active one at a time, as far as it was heard: of several, of the newest term."""
        heard = [claim for claim in self.claims if claim.kind == "controller" and claim.first_ns <= at_ns]
        own = [claim for claim in heard if claim.distance_ns(at_ns) is not None]
        return max(own, key=lambda claim: (claim.epoch, claim.first_ns)).node if own else None


def fault_spans(events: Iterable[Event]) -> tuple[FaultSpan, ...]:
    """The faults that events tell of, by number; the events are in order of time."""
    spans: dict[int, FaultSpan] = {}
    for event in events:
        if not isinstance(event, Fault):
            continue
        span = spans.get(event.id, FaultSpan(id=event.id, name=event.name, identity=event.told))
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


def _said(observation: Observation, kind: str) -> dict[str, Any]:
    """The statements of one observation that bear on stability."""
    out: dict[str, Any] = {"master": observation.master}
    if observation.sync_state_set is not None:
        out["SyncStateSet"] = tuple(sorted(observation.sync_state_set))
    if kind == "replica":
        out |= {"role": observation.role, "epoch": observation.epoch}
    return {what: said for what, said in out.items() if said is not None}


def _statements(observations: list[Observation], kinds: dict[str, str]) -> dict[str, dict[str, tuple[Stretch, ...]]]:
    out: dict[str, dict[str, list[Stretch]]] = {}
    for seen in observations:
        if not seen.alive:
            continue
        for what, said in _said(seen, kinds.get(seen.node, "other")).items():
            stretches = out.setdefault(seen.node, {}).setdefault(what, [])
            if stretches and stretches[-1].said == said:
                stretches[-1] = Stretch(stretches[-1].first_ns, seen.time_ns, said)
            else:
                stretches.append(Stretch(seen.time_ns, seen.time_ns, said))
    return {node: {what: tuple(one) for what, one in tracks.items()} for node, tracks in out.items()}


def _decisions(observations: list[Observation]) -> dict[str, list[tuple[int, int]]]:
    """Master → (when a controller said so, the epoch that it decided), in order of time.

    A controller of an earlier term than one already heard repeats what was decided before: that is no decision now.
    """
    out: dict[str, list[tuple[int, int]]] = {}
    newest_term = 0
    for seen in observations:
        if not seen.alive or seen.master is None or seen.master_epoch is None:
            continue
        term = newest_term if seen.epoch is None else seen.epoch
        newest_term = max(newest_term, term)
        if term == newest_term:
            out.setdefault(seen.master, []).append((seen.time_ns, seen.master_epoch))
    return out


def _claimed_epoch(
    seen: Observation, decisions: dict[str, list[tuple[int, int]]], before: tuple[int, int] | None
) -> int | None:
    """The epoch of a master's claim (SEMANTICS 15): its own word, unless a controller decided a later one.

    Its own word may be of an epoch before: it is that of the newest part of its log. So while it repeats its word, what
    was decided of it once goes on to hold where no controller is heard.

    Args:
        seen: the claim.
        decisions: what controllers decided.
        before: the node's last own word, and the epoch its claim then was of.
    """
    if seen.epoch is None:
        return None
    known = before[1] if before is not None and before[0] <= seen.epoch else seen.epoch
    own = decisions.get(seen.node, [])
    first, last = (bisect_left(own, (seen.time_ns + away_ns, 0)) for away_ns in (-DECIDED_NS, DECIDED_NS + 1))
    near = own[first:last]
    for word in (known, seen.epoch):
        if any(epoch == word for _, epoch in near):
            return word
    later = [(abs(at_ns - seen.time_ns), -epoch) for at_ns, epoch in near if epoch > seen.epoch]
    return -min(later)[1] if later else max(known, seen.epoch)


def _claims(observations: list[Observation], roles: dict[str, str], kinds: dict[str, str]) -> tuple[Claim, ...]:
    decisions = _decisions(observations)
    open_claims: dict[str, Claim] = {}
    done: list[Claim] = []
    words: dict[str, tuple[int, int]] = {}
    spoke_ns: dict[str, int] = {}
    for seen in observations:
        if not seen.alive or seen.role is None:
            continue
        before_ns, spoke_ns[seen.node] = spoke_ns.get(seen.node, -1), seen.time_ns
        last = open_claims.get(seen.node)
        kind = kinds.get(seen.node, "other")
        epoch = seen.epoch
        if kind == "replica" and seen.role in LEADING:
            epoch = _claimed_epoch(seen, decisions, words.get(seen.node))
            if seen.epoch is not None and epoch is not None:
                words[seen.node] = seen.epoch, epoch
        leads = seen.role in LEADING and epoch is not None and epoch >= 1
        if last is not None and leads and last.epoch == epoch:
            open_claims[seen.node] = msgspec.structs.replace(last, last_ns=seen.time_ns)
            continue
        if last is not None:
            done.append(msgspec.structs.replace(open_claims.pop(seen.node), not_after_ns=seen.time_ns))
        if leads and epoch is not None:
            open_claims[seen.node] = Claim(
                role=roles.get(seen.node, ""),
                kind=kind,
                subject=seen.subject if kind == "replica" else None,
                node=seen.node,
                epoch=epoch,
                first_ns=seen.time_ns,
                last_ns=seen.time_ns,
                not_before_ns=before_ns,
            )
    return tuple(sorted([*done, *open_claims.values()], key=lambda claim: (claim.first_ns, claim.node)))


def _in_sync(observations: list[Observation]) -> tuple[InSync, ...]:
    """The stretches of unchanging statements; a node that did not answer has changed nothing by that."""
    open_ones: dict[str, InSync] = {}
    done: list[InSync] = []
    for seen in observations:
        if not seen.alive:
            continue
        said = None
        if seen.master and seen.epoch is not None and seen.sync_state_set is not None:
            number = -1 if seen.sync_state_set_epoch is None else seen.sync_state_set_epoch
            said = InSync(
                node=seen.node,
                master=seen.master,
                epoch=seen.epoch,
                members=tuple(sorted(seen.sync_state_set)),
                number=number,
                first_ns=seen.time_ns,
                last_ns=seen.asked_ns,
            )
        last = open_ones.pop(seen.node, None)
        if last is not None and said is not None and _same_set(last, said):
            open_ones[seen.node] = msgspec.structs.replace(last, last_ns=seen.asked_ns)
            continue
        done += [last] if last is not None else []
        if said is not None and said.number >= 0:
            open_ones[seen.node] = said
    return tuple(sorted([*done, *open_ones.values()], key=lambda one: (one.node, one.first_ns)))


def _same_set(left: InSync, right: InSync) -> bool:
    return (left.master, left.epoch, left.number, left.members) == (
        right.master,
        right.epoch,
        right.number,
        right.members,
    )


def _clocks(events: Iterable[Event]) -> dict[str, tuple[tuple[int, int], ...]]:
    out: dict[str, tuple[tuple[int, int], ...]] = {}
    for event in events:
        if isinstance(event, Note) and event.name == CLOCK_SKEW and event.node is not None:
            seen = (int(event.data["ahead_ns"]), int(event.data["error_ns"]))
            out[event.node] = (*out.get(event.node, ()), seen)
    return out


def timeline_of(events: list[Event], run: RunInfo) -> Timeline:
    """Sum up the events of a run, which are in order of time."""
    observations = sorted(
        (event for event in events if isinstance(event, Observation)), key=lambda event: (event.time_ns, event.node)
    )
    roles = {node.name: node.role for node in run.nodes}
    kinds = {name: run.roles.get(role, "other") for name, role in roles.items()}
    drain = [event for event in events if isinstance(event, Phase) and event.name == "drain"]
    return Timeline(
        origin_ns=run.origin_ns,
        end_ns=max((event.time_ns for event in events), default=run.origin_ns),
        drain_ended=bool(drain) and drain[-1].edge == "end" and drain[-1].ok,
        faults=fault_spans(events),
        claims=_claims(observations, roles, kinds),
        statements=_statements(observations, kinds),
        in_sync=_in_sync(observations),
        observed=len(observations),
        loaded=any(isinstance(event, Phase) and event.name == "load" for event in events),
        nodes=node_states(events),
        clocks=_clocks(events),
    )
