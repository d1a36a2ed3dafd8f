"""Under a fault that is never healed, and hits a minority, every key goes on to take changes (SEMANTICS 17b).

A silence lasts from a change that was due under the fault to the next acknowledgement of any change of its key. One
that is longer than the system promises is ``stopped-by-minority``. Does not judge keys of which no majority was spared,
and claims nothing where the fault is not proven to the end, the load fell behind, or nodes lacked a CPU or a link.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, CheckResult, Example
from checkers.anomalies.attribution import fault_name, reign_words
from checkers.anomalies.findings import Finding, anomaly, count_of, describe_operation, examples, numbers, seconds_text
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import is_among
from checkers.history.lateness import LAG_NS, LATE_SHARE
from checkers.history.leadership import Reign
from checkers.history.taken_away import takes_away
from checkers.history.words import words_of
from checkers.recovery.errors_by_node import unserved_beside_a_leader
from checkers.recovery.quiet_stretches import QUIET_RATE, quiet_ns
from checkers.recovery.service import Sent, sent_of, silences

NAME: Final = "stopped-by-minority"
HEARD_NS: Final = 2 * NS_PER_S


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """The longest silence of a key under the fault; ``acked``: an acknowledgement ended it, not the load's end."""

    start_ns: int
    end_ns: int
    acked: bool
    shown: tuple[dict[str, Any], ...] = ()

    @property
    def length_ns(self) -> int:
        """How long it was."""
        return self.end_ns - self.start_ns


class LeftSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One or more keys under faults that were left in force.

    ``stopped``: key → its longest silence, if that is over the promise. ``strayed``: keys whose silence is over it only
    because clients stayed on nodes that do not lead. ``majority``: keys of which no majority was spared. ``brief``:
    keys that were loaded under the fault no longer than what is promised. ``keys``: how many were judged. ``changes``:
    how many were due, ``acked``: how many of them were acknowledged. ``load`` and ``late``: as in ``RecoverySummary``.
    """

    stopped: dict[int, Stop] = {}
    strayed: tuple[int, ...] = ()
    majority: tuple[int, ...] = ()
    brief: tuple[int, ...] = ()
    keys: int = 0
    changes: int = 0
    acked: int = 0
    longest_ns: int = 0
    load: int = 0
    late: int = 0


def spares_majority(context: Context, key: int) -> bool:
    """Whether more than half of a key's replicas, and more than half of the controllers, were spared."""
    hit, run = context.timeline.nodes_left(), context.run
    subject = run.subject_of(key)
    replicas = (subject.nodes if subject is not None else ()) or run.replicas
    controllers = [node.name for node in run.nodes if run.roles.get(node.role) == "controller"]
    return all(2 * len(hit.intersection(pool)) < len(pool) for pool in (replicas, controllers) if pool)


class _Longest(NamedTuple):
    """Which send the longest silence began with, and how long it was (ns), what was quiet on purpose left out."""

    send: int
    length_ns: int
    counted_ns: int


def _longest(sent: Sent, context: Context) -> _Longest | None:
    if not len(sent.ops):
        return None
    lengths = silences(sent)
    quiet = ((1.0 - QUIET_RATE) * quiet_ns(context, sent.invoke, sent.invoke + lengths)).astype(np.int64)
    at = int(np.argmax(lengths - quiet))
    return _Longest(at, int(lengths[at]), int(lengths[at] - quiet[at]))


