"""The rows of a piece of a history: operations with their times, and the records that its reads returned.

Times keep the promise of the offsets: whatever lies at a lower offset was asked for earlier, or beside it. A read
returns what was asked for before it began, so none misses anything. Does not write files.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.generate.outcomes import PIECE, Fates, Ints, draws, sites_of
from chaos.generate.plan import CYCLE, ORIGIN_NS, REORDERED, SENDS, SENT_BACK, SLOTS, TIMEOUT_NS, Plan
from chaos.models.log.model import LOG
from chaos.models.log.words import F
from chaos.storage.history import table_schemas
from chaos.testing.literal_operations import DRAIN_CLIENT, NODES

SCHEMAS: Final = table_schemas(LOG)
"""The columns of the tables, by the name of their folder."""

MASTER: Final = [node.name for node in NODES].index("b1")
SLAVE: Final = MASTER + 1
CLIENTS: Final = 8
"""Clients of a worker."""

FASTEST_NS: Final = 300_000
MEAN_NS: Final = 1_200_000
SLOWEST_NS: Final = 20_000_000
"""The longest an answer takes that comes at all."""

LATEST_NS: Final = 1_000_000
"""An operation leaves at most so long after it was due."""

ERRORS: Final = ("refused: too busy", "no answer within 3 s")
_REFUSED, _UNANSWERED = range(2)
_BEGINS: Final = {4: 0, 9: 4, 10: 4, 15: 8, 16: 8}
"""Where in the cycle a read is, and the send of the cycle from which on it reads."""

_READS: Final = len(_BEGINS)
_FIRST_POLL_AGAIN: Final = 1
_STRONG: Final = 2
_TIMES: Final = 1

Columns = dict[str, npt.NDArray[np.generic] | pa.Array]


def lanes(plan: Plan) -> int:
    """Processes of a queue: they take turns, and each has its answer before its next turn."""
    return max(3, -(-2 * SLOWEST_NS // plan.step_ns))


def sends_in(slots: int) -> int:
    """How many of the first operations of a queue's load are sends."""
    whole, rest = divmod(slots, SLOTS)
    return whole * SENDS + CYCLE[:rest].count(F.SEND)


def piece_slots(plan: Plan, key: int, piece: int) -> tuple[int, int]:
    """First slot of a piece and its number of slots; none behind the last piece."""
    begin = piece * PIECE * SLOTS
    return begin, max(0, min(PIECE * SLOTS, plan.slots_of(key) - begin))


