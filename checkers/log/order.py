"""Order inside reads and along processes; records that a read passes over (SEMANTICS 8).

The names are those of the reference checker for Kafka histories. What a read returned is judged whatever became of the
read; what it passed over only if it was ok. The module does not compare operations of different processes:
``checkers.log.linearizable`` does.
"""

from collections.abc import Callable, Iterator

import numpy as np

from chaos.core.verdict import Example
from chaos.models.log.words import STRONG_READS, F
from checkers.anomalies.attribution import READ_WORDS, actor_of, message_at, time_of
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    Finding,
    Findings,
    describe_operation,
    examples,
    findings,
    node_name,
    ranges_of,
    spread_of,
)
from checkers.anomalies.findings_check import FindingsCheck
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, stable_order
from checkers.history.log import Log

Say = Callable[[int, str], str]


def _sends_going_back(log: Log, process: Ints) -> tuple[Ints, Ints]:
    """Ok sends whose offset is not above that of their process' previous one, and that previous one."""
    ops = log.sends[log.acked_at_offset]
    ops = ops[stable_order(process[ops])]  # each process' own in order of invocation, as all are
    bad = (process[ops][1:] == process[ops][:-1]) & (log.offset[ops][1:] <= log.offset[ops][:-1])
    return ops[1:][bad], ops[:-1][bad]


def _first_known(log: Log, after: Ints, before: Ints) -> Ints:
    """The first offset with a known value strictly between two, -1 if there is none."""
    known = log.known_offsets
    at = np.searchsorted(known, after, side="right")
    inside = at < len(known)
    found = np.where(inside, known[np.minimum(at, max(0, len(known) - 1))] if len(known) else -1, -1)
    return np.where(inside & (found < before), found, -1)


def _inner(log: Log) -> tuple[Ints, Ints, Ints, Ints]:
    """Rows that go back, their reads; rows behind a passed record, and that record."""
    offset, op = log.row_offset, log.row_op
    same, step = op[1:] == op[:-1], np.diff(offset)
    back = np.flatnonzero(same & (step <= 0)) + 1
    wide = np.flatnonzero(same & log.row_ok[1:] & (step > 1)) + 1
    passed = _first_known(log, offset[wide - 1], offset[wide])
    gone = np.maximum(log.min[op[wide]], 0)
    skip = (passed >= 0) & (passed >= gone)
    return offset[back], op[back], passed[skip], op[wide[skip]]


def _edges(log: Log) -> tuple[Ints, Ints, Ints, Ints]:
    """Reads that returned a record below their beginning; reads that passed a record at either end."""
    given = log.read_ops[log.row_count[log.read_ops] > 0]
    below = given[log.lowest_record[given] < log.begin[given]]
    reads = log.ok_reads
    some = reads[log.row_count[reads] > 0]
    first = log.row_offset[log.row_start[some]]
    head = _first_known(log, log.covered_from[some] - 1, first)
    tail = _first_known(log, np.maximum(log.last_record, log.covered_from - 1)[reads], log.end[reads])
    passed = np.concatenate((head[head >= 0], tail[tail >= 0]))
    ops = np.concatenate((some[head >= 0], reads[tail >= 0]))
    return log.lowest_record[below], below, passed, ops


class OrderKernel(FindingsCheck):
    """Offsets that go back, and known records that a read passes."""

    name = "order"
    help = "offsets ascend within a read and along a process' sends, no read passes a known record"
    anomalies = kinds_named(
        "nonmonotonic-send", "int-nonmonotonic-poll", "nonmonotonic-poll", "int-poll-skip", "poll-skip"
    )
    noun = "operation"
    counted = "sends and ok reads"
    clean = "offsets ascend, nothing is passed over"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        sends, previous = _sends_going_back(log, shard.operations["process"])
        back_at, back_ops, passed_at, passed_ops = _inner(log)
        below_at, below_ops, edge_at, edge_ops = _edges(log)

        def send_back() -> Iterator[Example]:
            for op, before in zip(map(int, sends), map(int, previous), strict=True):
                value, earlier = log.sent(op), log.sent(before)
                who, other = actor_of(shard, context, op, leads=True), node_name(context, int(log.node[before]))
                yield who.example(
                    f"at {time_of(shard, context, op)} {who.subject} gave {value} offset {log.offset[op]} of queue "
                    f"{shard.key}, not above offset {log.offset[before]} that {other} had given {earlier}, the "
                    f"previous send of process {shard.operations['process'][op]}, at {time_of(shard, context, before)}",
                    key=shard.key,
                    offset=int(log.offset[op]),
                    value=value,
                    ops=(describe_operation(shard, context, op), describe_operation(shard, context, before)),
                )

        def of_reads(places: Ints, ops: Ints, say: Say) -> Finding:
            """One finding of reads: counted by operation, shown once each."""
            single, first = np.unique(ops, return_index=True)

            def told_of() -> Iterator[Example]:
                for op, place in zip(map(int, single), map(int, places[first]), strict=True):
                    who = actor_of(shard, context, op, leads=int(log.f[op]) in STRONG_READS)
                    message = message_at(shard, context, place)
                    read, process = READ_WORDS[F(int(log.f[op]))], shard.operations["process"][op]
                    yield who.example(
                        f"at {time_of(shard, context, op)} {who.subject} answered a {read} of queue {shard.key} by "
                        f"process {process} from offset {log.begin[op]} that {say(op, message.words)}",
                        key=shard.key,
                        offset=place,
                        value=message.value,
                        ops=(describe_operation(shard, context, op, around=place),),
                    )

            return Finding(
                count=len(single),
                examples=examples(told_of()),
                ranges=ranges_of(shard.key, places),
                spread=spread_of(shard, context, single),
            )

        return findings(
            len(log.sends) + len(log.ok_reads),
            nonmonotonic_send=Finding(
                count=len(sends),
                examples=examples(send_back()),
                ranges=ranges_of(shard.key, log.offset[sends]),
                spread=spread_of(shard, context, sends),
            ),
            int_nonmonotonic_poll=of_reads(back_at, back_ops, lambda _, message: f"went back to {message}"),
            nonmonotonic_poll=of_reads(below_at, below_ops, lambda _, message: f"returned what is below, {message}"),
            int_poll_skip=of_reads(passed_at, passed_ops, lambda _, message: f"passed over {message}"),
            poll_skip=of_reads(
                edge_at, edge_ops, lambda op, message: f"covered all up to offset {log.end[op]} and left out {message}"
            ),
        )
