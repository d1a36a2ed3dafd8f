"""Faults on controllers must not stop brokers (SEMANTICS 17).

A silence is the time from a send that was due to the next acknowledgement of any send to its queue. One that begins
under a fault that hits controllers alone, or between it and the next fault, and is longer than the system's margin is
``no-progress``. Does not judge where a fault hits brokers as well, where an outage had begun before, where a queue was
not served again after an earlier fault, and where the load itself fell behind.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.verdict import UNKNOWN, CheckResult, Example
from chaos.storage.history import NEVER_NS
from checkers.anomalies.attribution import fault_name
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    Finding,
    Findings,
    add_findings,
    conclude_findings,
    count_of,
    describe_operation,
    examples,
    findings,
    node_name,
    seconds_text,
)
from checkers.history.check import OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.lateness import LAG_NS
from checkers.history.timeline import FaultSpan
from checkers.history.words import words_of
from checkers.recovery.errors_by_node import unserved_beside_a_leader
from checkers.recovery.quiet_stretches import QUIET_RATE, quiet_ns
from checkers.recovery.service import Sent, sent_of, silences


class ProgressSummary(Findings, frozen=True, kw_only=True):
    """Findings; ``examined`` counts the sends under faults on controllers. ``longest_ns``: the longest silence.

    ``lagged``: silences above the margin, one per fault and queue, in which the load left late.
    """

    longest_ns: int = 0
    lagged: int = 0


class Silence(NamedTuple):
    """The longest one of a queue under a fault: the send that it began with, its length, how much is the load's."""

    fault: FaultSpan
    send: int
    length_ns: int
    acked: bool
    quiet_ns: int


def of_controllers(fault: FaultSpan, context: Context) -> bool:
    """Whether a fault hits controllers and nobody else: of nodes by its targets, of links by its roles."""
    run = context.run
    role_of = {node.name: node.role for node in run.nodes}

    def controls(roles: list[str]) -> bool:
        return bool(roles) and all(run.roles.get(role) == "controller" for role in roles)

    if fault.identity.nature.hits == "nodes":
        return controls([role_of.get(name, "") for name in fault.targets])
    return controls(list(fault.identity.roles))


def _until(fault: FaultSpan, sent: Sent, context: Context) -> tuple[int, int, int]:
    """From when and until when silences under a fault begin, and when the next fault that hits others ends them.

    After an earlier fault that hit others none begins before the queue was served again.
    """
    begin, ends, cut = fault.inject_ns or 0, NEVER_NS, NEVER_NS
    for other in context.timeline.injected():
        inject_ns = other.inject_ns or 0
        alone = of_controllers(other, context)
        if inject_ns > (fault.inject_ns or 0):
            ends = min(ends, inject_ns)
            cut = cut if alone else min(cut, inject_ns)
        elif not alone:
            served = sent.acks[sent.acks >= other.in_force_until_ns()]
            begin = max(begin, int(served[0]) if len(served) else NEVER_NS)
    return begin, ends, cut


def _beginning(shard: QueueShard, context: Context) -> Sent:
    """The sends that a silence can begin with: none that went to a node which does not lead, while another led."""
    sent = sent_of(shard, context)
    kept = ~unserved_beside_a_leader(shard, context)[sent.ops]
    return Sent(sent.ops[kept], sent.invoke[kept], sent.ok[kept], sent.acks)


def longest_under(fault: FaultSpan, sent: Sent, context: Context, margin_ns: int) -> Silence | None:
    """The longest silence that began under a fault; None if nothing was due or an outage lasted all the time."""
    begin, ends, cut = _until(fault, sent, context)
    if not len(sent.ops) or begin >= ends:
        return None
    lengths = silences(sent)
    # An outage that had begun before is not this fault's: only what begins behind its end is.
    before = (sent.invoke < begin - margin_ns) & (sent.invoke + lengths > begin)
    if before.any():
        first = int(np.flatnonzero(before)[0])
        begin = int(sent.invoke[first] + lengths[first])
    under = np.flatnonzero((sent.invoke >= begin) & (sent.invoke < ends))
    if not len(under):
        return None
    clipped = np.minimum(lengths[under], cut - sent.invoke[under])
    began = sent.invoke[under]
    # While a tenth is sent, ten times as long passes until the next send can be acknowledged.
    quiet = ((1.0 - QUIET_RATE) * quiet_ns(context, began, began + clipped)).astype(np.int64)
    longest = int(np.argmax(clipped - quiet))
    worst = int(under[longest])
    acked = bool(sent.invoke[worst] < sent.acks[-1]) if len(sent.acks) else False
    until_acked = acked and int(sent.invoke[worst] + lengths[worst]) <= cut
    return Silence(fault, worst, int(clipped[longest]), until_acked, int(quiet[longest]))