class Piece:
    """Operations and read rows of a piece of one queue's load.

    Args:
        plan: what is wanted.
        key: the queue.
        piece: number of the piece in its queue.
        fates: what became of its sends.
    """

    def __init__(self, plan: Plan, key: int, piece: int, fates: Fates) -> None:
        self._plan, self._key, self._fates = plan, key, fates
        self._sites = [(cycle * SLOTS, cycle * _READS, name) for cycle, name in sites_of(plan, key, piece)]
        begin, count = piece_slots(plan, key, piece)
        place = np.arange(count) % SLOTS
        self._number = np.arange(begin, begin + count, dtype=np.int64)
        self._f = np.array(CYCLE, dtype=np.int8)[place]
        self._sends, self._reads = np.flatnonzero(self._f == F.SEND), np.flatnonzero(self._f != F.SEND)
        self._time(draws(plan, key, piece, _TIMES), count)
        starts = np.zeros(SLOTS, dtype=np.int64)
        starts[list(_BEGINS)] = list(_BEGINS.values())
        from_send = self._reads // SLOTS * SENDS + starts[place[self._reads]]
        gone = plan.unseen.get(key, 0)
        self._begin = np.maximum(fates.first + fates.before[from_send], gone)
        self._end = np.maximum(fates.first + fates.before[np.searchsorted(self._sends, self._reads)], gone)
        self._asked = self._begin.copy()
        for _, read, name in self._sites:
            self._end[read + _STRONG] -= name == "stale-tail"
            self._asked[read + _FIRST_POLL_AGAIN] += name == "nonmonotonic-poll"
        self._collect()

    def _time(self, rng: np.random.Generator, count: int) -> None:
        """When operations left and were answered, and by which process."""
        plan, key = self._plan, self._key
        own = plan.keys_of(key % plan.workers)
        place, share = own.index(key), plan.step_ns // len(own)
        self._due = ORIGIN_NS + place * share + self._number * plan.step_ns
        late = rng.random(count, dtype=np.float32) * min(share // 2, LATEST_NS)
        self._invoke = self._due + late.astype(np.int64)
        took = rng.standard_exponential(count, dtype=np.float32) * MEAN_NS
        self._complete = self._invoke + FASTEST_NS + np.minimum(took, SLOWEST_NS - FASTEST_NS).astype(np.int64)
        beside = self._sends[self._fates.swapped]  # the later was given the lower offset: both were under way
        self._complete[beside] = np.maximum(self._complete[beside], self._invoke[beside + 1] + 1_000)
        lane = self._number % lanes(plan)
        self._process = key * lanes(plan) + lane
        self._client = key % plan.workers * CLIENTS + lane % CLIENTS
        open_ops = self._sends[self._fates.type == Type.INFO]
        self._complete[open_ops] = self._due[open_ops] + TIMEOUT_NS
        behind = plan.keys * lanes(plan) + key * plan.slots_of(0)  # nobody else's numbers: they never return
        self._process[open_ops] = behind + self._number[open_ops]
        for slot, _, name in self._sites:
            if name in (REORDERED, SENT_BACK):
                self._answered_before_next(slot + 5)
            if name == SENT_BACK:
                self._process[slot + 6] = self._process[slot + 5]
            if name == "stale-tail":
                self._answered_before_next(slot + 8)

    def _answered_before_next(self, slot: int) -> None:
        self._complete[slot] = (self._invoke[slot] + self._invoke[slot + 1]) // 2

    def _collect(self) -> None:
        """The records of each read: ``_row_read`` (position among the reads), ``_row_offset`` and their values."""
        counts = self._end - self._begin
        starts = np.cumsum(counts) - counts
        rows = np.repeat(np.arange(len(counts)), counts)
        offset = np.arange(len(rows)) - np.repeat(starts - self._begin, counts)
        writer, sequence = (
            column[offset - self._fates.first] for column in (self._fates.record_writer, self._fates.record_sequence)
        )
        times = np.ones(len(rows), dtype=np.int8)
        for _, read, name in self._sites:
            row = int(starts[read + _FIRST_POLL_AGAIN])
            if name == "inconsistent-offsets":
                send = read // _READS * SENDS + 6
                writer[row + 2], sequence[row + 2] = self._fates.writer[send], self._fates.sequence[send]
            times[row] -= name == "poll-skip"
            times[row + 1] += (name == "int-nonmonotonic-poll") - (name == "int-poll-skip")
        if not (times == 1).all():
            rows, offset, writer, sequence = (np.repeat(column, times) for column in (rows, offset, writer, sequence))
        self._row_read, self._row_offset, self._row_writer, self._row_sequence = rows, offset, writer, sequence
        self._counts = np.bincount(rows, minlength=len(counts))

    def _op(self) -> Ints:
        """The numbers of the operations in their worker: its queues take turns."""
        own = self._plan.keys_of(self._key % self._plan.workers)
        return self._number * len(own) + own.index(self._key) + 1

    def operations(self) -> pa.Table:
        """The rows of ``operations``."""
        fates, count = self._fates, len(self._number)

        def spread(sends: npt.ArrayLike, reads: npt.ArrayLike) -> Ints:
            out = np.empty(count, dtype=np.int64)
            out[self._sends], out[self._reads] = sends, reads
            return out

        gone = self._plan.unseen.get(self._key, 0)
        self._f[self._sends] = fates.f
        refused, kind = fates.type == Type.FAIL, spread(fates.type, Type.OK)
        error = spread(np.where(refused, _REFUSED, _UNANSWERED), 0).astype(np.int32)
        node = np.where(self._f == F.SLAVE_READ, SLAVE, MASTER)
        node[kind == Type.INFO] = -1
        argument = np.where(self._f == F.SCHEDULE, self._invoke + NS_PER_S, 0)
        return _table(
            SCHEMAS["operations"],
            {
                "worker": np.full(count, self._key % self._plan.workers),
                "op": self._op(),
                "process": self._process,
                "client": self._client,
                "pinned": np.zeros(count, dtype=np.bool_),
                "f": self._f,
                "key": np.full(count, self._key),
                "writer": spread(fates.writer, -1),
                "sequence": spread(fates.sequence, -1),
                "offset": spread(fates.answered, self._asked),
                "next_offset": spread(-1, self._end),
                "min_offset": spread(-1, gone),
                "max_offset": spread(-1, self._end),
                "count": spread(0, self._counts),
                "type": kind,
                "scheduled_ns": self._due,
                "invoke_ns": self._invoke,
                "complete_ns": self._complete,
                "deadline_ns": self._due + TIMEOUT_NS,
                "node": node,
                "argument": argument,
                "error": _errors(error, kind == Type.OK),
            },
        )

    def reads(self) -> pa.Table:
        """The rows of ``reads``."""
        slot, count = self._reads[self._row_read], len(self._row_read)
        starts = np.cumsum(self._counts) - self._counts
        return _table(
            SCHEMAS["reads"],
            {
                "worker": np.full(count, self._key % self._plan.workers),
                "op": self._op()[slot],
                "process": self._process[slot],
                "f": self._f[slot],
                "key": np.full(count, self._key),
                "position": np.arange(count) - starts[self._row_read],
                "offset": self._row_offset,
                "writer": self._row_writer,
                "sequence": self._row_sequence,
                "attempt": np.zeros(count, dtype=np.int16),
                "invoke_ns": self._invoke[slot],
                "complete_ns": self._complete[slot],
                "node": np.where(self._f[slot] == F.SLAVE_READ, SLAVE, MASTER),
            },
        )


def _errors(code: npt.NDArray[np.int32], none: npt.NDArray[np.bool_]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(code, mask=none), pa.array(ERRORS))


def _table(schema: pa.Schema, columns: Columns) -> pa.Table:
    """Columns with the types of a schema."""
    typed = {
        field.name: column
        if isinstance(column := columns[field.name], pa.Array)
        else column.astype(str(field.type), copy=False)
        for field in schema
    }
    return pa.table(typed, schema=schema)


class FinalRead:
    """One pass over a whole queue.

    Args:
        plan: what is wanted.
        key: the queue.
        number: which pass, from 0.
        end: the offset behind the queue's last record.
    """

    def __init__(self, plan: Plan, key: int, number: int, end: int) -> None:
        self._key, self._worker, self._end = key, key % plan.workers, end
        self._gone = plan.unseen.get(key, 0)
        own = plan.keys_of(self._worker)
        self._op = plan.slots_of_worker(self._worker) + number * len(own) + own.index(key) + 1
        self._process = plan.keys * (lanes(plan) + plan.slots_of(0)) + number * plan.keys + key
        self._invoke = plan.pass_at(number, own.index(key))
        self._complete = self._invoke + plan.pass_ns

    def operation(self) -> pa.Table:
        """Its row of ``operations``."""
        return _table(
            SCHEMAS["operations"],
            {
                name: np.array([value])
                for name, value in {
                    "worker": self._worker,
                    "op": self._op,
                    "process": self._process,
                    "client": DRAIN_CLIENT,
                    "pinned": False,
                    "f": F.DRAIN,
                    "key": self._key,
                    "writer": -1,
                    "sequence": -1,
                    "offset": -1,
                    "next_offset": self._end,
                    "min_offset": self._gone,
                    "max_offset": self._end,
                    "count": self._end - self._gone,
                    "type": Type.OK,
                    "scheduled_ns": self._invoke,
                    "invoke_ns": self._invoke,
                    "complete_ns": self._complete,
                    "deadline_ns": self._complete + 60 * NS_PER_S,
                    "node": MASTER,
                    "argument": 0,
                }.items()
            }
            | {"error": _errors(np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.bool_))},
        )

    def reads(self, fates: Fates) -> pa.Table:
        """Its rows of ``reads`` for the records of one piece."""
        skip = max(0, self._gone - fates.first)
        writer, sequence = fates.record_writer[skip:], fates.record_sequence[skip:]
        count = len(writer)
        offset = np.arange(fates.first + skip, fates.first + skip + count, dtype=np.int64)
        constant = {
            "worker": self._worker,
            "op": self._op,
            "process": self._process,
            "f": F.DRAIN,
            "key": self._key,
            "attempt": 0,
            "invoke_ns": self._invoke,
            "complete_ns": self._complete,
            "node": MASTER,
        }
        return _table(
            SCHEMAS["reads"],
            {
                **{name: np.full(count, value) for name, value in constant.items()},
                "position": offset - self._gone,
                "offset": offset,
                "writer": writer,
                "sequence": sequence,
            },
        )
