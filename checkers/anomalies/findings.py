"""What kernels find, in a form that adds up: exact counts, few examples, the offset ranges touched.

Ranges are how anomalies of one cause are brought together later (SEMANTICS 9). Does not decide validity beyond the
promises: that is the verdict's business.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec
import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, Example, Valid
from chaos.models.log.transaction import Decision
from chaos.models.log.words import HOLDS, SENDS, F
from chaos.models.log.words import MODEL as LOG_MODEL
from chaos.models.registry import model_named
from chaos.storage.history import NEVER_NS
from checkers.anomalies.catalogue import kind_of
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, spans
from checkers.history.log import Log
from checkers.history.words import words_of

EXAMPLES: Final = 8
RANGES: Final = 64
NO_NODE: Final = "an unknown node"

Range = tuple[int, int, int]
"""Queue, first offset, last offset."""


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """All occurrences of one anomaly by who answered, the first and the last (ns), and how many before any fault."""

    nodes: dict[str, int]
    first_ns: int
    last_ns: int
    before: int

    def words(self, context: Context) -> str:
        """``b2 101, b3 73; first at 8.6 s, last at 49.0 s; 0 before any fault``: several nodes, the most first."""
        own = sorted(self.nodes.items(), key=lambda one: (-one[1], one[0]))
        first, last = (seconds_text(context, at_ns) for at_ns in (self.first_ns, self.last_ns))
        times = f"first at {first}, last at {last}" if first != last else f"at {first}"
        faults = f"; {self.before} before any fault" if context.timeline.injected() else ""
        return f"{', '.join(f'{node} {count}' for node, count in own)}; {times}{faults}"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """All occurrences of one anomaly. ``excused``: how many of them a promise covers if there is one.

    ``spread``: where and when they were, None if nobody counted.
    """

    count: int
    examples: tuple[Example, ...] = ()
    ranges: tuple[Range, ...] = ()
    excused: int | None = None
    spread: Spread | None = None


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What a kernel found in some shards, and how many things it looked at.

    ``declined``: why not all of these could be judged, and of how many that is said.
    """

    examined: int = 0
    found: dict[str, Finding] = {}
    declined: dict[str, int] = {}


def _place(example: Example) -> tuple[bool, int, int, str]:
    """What no promise covers comes first, then by queue and offset."""
    key = -1 if example.key is None else example.key
    return example.excused, key, -1 if example.offset is None else example.offset, example.sentence


def _added(left: Finding, right: Finding) -> Finding:
    excused = [f.count if f.excused is None else f.excused for f in (left, right)]
    return Finding(
        count=left.count + right.count,
        examples=tuple(sorted((*left.examples, *right.examples), key=_place)[:EXAMPLES]),
        ranges=tuple(sorted((*left.ranges, *right.ranges))),
        excused=None if left.excused is None and right.excused is None else sum(excused),
        spread=_both(left.spread, right.spread),
    )


def _both(left: Spread | None, right: Spread | None) -> Spread | None:
    """Of two shards; None if one was not counted."""
    if left is None or right is None:
        return None
    return Spread(
        nodes={
            node: left.nodes.get(node, 0) + right.nodes.get(node, 0) for node in sorted({*left.nodes, *right.nodes})
        },
        first_ns=min(left.first_ns, right.first_ns),
        last_ns=max(left.last_ns, right.last_ns),
        before=left.before + right.before,
    )


def spread_of(shard: QueueShard, context: Context, ops: Collection[int] | Ints) -> Spread | None:
    """Where and when operations were answered, or asked where there was no answer; None if there are none."""
    which = np.asarray(list(ops), dtype=np.int64)
    if not len(which):
        return None
    done_ns = shard.ops.complete[which]
    at_ns = np.where(done_ns == NEVER_NS, shard.ops.invoke[which], done_ns)
    places, counts = np.unique(shard.ops.node[which], return_counts=True)
    begun = [fault.inject_ns or 0 for fault in context.timeline.injected()]
    return Spread(
        nodes={node_name(context, int(place)): int(count) for place, count in zip(places, counts, strict=True)},
        first_ns=int(at_ns.min()),
        last_ns=int(at_ns.max()),
        before=int((at_ns < begun[0]).sum()) if begun else len(which),
    )


def add_findings(left: Mapping[str, Finding], right: Mapping[str, Finding]) -> dict[str, Finding]:
    """Both tables in one."""
    both = dict(left)
    for name, finding in right.items():
        both[name] = _added(both[name], finding) if name in both else finding
    return both


def merge_findings(left: Findings, right: Findings) -> Findings:
    """Add what two shards showed."""
    return Findings(
        examined=left.examined + right.examined,
        found=add_findings(left.found, right.found),
        declined=dict(Counter(left.declined) + Counter(right.declined)),
    )


