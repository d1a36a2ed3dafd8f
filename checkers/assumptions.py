"""What must hold before a verdict on a run of any model means anything; judged first (SEMANTICS 12).

Enough traffic of each kind, a fault injected if any was planned, every fault proven and healed, the record of every
worker there, the load dispatched when it was due, sane clocks. One breach makes the answer unknown, with the reason.
What a model takes for granted beside (that its final reads are complete) is a check of its own. The module does not
excuse a breach.
"""

from collections import Counter
from typing import Final

import msgspec
import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, CheckResult, Example
from chaos.models.log.words import MODEL as LOG_MODEL
from chaos.storage.history import workers_among
from chaos.storage.runinfo import UNFINISHED
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import Finding, anomaly, count_of, examples, numbers, seconds_text
from checkers.cluster.faults_and_failovers import missing_failover
from checkers.history.check import OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import is_among
from checkers.history.lateness import LAG_NS, LATE_SHARE
from checkers.history.words import words_of
from checkers.recovery.missing_nodes import is_explained

ENOUGH: Final = 10
"""Ok operations of each kind in the mix, below which a run shows nothing of that kind."""

SKIP_REASONS: Final = 2


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one or more keys. ``counts``: (f, type) codes → operations; ``records``: rows that reads returned."""

    counts: dict[tuple[int, int], int] = {}
    records: int = 0
    late: int = 0
    worst_lag_ns: int = 0
    backwards: int = 0


def named_counts(traffic: Traffic, context: Context) -> dict[str, int]:
    """Counts in words: ``send``, ``send ok``, …, and sums."""
    named = words_of(context.run).named
    out = {"operations": sum(traffic.counts.values()), "records read": traffic.records}
    for (f, kind), number in sorted(traffic.counts.items()):
        word = named[f]
        out[word] = out.get(word, 0) + number
        out[f"{word} {Type(kind).word}"] = number
        out[Type(kind).word] = out.get(Type(kind).word, 0) + number
    return out


def _little(traffic: Traffic, context: Context) -> list[str]:
    words = words_of(context.run)
    ok = {word: traffic.counts.get((number, int(Type.OK)), 0) for number, word in words.named.items()}
    wanted = {f: ENOUGH for f, share in context.run.mix.items() if share > 0}
    if words.changes and not any(ok[words.named[number]] for number in words.changes):
        wanted.setdefault(words.named[words.changes[0]], 1)
    return [
        f"{ok.get(f, 0)} ok {f if ok.get(f, 0) == 1 else f + 's'}, at least {least} needed"
        for f, least in sorted(wanted.items())
        if ok.get(f, 0) < least
    ]


def _reasons(context: Context) -> str:
    """Why faults were skipped: the most frequent reasons, a few."""
    notes = Counter(fault.note or "no reason was recorded" for fault in context.timeline.faults if fault.skipped)
    return join_names([note for note, _ in notes.most_common(SKIP_REASONS)])


def skipped_words(context: Context) -> str:
    """``3 of 9 faults were skipped: no leader was known until the row's end``; empty if none was."""
    faults = context.timeline.faults
    skipped = sum(fault.skipped for fault in faults)
    if not skipped:
        return ""
    of_all = count_of(max(context.run.planned_faults, len(faults)), "fault")
    return f"{skipped} of {of_all} {'was' if skipped == 1 else 'were'} skipped: {_reasons(context)}"


def _no_fault(context: Context) -> list[str]:
    """Faults were planned, and none was injected: the run shows nothing of faults."""
    planned, faults = max(context.run.planned_faults, len(context.timeline.faults)), context.timeline.faults
    if not planned or context.timeline.injected():
        return []
    text = f"{count_of(planned, 'fault')} {'was' if planned == 1 else 'were'} planned and none was injected"
    skipped = sum(fault.skipped for fault in faults)
    if not skipped:
        return [text]
    who = "it was" if planned == 1 else "all were" if skipped == planned else f"{skipped} of them were"
    return [f"{text}: {who} skipped ({_reasons(context)})"]


def _unproven(context: Context) -> list[str]:
    faults = context.timeline.faults
    out = []
    for fault in faults:
        name = f"fault {fault.id} ({fault.name})"
        if fault.skipped:
            continue
        if not fault.proven:
            out.append(f"{name} is not proven: {fault.note or fault.evidence or 'it was not looked at'}")
        elif not fault.healed and not is_explained(fault, context):
            why = fault.heal_evidence or fault.note or "it was not looked at"
            out.append(f"the heal of {name} is not proven: {why}")
    missing = context.run.planned_faults - len(faults)
    if missing > 0 and context.timeline.injected():
        out.append(f"{context.run.planned_faults} faults were planned, {len(faults)} happened or were skipped")
    return out


