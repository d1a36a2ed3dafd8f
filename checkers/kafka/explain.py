"""What a case means, in the words of a broker engineer.

One sentence a case; for cycles the edges with their reasons.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from chaos.basics.name_lists import join_names
from chaos.formats.kafka_columns import KafkaColumns, Mop
from checkers.kafka.case_counts import Case
from checkers.kafka.cycle_search import Graph, Part, Step
from checkers.kafka.paths import cycle
from checkers.kafka.rows import Records

Body = tuple[Any, ...]
_NAMED: Final = 8


def _list(values: Any) -> str:
    shown = [str(value) for value in values[:_NAMED]]
    if len(values) > _NAMED:
        shown.append(f"{len(values) - _NAMED} more")
    return join_names(shown)


def _messages(values: Any) -> str:
    return f"message{'s' if len(values) > 1 else ''} {_list(values)}"


def _duplicate(b: Body) -> str:
    return f"Log {b[0]} holds message {b[1]} {b[2]} times, at offsets {_list(b[3])}."


def _inconsistent(b: Body) -> str:
    return f"Log {b[0]} holds {len(b[3])} messages at offset {b[1]}: {_list(b[3])}; an offset was given twice."


def _lost(b: Body) -> str:
    return (
        f"Message {b[1]} was written to log {b[0]} as number {b[2]}; consumers read up to number {b[3]}, "
        "and none of them ever got it."
    )


def _unseen(b: Body) -> str:
    return f"Message {b[1]} was acknowledged in log {b[0]}, and no consumer had got it when the history ended."


def _aborted(b: Body) -> str:
    return f"Record {b[3]} polled message {b[1]} of log {b[0]}, whose send had failed (record {b[2]})."


def _precommitted(b: Body) -> str:
    return f"The transaction of record {b[2]} polled message {b[1]} of log {b[0]}, which it was itself sending."


def _poll_gap(b: Body) -> str:
    return f"Record {b[4]} polled {b[1][0]} and then {b[1][1]} of log {b[0]}: it passed over {_messages(b[3])}."


def _poll_back(b: Body) -> str:
    if b[1][0] == b[1][1]:
        return f"Record {b[3]} polled message {b[1][0]} of log {b[0]} twice in a row."
    return f"Record {b[3]} polled {b[1][0]} of log {b[0]} and then {b[1][1]}, which stands before it."


def _send_gap(b: Body) -> str:
    return f"Record {b[4]} sent {b[1][0]} and then {b[1][1]} to log {b[0]}: between them stands {_messages(b[3])}."


def _send_back(b: Body) -> str:
    return f"Record {b[3]} sent {b[1][0]} and then {b[1][1]} to log {b[0]}, where this does not stand behind that."


def _skip(b: Body) -> str:
    missed = _messages(b[3])
    return f"A consumer of log {b[0]} left off in record {b[2][0]}, read on in record {b[2][1]} and missed {missed}."


def _again(b: Body) -> str:
    if b[1][0] == b[1][1]:
        return f"A consumer of log {b[0]} got message {b[1][0]} last in record {b[3][0]} and again in record {b[3][1]}."
    return (
        f"A consumer of log {b[0]} got {b[1][0]} last in record {b[3][0]} and {b[1][1]}, which stands before it, "
        f"first in record {b[3][1]}."
    )


def _sent_back(b: Body) -> str:
    return (
        f"A producer sent {b[1][0]} to log {b[0]} in record {b[3][0]} and later {b[1][1]} in record {b[3][1]}, "
        "which does not stand behind it."
    )


def _late(b: Body) -> str:
    (low, value), (high, other) = b[1], b[2]
    return (
        f"Message {value} was given offset {low} of log {b[0]} (record {b[3][1]}) though its send began after message "
        f"{other} at offset {high} was known to be there (record {b[3][0]})."
    )


def _stale(b: Body) -> str:
    return (
        f"Record {b[3][1]} polled log {b[0]} and got nothing, though message {b[2]} at offset {b[1]} lay ahead of it "
        f"or a later one did, as record {b[3][0]} had shown before."
    )


def _phantom(b: Body) -> str:
    return f"Record {b[2]} polled message {b[1]} of log {b[0]}, which nobody tried to send."


_SENTENCES: Final[dict[str, Callable[[Body], str]]] = {
    "duplicate": _duplicate,
    "inconsistent-offsets": _inconsistent,
    "lost-write": _lost,
    "unseen": _unseen,
    "G1a": _aborted,
    "precommitted-read": _precommitted,
    "int-poll-skip": _poll_gap,
    "int-nonmonotonic-poll": _poll_back,
    "int-send-skip": _send_gap,
    "int-nonmonotonic-send": _send_back,
    "poll-skip": _skip,
    "nonmonotonic-poll": _again,
    "nonmonotonic-send": _sent_back,
    "nonlinearizable-offset": _late,
    "stale-tail": _stale,
    "phantom": _phantom,
}
_RULED_OUT: Final = {
    "PL-1-cycle-exists": "Some transactions' sends are ordered in a circle, so not even read uncommitted holds.",
    "PL-2-cycle-exists": "Some transactions' sends and polls are ordered in a circle, so read committed does not hold.",
    "strong-PL-1-cycle-exists": "Some transactions' sends contradict real time: strong read uncommitted does not hold.",
    "strong-PL-2-cycle-exists": "Some transactions' polls contradict real time: strong read committed does not hold.",
    "empty-transaction-graph": "No record depends on any other: the history is too empty to say anything of its order.",
}


def sentence(name: str, case: Case | None = None) -> str:
    """One occurrence in one sentence, of a circle with its edges. ``case``: None where the budget found none."""
    if name in _SENTENCES and case is not None:
        return _SENTENCES[name](case.body)
    ruled_out = _RULED_OUT.get(name, "Records depend on each other in a circle.")
    if case is None or not case.body:
        return ruled_out
    edges = "; ".join(case.body)
    return f"{ruled_out.removesuffix('.')}: {edges}." if name in _RULED_OUT else f"{edges}: a circle."


def _values(columns: KafkaColumns, row: int, kind: Mop, key: int) -> list[object]:
    """What a record sent to a log, or polled from it, in its order."""
    mops = columns.mops
    part = slice(*np.searchsorted(mops.op, [row, row + 1]).tolist())
    mine = (mops.kind[part] == kind) & (mops.key[part] == key)
    return [columns.value_of(value) for value in mops.value[part][mine].tolist()]


def reason(records: Records, step: Step) -> str:
    """Why one record of a cycle comes before the next."""
    columns = records.columns
    a, b = int(records.index[step.source]), int(records.index[step.target])
    if step.why == "realtime":
        if records.process[step.source] == records.process[step.target]:
            return f"process {int(records.process[step.source])} ended record {a} before it began record {b}"
        return f"record {a} ended before record {b} began"
    log = columns.keys[step.key]
    sent = _values(columns, step.source, Mop.SEND, step.key)
    if step.why == "wr":
        got = set(_values(columns, step.target, Mop.POLLED, step.key))
        return f"record {a} sent {_list([one for one in sent if one in got])} to log {log}, which record {b} polled"
    after = _values(columns, step.target, Mop.SEND, step.key)
    return f"record {a} sent {_list(sent)} to log {log} just before record {b} sent {_list(after)}"


def kind(records: Records, step: Step) -> str:
    """The kind of an edge: ww, wr, process or realtime."""
    if step.why != "realtime":
        return step.why
    return "process" if records.process[step.source] == records.process[step.target] else "realtime"


def cycles(graph: Graph, parts: tuple[Part, ...], limit: int) -> dict[str, list[Case]]:
    """The cycles of parts as cases: reasons as bodies, records in the cycle's order; at most ``limit`` of each kind.

    The level that a cycle rules out stands behind its kind, and the same cycle shows it.
    """
    out: dict[str, list[Case]] = {}
    for part in parts:
        for name, level in zip(part.kinds[::2], part.kinds[1::2], strict=True):
            if len(out.get(name, ())) >= limit:
                continue
            renamed = part.circle and level == "strong-PL-1-cycle-exists"
            steps = list(part.circle) if renamed else cycle(graph, part, name)
            if steps:
                ops = tuple(int(graph.records.index[step.source]) for step in steps)
                reasons = tuple(reason(graph.records, step) for step in steps)
                case = Case(reasons, ops, kinds=tuple(kind(graph.records, step) for step in steps))
                out.setdefault(name, []).append(case)
                out.setdefault(level, []).append(case)
    return out
