"""The door: a Kafka-style history in, a verdict out.

``check`` runs the kernel over all logs here; an engine that schedules shards elsewhere uses ``kernel`` and
``conclude``. Does not read files.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final

import msgspec
import numpy as np

from chaos.core.verdict import UNKNOWN, Valid
from chaos.formats.kafka_columns import KafkaColumns
from checkers.history.columns import Ints
from checkers.kafka import explain, graph, per_log
from checkers.kafka.case_counts import Case, CaseCounts, Cases
from checkers.kafka.cycle_search import BUDGET, Graph, OverBudgetError, Part, graph_of, parts
from checkers.kafka.first_cycle import name_as_reference
from checkers.kafka.log import Values
from checkers.kafka.names import CYCLES, Via, allowed_anomalies
from checkers.kafka.per_log import Options, Summary
from checkers.kafka.rows import Records, shards

CYCLES_SHOWN: Final = 8
"""Cycles of one kind that are searched for, to be shown."""

EDGES: Final = Options(ww_deps=False, edges=True, keep=0)
"""What logs are looked at for once more, if something was read from the future."""

KEEP: Final = 32
"""Cases written out per anomaly, as many as the reference checker writes at most."""


@dataclass(frozen=True, slots=True)
class KafkaAnomaly:
    """All occurrences of one name. ``count`` is exact; ``cases`` are the first of them; ``unsure`` as of ``Found``."""

    count: int
    allowed: bool
    cases: tuple[Case, ...] = ()
    unsure: int = 0


@dataclass(frozen=True, slots=True)
class KafkaVerdict:
    """What is to be said of a history.

    Attributes:
        valid: false if any anomaly is not allowed; unknown where that cannot be told.
        anomalies: by name, in alphabetical order.
        reason: why unknown, else empty.
        examined: records and messages that were looked at.
        graph, parts: where cycles are, for those who explain them.
    """

    valid: Valid
    anomalies: dict[str, KafkaAnomaly]
    reason: str = ""
    examined: dict[str, int] = field(default_factory=dict)
    graph: Graph | None = None
    parts: tuple[Part, ...] = ()


def check(
    columns: KafkaColumns,
    *,
    sub_via: Via = "assign",
    ww_deps: bool = False,
    strict: bool = False,
    keep: int | None = KEEP,
    budget: int = BUDGET,
) -> KafkaVerdict:
    """Judge a history.

    Args:
        columns: the history, ascending by index.
        sub_via: how its consumers got their partitions.
        ww_deps: whether neighbouring offsets order their transactions.
        strict: what the reference checker misses is an error too.
        keep: cases written out per anomaly, None for all.
        budget: how many dependencies are searched for cycles at most; more make the verdict unknown.
    """
    records = Records(columns)
    silent = per_log.empty_polls(records)
    options = Options(ww_deps=ww_deps, edges=ww_deps or per_log.has_mixed_records(records), keep=keep)
    summary = examine_logs(records, silent, options)
    if summary.future:
        edges = examine_logs(records, silent, EDGES)
        summary.ww, summary.wr = edges.ww, edges.wr
    return conclude(summary, records, sub_via=sub_via, ww_deps=ww_deps, strict=strict, keep=keep, budget=budget)


def examine_logs(records: Records, silent: Ints, options: Options, proven: Ints | None = None) -> Summary:
    """The kernel over one log after the other.

    Args:
        records: the history, or what these logs need of it.
        silent: what ``per_log.empty_polls`` gives for the whole history.
        options: what is looked for.
        proven: the union of ``per_log.first_look`` over other logs.
    """
    logs = [(shard, Values(shard)) for shard in shards(records, once=True)]
    none = np.empty(0, dtype=np.int64) if proven is None else proven
    proven = np.unique(np.concatenate([none, *(values.proven(shard) for shard, values in logs)]))
    summaries: Iterable[Summary] = (per_log.examine(shard, proven, silent, options, values) for shard, values in logs)
    return reduce(per_log.merge, summaries, Summary(Cases(options.keep)))


def conclude(
    summary: Summary,
    records: Records,
    *,
    sub_via: Via,
    ww_deps: bool,
    strict: bool,
    keep: int | None = KEEP,
    budget: int = BUDGET,
) -> KafkaVerdict:
    """The verdict on all logs. Arguments as of ``check``; ``summary``: of all logs together."""
    found = dict(summary.cases.found)
    if summary.own:
        own = [case for _, case in (summary.own[op] for op in sorted(summary.own))]
        found["precommitted-read"] = CaseCounts(len(own), own if keep is None else own[:keep])
    there, reason = None, ""
    try:
        there = graph_of(records, graph.merge_edges(summary.ww), graph.merge_edges(summary.wr), budget)
    except OverBudgetError as over:
        reason = f"cycles were not looked for: {over.edges:,} dependencies between records, the budget is {budget:,}"
    strong = name_as_reference(there, parts(there)) if there is not None else []
    for part in strong:
        for name in part.kinds:
            found.setdefault(name, CaseCounts()).count += 1
    if there is not None and strong:
        limit = CYCLES_SHOWN if keep is None else min(keep, CYCLES_SHOWN)
        for name, cases in explain.cycles(there, tuple(strong), limit).items():
            found[name].cases = cases
    if not reason and bool((records.process >= 0).any()) and not summary.linked and not graph.any_real_time(records):
        first = int(records.index[np.flatnonzero(records.process >= 0)[0]])
        found["empty-transaction-graph"] = CaseCounts(1, [] if keep == 0 else [Case((), (first,))])
    covered = allowed_anomalies(sub_via, ww_deps=ww_deps, strict=strict)
    anomalies = {
        name: KafkaAnomaly(one.count, name in covered, tuple(one.cases), one.unsure)
        for name, one in sorted(found.items())
    }
    valid, reason = _valid(anomalies, reason)
    return KafkaVerdict(
        valid, anomalies, reason, {"records": len(records), "messages": summary.messages}, there, tuple(strong)
    )


def _valid(anomalies: dict[str, KafkaAnomaly], reason: str) -> tuple[Valid, str]:
    if any(not one.allowed for one in anomalies.values()):
        return False, ""
    if "phantom" in anomalies:  # the reference checker gives no answer here either
        reason = "values were polled that nobody sent, which the reference checker cannot judge (--strict: invalid)"
    return (UNKNOWN, reason) if reason else (True, "")


def _as_text(body: list[Any]) -> bytes:
    return msgspec.json.encode(body).replace(b",", b", ")  # as the suite was sorted


def canonical(verdict: KafkaVerdict) -> dict[str, Any]:
    """The anomalies as lists in the order of the conformance suite: sorted as text; sums for unseen and cycles.

    The verdict must hold all cases (``keep=None``).
    """
    out: dict[str, Any] = {}
    for name, one in verdict.anomalies.items():
        if name == "unseen":
            messages: dict[str, list[Any]] = {}
            for case in one.cases:
                messages.setdefault(str(case.key), []).append(case.body[1])
            sums = {key: len(values) for key, values in messages.items()}
            out[name] = {"unseen": sums, "messages": {key: sorted(values) for key, values in messages.items()}}
        elif name in CYCLES or name == "empty-transaction-graph":
            out[name] = {"cycles": one.count}
        else:
            out[name] = sorted((list(case.body) for case in one.cases), key=_as_text)
    return out
