"""The operations of some cycles of one object as columns of the table ``operations``.

Columns have a row a cycle and a column a slot. Operations take effect in the order of their slots, shortly after each
was asked, however long the answer takes; so answers that are late overlap with what follows and change nothing.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type, Word
from chaos.generate.objects.plan import LAST_NS, Plan
from chaos.generate.outcomes import Ints, Mask
from chaos.generate.plan import TIMEOUT_NS
from chaos.models.objects.answers import TOLD, UNTOLD
from chaos.testing.literal_operations import NODES

NODE: Final = [node.name for node in NODES].index("b1")
UNANSWERED: Final = 0.01
REFUSED: Final = 0.01
"""Shares of the slots that may end so."""
LANDED: Final = 0.5
"""This share of what is not answered took effect."""
LATE: Final = 0.2
"""This share of answers is late."""
LATEST_NS: Final = 2 * NS_PER_S
NO_ANSWER: Final = "no answer within 3 s"
NO_REASON: Final = "refused"


class Slot(NamedTuple):
    """An operation of a cycle: what is asked by which client, whether it may get no answer, whether it may fail."""

    f: Word
    client: int
    unanswered: bool = False
    refused: bool = False


class Rows:
    """Some cycles of one object.

    ``cycle``: the number of each, as a column. ``type``, ``client``, ``invoke``, ``complete``, ``reason`` (a place in
    ``reasons``; -1: none) and ``answer`` are of each operation. ``done``: whether it took effect. ``quiet``: cycles in
    which an anomaly is planted and nothing else happens. ``values``: the model's columns.

    Args:
        plan: what is wanted.
        key: the object.
        cycles: which cycles; none: these are its last operations.
        slots: the operations of a cycle.
        reasons: why operations fail, the first of all others.
        clients: how many an object has.
    """

    def __init__(
        self,
        plan: Plan,
        key: int,
        cycles: range | None,
        slots: tuple[Slot, ...],
        reasons: tuple[str, ...],
        clients: int,
    ) -> None:
        self._plan, self._key, self._clients = plan, key, clients
        self._reasons = (NO_ANSWER, *reasons)
        own = range(1) if cycles is None else cycles
        self.shape = shape = len(own), len(slots)
        self.rng = draws_of(plan, key, own.start if cycles is not None else plan.cycles)
        self.cycle: Ints = np.arange(own.start, own.stop, dtype=np.int64)[:, None]
        self._f = np.tile(np.array([int(one.f) for one in slots], dtype=np.int8), (len(own), 1))
        self.client: Ints = np.tile(np.array([one.client for one in slots], dtype=np.int64), (len(own), 1))
        self.type: npt.NDArray[np.int8] = np.full(shape, Type.OK, dtype=np.int8)
        self.reason: Ints = np.full(shape, -1, dtype=np.int64)
        self.answer: npt.NDArray[np.int8] = np.full(shape, UNTOLD, dtype=np.int8)
        self.done: Mask = np.ones(shape, dtype=np.bool_)
        self.values: dict[str, Ints] = {}
        sites = () if cycles is None else plan.sites.get(key, ())
        self.sites = [(cycle - own.start, name) for cycle, name in sites if cycle in own]
        self.quiet: Mask = np.zeros((len(own), 1), dtype=np.bool_)
        self.quiet[[at for at, _ in self.sites]] = True
        step_ns = LAST_NS if cycles is None else plan.step_ns
        begin_ns = plan.last_ns(key) if cycles is None else plan.begin_ns(key)
        self._number: Ints = self.cycle * len(slots) + np.arange(len(slots))
        self.invoke: Ints = begin_ns + self._number * step_ns
        self._draw_ends(slots, step_ns)
        self._op = self._last_ops() if cycles is None else self._load_ops()

    def _draw_ends(self, slots: tuple[Slot, ...], step_ns: int) -> None:
        """How each operation ended, and when."""
        chance, late = (self.rng.random(self.shape, dtype=np.float32) for _ in range(2))
        long, coin = self.rng.random(self.shape, dtype=np.float32), self.rng.random(self.shape) < LANDED
        may_hang, may_fail = (np.array([getattr(one, name) for one in slots]) for name in ("unanswered", "refused"))
        hangs = may_hang & (chance < UNANSWERED) & ~self.quiet
        fails = may_fail & (chance >= 1 - REFUSED) & ~self.quiet
        self.type[hangs], self.type[fails] = Type.INFO, Type.FAIL
        self.done = ~fails & (~hangs | coin)
        self.reason[hangs], self.reason[fails] = 0, 1
        steps = np.where((late < LATE) & ~self.quiet, _room(slots) - 1, 0) * long + 0.2 + 0.7 * long
        self.complete: Ints = self.invoke + 1 + np.minimum((steps * step_ns).astype(np.int64), LATEST_NS)
        self.complete[hangs] = self.invoke[hangs] + TIMEOUT_NS

    def _load_ops(self) -> Ints:
        """Numbers in order of time over all objects."""
        generation, place = divmod(self._key, self._plan.at_once)
        before: Ints = generation * self._plan.slots + self._number
        return before * self._plan.at_once + place + 1

    def _last_ops(self) -> Ints:
        return self._plan.load + self._number * self._plan.keys + self._key + 1

    def fail(self, slot: int, why: str, where: Mask | bool = True) -> None:
        """Let the operations of a slot fail for a reason, where they do."""
        chosen = np.broadcast_to(where, (self.shape[0],)) & (self.type[:, slot] != Type.INFO)
        self.type[chosen, slot], self.reason[chosen, slot] = Type.FAIL, self._reasons.index(why)

    def refuse(self, at: int, slot: int, why: str) -> None:
        """Let the operation of one cycle fail."""
        self.type[at, slot], self.reason[at, slot], self.answer[at, slot] = Type.FAIL, self._reasons.index(why), UNTOLD

    def succeed(self, at: int, slot: int, *, told: bool = False) -> None:
        """Let the operation of one cycle be ok; ``told``: its client is told something."""
        self.type[at, slot], self.reason[at, slot], self.answer[at, slot] = Type.OK, -1, TOLD if told else UNTOLD

    def tell(self, *slots: int, answer: int = TOLD) -> None:
        """Clients are told something in these slots where they are answered."""
        for slot in slots:
            self.answer[:, slot] = np.where(self.type[:, slot] == Type.OK, answer, UNTOLD)

    def answer_after(self, at: int, slot: int, other: int) -> None:
        """The answer of a slot comes when that of another, which is asked later, is on its way."""
        self.complete[at, slot] = (self.invoke[at, other] + self.complete[at, other]) // 2

    def table(self, schema: pa.Schema, lists: Mapping[str, pa.Array]) -> pa.Table:
        """The rows, one behind the other; ``lists``: columns that are lists."""
        plan, count = self._plan, self.shape[0] * self.shape[1]
        worker = self._key % plan.workers
        hangs = self.type == Type.INFO
        process = np.where(  # a process that gets no answer does nothing afterwards
            hangs, plan.keys * self._clients + self._op, self._key * self._clients + self.client
        )
        columns = {
            "worker": np.full(count, worker),
            "op": self._op,
            "process": process,
            "client": worker * self._clients + self.client,
            "pinned": np.zeros(count, dtype=np.bool_),
            "f": self._f,
            "key": np.full(count, self._key),
            **self.values,
            "answer": self.answer,
            "type": self.type,
            "scheduled_ns": self.invoke,
            "invoke_ns": self.invoke,
            "complete_ns": self.complete,
            "deadline_ns": self.invoke + TIMEOUT_NS,
            "node": np.where(hangs, -1, NODE),
        }
        typed = {name: pa.array(_flat(column, schema.field(name).type)) for name, column in columns.items()}
        why = self.reason.ravel().astype(np.int32)
        typed["error"] = pa.DictionaryArray.from_arrays(pa.array(why, mask=why < 0), pa.array(self._reasons))
        typed |= lists
        return pa.table({name: typed[name] for name in schema.names}, schema=schema)


def _flat(column: npt.NDArray[np.generic], kind: pa.DataType) -> npt.NDArray[np.generic]:
    flat: npt.NDArray[np.generic] = column.ravel().astype(kind.to_pandas_dtype(), copy=False)
    return flat


def _room(slots: tuple[Slot, ...]) -> Ints:
    """How many slots are left to each operation until its client's next one, or until the cycle ends."""
    room = []
    for place, slot in enumerate(slots):
        later = [other for other in range(place + 1, len(slots)) if slots[other].client == slot.client]
        room.append(min(later, default=len(slots)) - place)
    return np.array(room, dtype=np.int64)


def draws_of(plan: Plan, key: int, cycle: int) -> np.random.Generator:
    """The random numbers of an object's cycles from one on: the same in whatever order objects are made."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence([plan.seed, key, cycle])))


class Lists(NamedTuple):
    """Lists of numbers in some slots: rows are cycles, columns are places.

    ``slot``: to which slot's list a place belongs, ascending. ``kept``: whether it is there.
    """

    slot: Ints
    kept: Mask

    def column(self, slots: int, values: Ints) -> pa.Array:
        """The values that are kept, as the list of each operation."""
        own = self.slot[:, None] == np.arange(slots)
        counts = self.kept.astype(np.int32) @ own.astype(np.int32)
        return list_column(counts.ravel(), values[self.kept])


def list_column(counts: Ints, values: Ints) -> pa.Array:
    """So many of the values for each operation."""
    ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(np.ascontiguousarray(values, dtype=np.int64)))