def examine(shard: QueueShard, context: Context) -> LeftSummary:
    """Look at one key."""
    within_ns = round(context.run.promises.serves_without_minority_s * NS_PER_S)
    begin_ns = context.timeline.last_heal_ns()
    if not within_ns:
        return LeftSummary()
    if not spares_majority(context, shard.key):
        return LeftSummary(majority=(shard.key,))
    every = sent_of(shard, context)
    due = every.invoke >= begin_ns
    sent = Sent(every.ops[due], every.invoke[due], every.ok[due], every.acks)
    if not len(sent.ops):
        return LeftSummary()
    invoke, scheduled = shard.ops.invoke, shard.operations["scheduled_ns"]
    load = ~is_among(shard.ops.f, words_of(context.run).final) & (scheduled >= begin_ns)
    late = load & ((invoke - scheduled > LAG_NS) | np.equal(shard.ops.type, Type.NOT_SENT))
    kept = ~unserved_beside_a_leader(shard, context)[sent.ops]
    longest = _longest(sent, context)
    to_leaders = _longest(Sent(sent.ops[kept], sent.invoke[kept], sent.ok[kept], sent.acks), context)
    assert longest is not None
    over, certain = longest.counted_ns > within_ns, to_leaders is not None and to_leaders.counted_ns > within_ns
    brief = int(sent.invoke.max()) - begin_ns <= within_ns
    stopped: dict[int, Stop] = {}
    if certain and to_leaders is not None:
        stopped[shard.key] = _stop(shard, context, int(sent.ops[kept][to_leaders.send]), to_leaders.length_ns, sent)
    return LeftSummary(
        stopped=stopped,
        strayed=(shard.key,) if over and not certain else (),
        brief=(shard.key,) if brief else (),
        keys=1,
        changes=len(sent.ops),
        acked=int(sent.ok.sum()),
        longest_ns=longest.length_ns,
        load=int(load.sum()),
        late=int(late.sum()),
    )


def _stop(shard: QueueShard, context: Context, op: int, length_ns: int, sent: Sent) -> Stop:
    """The silence that begins with an operation, with the operations around it."""
    start_ns = int(shard.ops.invoke[op])
    acked = bool(len(sent.acks)) and int(sent.acks[-1]) > start_ns
    shown = [op]
    if acked:
        ok = np.flatnonzero(np.equal(shard.ops.complete, start_ns + length_ns))
        shown += [int(one) for one in ok[:1]]
    told = tuple(describe_operation(shard, context, one) for one in shown)
    return Stop(start_ns=start_ns, end_ns=start_ns + length_ns, acked=acked, shown=told)


def merge(left: LeftSummary, right: LeftSummary) -> LeftSummary:
    """Add two keys."""
    return LeftSummary(
        stopped={**left.stopped, **right.stopped},
        strayed=tuple(sorted((*left.strayed, *right.strayed))),
        majority=tuple(sorted((*left.majority, *right.majority))),
        brief=tuple(sorted((*left.brief, *right.brief))),
        keys=left.keys + right.keys,
        changes=left.changes + right.changes,
        acked=left.acked + right.acked,
        longest_ns=max(left.longest_ns, right.longest_ns),
        load=left.load + right.load,
        late=left.late + right.late,
    )


def conclude(
    name: str, summary: LeftSummary, context: Context, ended: Sequence[Example], starved: float
) -> CheckResult:
    """The row of the verdict table.

    Args:
        name: the row's.
        summary: of all keys.
        context: the run.
        ended: nodes that ended by themselves, which are told whatever else is in doubt; then no silence is.
        starved: the share of the time that a node wanted a CPU and had to wait, above which it is no witness.
    """
    within_s, words = context.run.promises.serves_without_minority_s, words_of(context.run)
    stopped = [] if ended else list(_stopped(summary, context))
    found = {"did-not-come-back": list(ended), NAME: stopped}
    unknown = _unjudged(summary, context)
    if stopped:
        unknown += _doubts(summary, context, starved)
    if unknown and not ended:
        return CheckResult(
            name=name,
            valid=UNKNOWN,
            found=f"silent {words.key}s, not judged" if stopped else "not judged",
            examined=words.changes_of(summary.changes),
            reason="whether the rest served under the fault that was never healed cannot be told: "
            + "; ".join(unknown),
        )
    anomalies = {
        kind: anomaly(kind, Finding(count=len(every), examples=examples(every)), context)
        for kind, every in found.items()
        if every
    }
    text = ", ".join(f"{one.count} {kind}{' (allowed)' if one.allowed else ''}" for kind, one in anomalies.items())
    clean = (
        f"{summary.acked} of {words.changes_of(summary.changes)} acknowledged under the fault that was never healed, "
        f"longest silence {summary.longest_ns / NS_PER_S:.1f} s of {within_s:g} s"
    )
    return CheckResult(
        name=name,
        valid=all(one.allowed for one in anomalies.values()),
        found=text or clean,
        examined=words.changes_of(summary.changes),
        anomalies=anomalies,
    )


