"""No value at two offsets (SEMANTICS 5). Reading an offset twice is none of this module's business."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import Example
from chaos.models.log.words import F
from checkers.anomalies.attribution import actor_of, time_of
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    Finding,
    Findings,
    count_of,
    describe_operation,
    examples,
    findings,
    ranges_of,
)
from checkers.anomalies.findings_check import FindingsCheck
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, Mask
from checkers.history.log import Log

IDEMPOTENT: Final = "idempotent"
"""The workload whose sends are tried again, under one producer and sequence, until they are answered."""

ATTEMPT_NS: Final = 700_000_000
"""A send of it that took longer was tried at least twice (``chaos.workload.logs.idempotent_sends``)."""


def _place(shard: QueueShard, context: Context, offset: int, op: int, send: int, guilty: int) -> str:
    """One of the places and what shows it; the guilty answer with the fault."""
    who = actor_of(shard, context, op, leads=op == send)
    verb = "acknowledged" if op == send else "read"
    return (
        f"offset {offset} ({verb} at {time_of(shard, context, op)} {'by' if op == send else 'from'} "
        f"{who.words if op == guilty else who.plain})"
    )


def _sent_again(shard: QueueShard, context: Context, send: int, times: int) -> str:
    """Why a message may be there several times: an idempotent send that was tried again; empty of other sends.

    The history has one operation for all tries, so how many there were is not told.
    """
    log = shard.log
    took_ns = int(log.complete[send]) - int(log.invoke[send])
    if context.run.workload != IDEMPOTENT or took_ns <= ATTEMPT_NS:
        return ""
    took = f"for {took_ns / NS_PER_S:.1f} s" if log.type[send] == Type.OK else "until its deadline"
    return (
        f": its client tried again {took}, always under the same producer and sequence, and it was stored"
        f" {count_of(times, 'time')}, where a broker stores such a message once"
    )


def _put_again(log: Log, context: Context, vids: Ints) -> Mask:
    """Which values were sent in a way whose messages the system may put into the log again (SEMANTICS 13)."""
    kinds = [int(f) for f in F if f.word in context.run.promises.twice]
    again = np.zeros(log.values, dtype=np.bool_)
    again[: len(log.sends)] = np.isin(log.f[log.sends], kinds)
    return np.asarray(again[vids])


class DuplicatesKernel(FindingsCheck):
    """One value at several offsets of its queue."""

    name = "duplicates"
    help = "no value sits at two offsets"
    anomalies = kinds_named("duplicate")
    noun = "value"
    clean = "each sits at one offset"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        offsets, vids = log.pairs
        doubled = np.flatnonzero(np.bincount(vids, minlength=log.values) > 1) if len(vids) else vids

        excused = _put_again(log, context, doubled)

        def told_of() -> Iterator[Example]:
            for i in np.argsort(excused, kind="stable").tolist():
                vid = int(doubled[i])
                at = offsets[vids == vid]
                rows = np.flatnonzero(log.row_vid == vid)
                shows = {int(log.row_offset[row]): int(log.row_op[row]) for row in rows[::-1]}
                ops = [describe_operation(shard, context, int(log.sends[vid]))] if vid < len(log.sends) else []
                ops += [
                    describe_operation(shard, context, op, around=offset) for offset, op in sorted(shows.items())[:3]
                ]
                send = int(log.sends[vid]) if vid < len(log.sends) else -1
                acked = send >= 0 and bool(log.acked_at_offset[vid])
                if acked:
                    shows[int(log.offset[send])] = send
                # Who acknowledged it is behind it where somebody did; else who showed the last of the places.
                guilty = send if acked else shows[int(at[-1])]
                who = actor_of(shard, context, guilty, leads=acked)
                places = [_place(shard, context, int(offset), shows[int(offset)], send, guilty) for offset in at]
                yield who.example(
                    f"{log.value(vid)} sits at {join_names(places)} of queue {shard.key}"
                    f"{_sent_again(shard, context, int(log.sends[vid]), len(at)) if vid < len(log.sends) else ''}",
                    key=shard.key,
                    offset=int(at[0]),
                    last_offset=int(at[-1]),
                    value=log.value(vid),
                    ops=tuple(ops),
                    excused=bool(excused[i]) and bool(context.run.promises.twice),
                )

        touched = offsets[np.isin(vids, doubled)]
        return findings(
            log.values,
            duplicate=Finding(
                count=len(doubled),
                examples=examples(told_of()),
                ranges=ranges_of(shard.key, touched),
                excused=int(excused.sum()) if context.run.promises.twice else None,
            ),
        )