def _unrecorded(context: Context) -> tuple[list[str], int]:
    """What is missing of the records of workers and of the observer, and of how many of these processes."""
    run, out = context.run, []
    seen = {stream.worker for stream in context.streams}
    cut = sorted(seen - {stream.worker for stream in context.streams if stream.ended})
    if cut:
        out.append(f"the record of {numbers('worker', cut)} was cut off")
    gone = run.workers - workers_among(seen, run.workers)
    if gone:
        out.append(f"{run.workers} workers were started and {run.workers - gone} left a record")
    nodes = context.timeline.nodes
    if nodes.blind:
        last_ns = max((one.last_ns for own in nodes.heard.values() for one in own), default=context.timeline.origin_ns)
        out.append(f"the observer ended by itself; nobody was asked who leads after {seconds_text(context, last_ns)}")
    return out, len(cut) + gone + nodes.blind


def why_unfinished(context: Context) -> str:
    """Why the run did not end as it should (SEMANTICS 11); empty if it did."""
    if context.run.status in UNFINISHED:
        return "the run was killed, or goes on"
    if not context.timeline.final_phases_ended:
        return f"the run has no ended {join_names(context.run.required_phases or ('final reads',))}"
    cut = [stream.worker for stream in context.streams if not stream.ended]
    seen = [stream.worker for stream in context.streams]
    if cut or workers_among(seen, context.run.workers) < context.run.workers:
        return "the record of a worker did not end" if cut else "the record of a worker is missing"
    return ""


class AssumptionsKernel(OfEachKey):
    """What the other checks take for granted."""

    name = "assumptions"
    is_assumption = True
    help = (
        "enough traffic, faults injected and proven, leaders deposed, every record there, load dispatched "
        "in time, clocks sane"
    )
    anomalies = kinds_named(
        "too-little-traffic", "no-fault", "fault-unproven", "no-failover", "record-incomplete", "dispatch-lag", "clock"
    )

    def examine(self, shard: QueueShard, context: Context) -> Traffic:
        """Look at one queue."""
        log, own = shard.ops, shard.operations
        counts = np.bincount(log.f.astype(np.int64) * 16 + log.type)
        lag = (log.invoke - own["scheduled_ns"])[~is_among(log.f, words_of(context.run).final)]
        late = int((lag > LAG_NS).sum())
        order = np.lexsort((own["op"], own["worker"]))
        same = own["worker"][order][1:] == own["worker"][order][:-1]
        backwards = int((same & (np.diff(log.invoke[order]) < 0)).sum()) + int((log.complete < log.invoke).sum())
        return Traffic(
            counts={(code // 16, code % 16): n for code, n in enumerate(counts.tolist()) if n},
            records=len(shard.log.row_offset) if context.run.model == LOG_MODEL else 0,
            late=late,
            worst_lag_ns=int(lag.max(initial=0)),
            backwards=backwards,
        )

    def merge(self, left: Traffic, right: Traffic) -> Traffic:
        """Add two queues."""
        counts = dict(left.counts)
        for code, number in right.counts.items():
            counts[code] = counts.get(code, 0) + number
        return Traffic(
            counts=counts,
            records=left.records + right.records,
            late=left.late + right.late,
            worst_lag_ns=max(left.worst_lag_ns, right.worst_lag_ns),
            backwards=left.backwards + right.backwards,
        )

    def conclude(self, summary: Traffic | None, context: Context) -> CheckResult:
        """The first row of the verdict table."""
        traffic = summary if summary is not None else Traffic()
        operations = sum(traffic.counts.values())
        not_sent = sum(n for (_, kind), n in traffic.counts.items() if kind == Type.NOT_SENT)
        final = words_of(context.run).final
        load = sum(n for (f, _), n in traffic.counts.items() if f not in final)
        behind = traffic.late if traffic.late > LATE_SHARE * load else 0
        lag = []
        if not_sent:
            lag.append(f"{count_of(not_sent, 'operation')} not sent: the bound on operations in flight was reached")
        if behind:
            lag.append(
                f"the load generator fell behind: {count_of(behind, 'operation')} started over 250 ms late; "
                "use a less busy machine or a lower --rate"
            )
        clock = [f"{count_of(traffic.backwards, 'time')} went backwards"] if traffic.backwards else []
        breaches: dict[str, tuple[list[str], int | None]] = {
            "too-little-traffic": (_little(traffic, context), None),
            "no-fault": (_no_fault(context), None),
            "fault-unproven": (_unproven(context), None),
            "no-failover": ([why] if (why := missing_failover(context)) is not None else [], None),
            "record-incomplete": _unrecorded(context),
            "dispatch-lag": (lag, not_sent + behind),
            "clock": (clock, traffic.backwards),
        }
        anomalies = {
            name: anomaly(
                name,
                Finding(
                    count=len(texts) if count is None else count,
                    examples=examples(Example(sentence=text) for text in texts),
                ),
                context,
            )
            for name, (texts, count) in breaches.items()
            if texts
        }
        reason = "; ".join(text for texts, _ in breaches.values() for text in texts)
        skipped = sum(fault.skipped for fault in context.timeline.faults)
        found = f"all hold, {count_of(skipped, 'fault')} skipped" if skipped else "all hold"
        if anomalies:
            found = ", ".join(anomalies)
        return CheckResult(
            name=self.name,
            valid=UNKNOWN if anomalies else True,
            found=found,
            reason=reason,
            examined=f"{count_of(operations, 'operation')} in all",
            anomalies=anomalies,
        )