def _unjudged(summary: LeftSummary, context: Context) -> list[str]:
    """Why some keys show nothing; empty if each does."""
    words, within_s = words_of(context.run), context.run.promises.serves_without_minority_s
    if not within_s:
        return ["the system promises nothing of a minority that stays away under these settings"]
    out = []
    for fault in context.timeline.left_in_force():
        if summary.stopped and not takes_away(fault, context):
            out.append(f"{fault_name(fault)} leaves its nodes in touch with some others, of which nothing is promised")
        if not fault.proven:
            out.append(f"{fault_name(fault)} is not proven")
        elif not fault.lasted:
            out.append(f"{fault_name(fault)} was not seen to last until the final reads were over")
    if summary.majority:
        hit = join_names(sorted(context.timeline.nodes_left()))
        out.append(f"no majority of {numbers(words.key, summary.majority)} was spared, the fault hit {hit}")
    if summary.brief and not summary.stopped:
        out.append(
            f"{numbers(words.key, summary.brief)}: loaded for no longer than {within_s:g} s under the fault, which is "
            "what is promised; give a longer --time-limit"
        )
    if summary.strayed:
        out.append(f"clients of {numbers(words.key, summary.strayed)} stayed on a node that does not lead")
    if not (summary.keys or summary.majority):
        out.append(f"no {words.change} was due under the fault")
    return out


def _doubts(summary: LeftSummary, context: Context, starved: float) -> list[str]:
    """Why a silence may be the harness' or the machine's doing; empty if nothing says so."""
    out = []
    if summary.late > LATE_SHARE * summary.load:
        out.append(
            f"the load generator fell behind: {summary.late} of {summary.load} operations under the fault started over "
            "250 ms late or never"
        )
    looks, hit = context.timeline.nodes.looks, context.timeline.nodes_left()
    if not looks:
        return [*out, "the harness did not look whether every other node ran and was reachable"]
    waited = {node: share for look in looks for node, share in look.waited.items() if share > starved}
    out += [f"{node} waited for a CPU {100 * share:.0f} % of the time" for node, share in waited.items()]
    cut = [link for link in looks[-1].cut if hit.isdisjoint(link.split(">"))]
    if cut:
        out.append(f"probes were lost between nodes that the fault had spared ({', '.join(cut[:4])})")
    if down := set(looks[-1].dead) - hit:
        out.append(f"{join_names(sorted(down))} did not run")
    return out


def _stopped(summary: LeftSummary, context: Context) -> Iterator[Example]:
    """An example for each key that stopped."""
    within_s, words = context.run.promises.serves_without_minority_s, words_of(context.run)
    fault = context.timeline.left_in_force()[-1]
    spared = [node.name for node in context.run.nodes if node.name not in context.timeline.nodes_left()]
    served = summary.keys - len(summary.stopped)
    beside = f" while {count_of(served, f'other {words.key}')} took {words.change}s" if served else ""
    for key, one in sorted(summary.stopped.items()):
        until, leader = "one was again" if one.acked else "the load ended", _leader(context, key, one.end_ns)
        led = f"{leader.node} was {reign_words(leader, context)}, " if leader is not None else ""
        yield Example(
            sentence=(
                f"no {words.change} to {words.key} {key} was acknowledged from {seconds_text(context, one.start_ns)} "
                f"to {seconds_text(context, one.end_ns)}, when {until}{beside}, "
                f"under {fault_name(fault)}, which was never healed and spared {join_names(spared)}; {led}"
                f"{within_s:g} s are promised"
            ),
            key=key,
            node=leader.node if leader is not None else None,
            at_ns=one.start_ns,
            fault=fault.id,
            ops=one.shown,
        )


def _leader(context: Context, key: int, at_ns: int) -> Reign | None:
    """Who said to lead a key then, of several the one of the newest epoch."""
    over = context.timeline.reigns_over(context.subject_of(key))
    own = [reign for reign in over if reign.first_ns <= at_ns <= reign.last_ns + HEARD_NS]
    return max(own, key=lambda reign: (reign.epoch, reign.first_ns), default=None)
