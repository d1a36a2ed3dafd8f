"""One log after the other: what a task does with a shard, and how the answers add up.

``first_look`` tells which transactions of unknown outcome are proven by what was polled of this log; the union over all
logs goes into ``examine``, whose summaries ``merge``. Summaries hold counts, a few cases, and edges only where cycles
are to be looked for. Does not decide validity.
"""

from dataclasses import dataclass, field

import numpy as np

from chaos.core.op import Type
from chaos.formats.kafka_columns import KafkaF, Mop
from checkers.history.columns import Ints
from checkers.kafka import content, graph, order, realtime
from checkers.kafka.case_counts import Case, Cases
from checkers.kafka.log import Log, Values
from checkers.kafka.row_stretches import Stretches
from checkers.kafka.rows import Records, Shard


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is looked for.

    Attributes:
        ww_deps: edges between sends of neighbouring offsets.
        edges: edges at all; without them only reads from the future are noticed.
        keep: cases written out per anomaly, None for all.
    """

    ww_deps: bool = False
    edges: bool = True
    keep: int | None = None


@dataclass(slots=True)
class Summary:
    """What some logs showed.

    ``own``: records that polled what they sent, by record: the row of their first send to the log, and the case.
    ``messages``: sends and polled messages that were looked at. ``future``: an ok poll ended before its send began.
    """

    cases: Cases
    messages: int = 0
    own: dict[int, tuple[int, Case]] = field(default_factory=dict)
    ww: list[graph.Edges] = field(default_factory=list)
    wr: list[graph.Edges] = field(default_factory=list)
    linked: bool = False
    future: bool = False


def first_look(shard: Shard) -> Ints:
    """The info sends (rows of records) of which an ok poll returned a value of this log, ascending."""
    return Values(shard).proven(shard)


def empty_polls(records: Records) -> Ints:
    """The ok records that polled and returned no message of any log, ascending."""
    op, kind = records.stretches.op, records.stretches.kind
    silent = np.flatnonzero((kind == Mop.NOTHING) | (kind == Mop.EMPTY))
    silent = silent[(records.polls & (records.type == Type.OK))[op[silent]]]
    full = np.zeros(len(records), dtype=bool)
    full[op[np.flatnonzero(kind == Mop.POLLED)]] = True  # a mask would be read number by number
    return heads(op[silent[~full[op[silent]]]])


def has_mixed_records(records: Records) -> bool:
    """Whether some record both sent and polled messages."""
    if not bool((records.f == KafkaF.TXN).any()):
        return False
    return bool((records.sends | records.polls)[mixed_records(records.stretches)].any())


def mixed_records(stretches: Stretches) -> Ints:
    """The records, completions or not, that name messages sent and messages polled, ascending."""
    sent, polled = (heads(stretches.op[stretches.kind == kind]) for kind in (Mop.SEND, Mop.POLLED))
    return np.intersect1d(sent, polled, assume_unique=True)


def heads(op: Ints) -> Ints:
    """Each of ascending numbers once."""
    once: Ints = op[np.concatenate(([True], op[1:] != op[:-1]))[: len(op)]]
    return once


def examine(shard: Shard, proven: Ints, silent: Ints, options: Options, values: Values | None = None) -> Summary:
    """Look at one log.

    Args:
        shard: the log.
        proven: the union of ``first_look`` over all logs.
        silent: what ``empty_polls`` gave for the history.
        options: what is looked for.
        values: what ``first_look`` worked out, if it is still there.
    """
    log = Log(shard, values or Values(shard), proven)
    cases = Cases(options.keep)
    for look in (
        content.find_inconsistent_offsets,
        content.find_aborted_reads,
        content.phantom,
        content.find_lost,
        content.find_unseen,
    ):
        look(log, cases)
    order.polls(log, cases)
    order.sends(log, cases)
    seen = realtime.nonlinearizable(log, cases)
    realtime.find_stale_polls(log, seen, silent, cases)
    out = Summary(cases, messages=len(shard.sends.op) + len(shard.polls))
    out.own = {op: (row, case) for op, row, case in content.precommitted_reads(log)}
    if options.edges:
        wr, ww = graph.polled_after_sent(log), graph.sent_before(log) if options.ww_deps else graph.no_edges()
        out.wr, out.ww, out.linked = [wr], [ww], bool(len(wr) + len(ww))
    else:
        out.linked = bool((log.writer[log.values.shown] >= 0).any())
        out.future = graph.from_the_future(log, seen)
    return out


def merge(left: Summary, right: Summary) -> Summary:
    """Add what two shards showed."""
    out = Summary(left.cases.merge(right.cases), messages=left.messages + right.messages, own=dict(left.own))
    for op, (row, case) in right.own.items():
        if op not in out.own or row < out.own[op][0]:
            out.own[op] = (row, case)
    out.ww, out.wr = [*left.ww, *right.ww], [*left.wr, *right.wr]
    out.linked, out.future = left.linked or right.linked, left.future or right.future
    return out