def ranges_of(key: int, offsets: Ints) -> tuple[Range, ...]:
    """The offset ranges of occurrences, joined where there are too many; -1 stands for no offset."""
    known = np.asarray(offsets)
    return tuple((key, first, last) for first, last in spans(known[known >= 0], gap=1, limit=RANGES))


def findings(examined: int, **found: Finding) -> Findings:
    """Findings without the ones that did not occur; underscores in names stand for hyphens."""
    return Findings(
        examined=examined, found={name.replace("_", "-"): finding for name, finding in found.items() if finding.count}
    )


def anomaly(name: str, finding: Finding, context: Context) -> Anomaly:
    """A finding as it is written down, under the system's promises.

    Of a record that may have been cut off what would excuse an anomaly may be missing.
    """
    promised = name in context.run.promises.allowed and kind_of(name).excused_by == "promise"
    covered = finding.excused is None or finding.excused == finding.count or not context.whole
    spread = finding.spread.words(context) if finding.spread is not None else ""
    return Anomaly(count=finding.count, allowed=promised and covered, examples=finding.examples, spread=spread)


def combine_anomalies(found: Iterable[Mapping[str, Anomaly]]) -> dict[str, Anomaly]:
    """The anomalies that several checks, or several keys, have shown: those of one name as one."""
    out: dict[str, Anomaly] = {}
    for name, one in (item for own in found for item in own.items()):
        before = out.get(name)
        out[name] = (
            one
            if before is None
            else msgspec.structs.replace(
                before,
                count=before.count + one.count,
                allowed=before.allowed and one.allowed,
                examples=(*before.examples, *one.examples)[:EXAMPLES],
                spread="",
            )
        )
    return out


def count_of(number: int, noun: str) -> str:
    """``1 message``, ``3 messages``."""
    plural = noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


def numbers(noun: str, which: Collection[int]) -> str:
    """``queue 3``, ``queues 0, 2 and 3``."""
    return f"{noun}{'s' if len(which) > 1 else ''} {join_names([str(one) for one in sorted(which)])}"


def incomplete(undrained: Mapping[int, str]) -> list[str]:
    """Why final reads are not complete, queues of one reason together."""
    by_reason: dict[str, list[int]] = {}
    for key, why in sorted(undrained.items()):
        by_reason.setdefault(why, []).append(key)
    return [f"the final reads of {numbers('queue', keys)} are not complete: {why}" for why, keys in by_reason.items()]


def validity(anomalies: Mapping[str, Anomaly]) -> Valid:
    """False for an error, unknown for a breach of an assumption, true otherwise."""
    met = {kind_of(name).consequence for name, one in anomalies.items() if not one.allowed}
    return False if "invalid" in met else UNKNOWN if met else True


def conclude_findings(name: str, summary: Findings | None, context: Context, *, noun: str, clean: str) -> CheckResult:
    """The row of a check whose summary is ``Findings``.

    Args:
        name: the check.
        summary: what was found, None if there was nothing to look at.
        context: for the promises.
        noun: what was examined, in the singular.
        clean: what the row says when nothing was found.
    """
    summary = summary if summary is not None else Findings()
    anomalies = {key: anomaly(key, finding, context) for key, finding in sorted(summary.found.items())}
    text = ", ".join(f"{one.count} {key}{' (allowed)' if one.allowed else ''}" for key, one in anomalies.items())
    valid = validity(anomalies)
    doubts = (one for key, one in anomalies.items() if kind_of(key).consequence == "unknown" and one.examples)
    reason = "; ".join(one.examples[0].sentence for one in doubts) if valid == UNKNOWN else ""
    return CheckResult(
        name=name,
        valid=valid,
        found=text or clean,
        examined=count_of(summary.examined, noun),
        anomalies=anomalies,
        reason=reason,
    )


def node_name(context: Context, node: int) -> str:
    """The name of a node by its position in ``run.json``."""
    return context.run.nodes[node].name if 0 <= node < len(context.run.nodes) else NO_NODE


def describe_operation(shard: QueueShard, context: Context, op: int, around: int | None = None) -> dict[str, Any]:
    """One operation in words: names for numbers, seconds since the load began for times.

    Args:
        shard: the operation's queue.
        context: names and origin.
        op: its position in the shard's operations.
        around: for reads, the offset near which records are shown.
    """
    own, ops, seconds = shard.operations, shard.ops, context.timeline.seconds
    kind = Type(int(ops.type[op]))
    row: dict[str, Any] = {
        "f": words_of(context.run).named[int(ops.f[op])],
        "type": kind.word,
        "process": int(own["process"][op]),
        "client": int(own["client"][op]),
        "pinned": bool(own["pinned"][op]),
        "key": shard.key,
        "node": node_name(context, int(ops.node[op])) if ops.node[op] >= 0 else None,
        "invoke_s": round(seconds(int(ops.invoke[op])), 6),
        "complete_s": round(seconds(int(ops.complete[op])), 6)
        if kind is not Type.INFO or ops.complete[op] < 1 << 62
        else None,
        "error": own["error"][op] or None,
    }
    if context.run.model == LOG_MODEL:
        return row | _told_of_log(shard, context, op, around)
    return row | {"what": model_named(context.run.model).line({name: own[name][op] for name in own})}