def _lagged(shard: QueueShard, from_ns: int, to_ns: int) -> bool:
    invoke, due = shard.ops.invoke, shard.ops.scheduled
    return bool((invoke - due)[(invoke >= from_ns) & (due <= to_ns)].max(initial=0) > LAG_NS)


def _example(shard: QueueShard, context: Context, sent: Sent, one: Silence) -> Example:
    log, margin_s, words = shard.ops, context.run.promises.progress_margin_s, words_of(context.run)
    start_ns = int(sent.invoke[one.send])
    acked = sent.ops[sent.ok]
    ender = int(acked[np.argmin(np.abs(log.complete[acked] - (start_ns + one.length_ns)))]) if one.acked else -1
    node = node_name(context, int(log.node[ender])) if ender >= 0 else next(iter(one.fault.targets))
    end = f"until {node} acknowledged again" if ender >= 0 else "and none after that"
    return Example(
        sentence=(
            f"{fault_name(one.fault)} at {seconds_text(context, one.fault.inject_ns or 0)} hit controllers alone, and "
            f"no {words.change} to {words.key} {shard.key} was acknowledged for {one.length_ns / NS_PER_S:.1f} s from "
            f"{seconds_text(context, start_ns)}, {end}; the margin is {margin_s:g} s"
        ),
        key=shard.key,
        node=node,
        at_ns=start_ns,
        fault=one.fault.id,
        ops=tuple(describe_operation(shard, context, op) for op in (int(sent.ops[one.send]), ender) if op >= 0),
    )


class ProgressKernel(OfEachKey):
    """Silences of brokers under faults on controllers."""

    name = "progress"
    help = "faults on controllers alone stop no acknowledgements for longer than the system's margin"
    anomalies = kinds_named("no-progress")

    def applies(self, context: Context) -> str | None:
        """Where the system promises it and a fault was on controllers alone."""
        if not context.run.promises.progress_margin_s:
            return "the system promises no progress under faults on controllers"
        touched = any(of_controllers(one, context) for one in context.timeline.injected())
        return None if touched else "no fault was on controllers alone"

    def examine(self, shard: QueueShard, context: Context) -> ProgressSummary:
        """Look at one queue."""
        margin_ns = round(context.run.promises.progress_margin_s * NS_PER_S)
        if not margin_ns:
            return ProgressSummary()
        sent = _beginning(shard, context)
        seen = [
            one
            for fault in context.timeline.injected()
            if fault.proven
            and of_controllers(fault, context)
            and (one := longest_under(fault, sent, context, margin_ns)) is not None
        ]
        over = [one for one in seen if one.length_ns - one.quiet_ns > margin_ns and context.whole]
        lagged = [
            _lagged(shard, int(sent.invoke[one.send]), int(sent.invoke[one.send]) + one.length_ns) for one in over
        ]
        bad = [one for one, late in zip(over, lagged, strict=True) if not late]

        def told_of() -> Iterator[Example]:
            for one in sorted(bad, key=lambda one: -one.length_ns):
                yield _example(shard, context, sent, one)

        silent = Finding(count=len(bad), examples=examples(told_of()))
        found = findings(len(sent.ops) if seen else 0, no_progress=silent)
        return ProgressSummary(
            examined=found.examined,
            found=found.found,
            lagged=sum(lagged),
            longest_ns=max((one.length_ns for one in seen), default=0),
        )

    def merge(self, left: ProgressSummary, right: ProgressSummary) -> ProgressSummary:
        """Add two queues."""
        return ProgressSummary(
            examined=left.examined + right.examined,
            found=add_findings(left.found, right.found),
            lagged=left.lagged + right.lagged,
            longest_ns=max(left.longest_ns, right.longest_ns),
        )

    def conclude(self, summary: ProgressSummary | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        margin_s = context.run.promises.progress_margin_s
        summary = summary if summary is not None else ProgressSummary()
        longest = f"longest silence {summary.longest_ns / NS_PER_S:.1f} s of {margin_s:g} s"
        row = conclude_findings(self.name, summary, context, noun="send", clean=longest)
        if row.valid is not True or not summary.lagged:
            return row
        reason = (
            f"{count_of(summary.lagged, 'silence')} above the margin of {margin_s:g} s under faults on controllers "
            "cannot be judged: the load fell behind in it"
        )
        return msgspec.structs.replace(row, valid=UNKNOWN, reason=reason)
