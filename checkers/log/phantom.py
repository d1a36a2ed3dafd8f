"""Nothing is read that nobody tried to send (SEMANTICS 3, 5).

A value beyond the end of a record that was cut off is an info send that the recorder lost, not a phantom. Damaged
bodies are ``corrupt``. Does not guess where a value came from.
"""

from collections.abc import Iterator

import numpy as np

from chaos.core.verdict import Example
from chaos.storage.history import StreamFacts
from checkers.anomalies.attribution import actor_of, message_at, time_of
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import Finding, Findings, describe_operation, examples, findings, ranges_of
from checkers.anomalies.findings_check import FindingsCheck
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, Mask


def perhaps_sent(values: Ints, streams: tuple[StreamFacts, ...]) -> Mask:
    """Which (writer, sequence) rows may be sends whose record was cut off (SEMANTICS 3)."""
    cut = [stream for stream in streams if not stream.ended]
    known = {writer for stream in streams for writer in stream.last_sequence}
    out = np.zeros(len(values), dtype=np.bool_)
    if not cut:
        return out
    out |= ~np.isin(values[:, 0], list(known))
    for stream in cut:
        for writer, last in stream.last_sequence.items():
            out |= (values[:, 0] == writer) & (values[:, 1] > last)
    return out


def _beside(shard: QueueShard, context: Context, vid: int, offset: int) -> str:
    """What is known beside a value that nobody sent: how far its writer counted, and what stands before it."""
    log = shard.log
    writer, sequence = (int(part) for part in log.value(vid).split(":"))
    known = [stream.last_sequence[writer] for stream in context.streams if writer in stream.last_sequence]
    last = max(known, default=-1)
    said = [f"the last message of writer {writer} is {writer}:{last}"] if 0 <= last < sequence else []
    before = message_at(shard, context, offset - 1)
    said += [f"before it stands {before.words}"] if before.value is not None else []
    return "".join(f"; {one}" for one in said)


class PhantomKernel(FindingsCheck):
    """Values that nobody sent to this queue, and bodies that are not ours."""

    name = "phantom"
    help = "every record read is a value that somebody tried to send to that queue"
    anomalies = kinds_named("phantom", "corrupt")
    noun = "record"
    clean = "every record read had been sent"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        strange = np.flatnonzero(~perhaps_sent(log.phantoms, context.streams)) + len(log.sends)
        damaged_rows = np.flatnonzero(log.row_vid < 0)
        damaged, first_row = np.unique(log.row_offset[damaged_rows], return_index=True)

        def phantoms() -> Iterator[Example]:
            for vid in map(int, strange):
                row = int(np.flatnonzero(log.row_vid == vid)[0])
                offset, op = int(log.row_offset[row]), int(log.row_op[row])
                who = actor_of(shard, context, op)
                yield who.example(
                    f"at {time_of(shard, context, op)} {who.subject} returned {log.value(vid)} at offset {offset} of "
                    f"queue {shard.key}, which no client had tried to send there{_beside(shard, context, vid, offset)}",
                    key=shard.key,
                    offset=offset,
                    value=log.value(vid),
                    ops=(describe_operation(shard, context, op, around=offset),),
                )

        def corrupt() -> Iterator[Example]:
            for offset, row in zip(map(int, damaged), damaged_rows[first_row], strict=True):
                op = int(log.row_op[row])
                who = actor_of(shard, context, op)
                was = message_at(shard, context, offset)
                instead = f", in the place of {was.value}{', ' + was.by if was.by else ''}" if was.value else ""
                yield who.example(
                    f"at {time_of(shard, context, op)} {who.subject} returned a record at offset {offset} of queue "
                    f"{shard.key} that is damaged or not one of ours{instead}",
                    key=shard.key,
                    offset=offset,
                    value=was.value,
                    ops=(describe_operation(shard, context, op, around=offset),),
                )

        places = log.row_offset[np.isin(log.row_vid, strange)] if len(strange) else strange
        return findings(
            len(log.row_vid),
            phantom=Finding(count=len(strange), examples=examples(phantoms()), ranges=ranges_of(shard.key, places)),
            corrupt=Finding(count=len(damaged), examples=examples(corrupt()), ranges=ranges_of(shard.key, damaged)),
        )