def _told_of_log(shard: QueueShard, context: Context, op: int, around: int | None) -> dict[str, Any]:
    """What an operation on a log has beside."""
    own, log, seconds = shard.operations, shard.log, context.timeline.seconds
    f = F(int(log.f[op]))
    row: dict[str, Any] = {}
    if f in SENDS:
        row |= {"value": f"{own['writer'][op]}:{own['sequence'][op]}", "offset": _known(int(log.offset[op]))}
        if f is F.SCHEDULE:
            row["deliver_s"] = round(seconds(int(log.argument[op])), 6)
        elif f is F.TRANSACT:
            row["decides"] = Decision(int(log.argument[op])).word
        return row
    if f is F.COMMIT:
        return row | {"offset": _known(int(log.offset[op]))}
    if f in HOLDS:
        row |= {"value": f"{own['writer'][op]}:{own['sequence'][op]}", "offset": _known(int(log.offset[op]))}
        return row | ({"invisible_s": int(own["argument"][op]) / NS_PER_S} if f is F.EXTEND else {})
    if f is F.POP:
        return row | {
            "invisible_s": int(own["argument"][op]) / NS_PER_S,
            "count": int(own["count"][op]),
            "records": _popped(shard, op)[:EXAMPLES],
        }
    if f is F.COMMITTED_READ:
        return row | {"committed": "none" if log.next[op] < 0 else int(log.next[op])}
    rows = log.rows_of(op)
    offsets = log.row_offset[rows]
    near = np.arange(len(offsets))
    if around is not None and len(offsets):
        near = np.sort(np.argsort(np.abs(offsets - around), kind="stable")[:5])
    row |= {
        "from": int(log.begin[op]),
        "next": _known(int(log.next[op])),
        "min": _known(int(log.min[op])),
        "max": _known(int(log.max[op])),
        "count": int(own["count"][op]),
        "records": [_record(log, rows.start + int(i)) for i in near[:EXAMPLES]],
    }
    return row


def _popped(shard: QueueShard, op: int) -> list[str]:
    """The messages that a pop returned: where each was given from, if the broker said it, and what it is."""
    own, reads = shard.operations, shard.reads
    rows = np.flatnonzero((reads["worker"] == own["worker"][op]) & (reads["op"] == own["op"][op]))
    return [
        f"{reads['offset'][row] if reads['offset'][row] >= 0 else ''}={reads['writer'][row]}:{reads['sequence'][row]}"
        if reads["writer"][row] >= 0
        else "=?"
        for row in rows
    ]


def _record(log: Log, row: int) -> str:
    vid = int(log.row_vid[row])
    return f"{log.row_offset[row]}={log.value(vid) if vid >= 0 else '?'}"


def _known(number: int) -> int | None:
    return None if number < 0 else number


def place_words(offset: int, key: int) -> str:
    """``at offset 5 of queue 0``; ``for queue 0`` where the acknowledgement named no offset."""
    return f"at offset {offset} of queue {key}" if offset >= 0 else f"for queue {key}"


def examples(made: Iterable[Example]) -> tuple[Example, ...]:
    """The first few of a lazily made sequence."""
    out: list[Example] = []
    for example in made:
        out.append(example)
        if len(out) == EXAMPLES:
            break
    return tuple(out)


def seconds_text(context: Context, at_ns: int, *, digits: int = 1) -> str:
    """A time as ``24.0 s``; ``24.976 s`` beside the beginning or end of a fault that would read alike."""
    at_s = context.timeline.seconds(at_ns)
    edges_s = (context.timeline.seconds(edge_ns) for edge_ns in context.timeline.edges_ns())
    text = f"{abs(at_s):.{max(digits, digits_beside(at_s, edges_s))}f} s"
    return f"{text} before the load" if at_s < 0 and text.strip("0. s") else text


def digits_beside(at_s: float, edges_s: Iterable[float]) -> int:
    """How many digits a time needs: three if another time reads like it with one and is a millisecond away or more."""
    alike = (f"{edge_s:.1f}" == f"{at_s:.1f}" and f"{edge_s:.3f}" != f"{at_s:.3f}" for edge_s in edges_s)
    return 3 if any(alike) else 1
