"""What generators of objects share: a history object by object, written as a run folder without streams.

A generator names the slots of a cycle and what an object's operations say; everything else is here.
"""

from abc import ABC, abstractmethod
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar, Final

import pyarrow as pa

from chaos.core.clock import NS_PER_S
from chaos.core.model import Model
from chaos.generate.generator import HistorySpec
from chaos.generate.objects.plan import Plan, Shape, pieces, plan_of
from chaos.generate.objects.rows import NO_REASON, Rows, Slot
from chaos.generate.run_folder import folder_in_progress, write_events, write_run_of, write_workers
from chaos.storage.history import StreamFacts, table_schemas, write_facts
from chaos.storage.runinfo import Promises
from chaos.storage.tables import TableFile

PIECE: Final = 1 << 19
"""So many operations of an object are held at a time."""


class History(ABC):
    """What becomes of one object; its cycles are asked for in order, then its last operations.

    Args:
        plan: what is wanted.
        key: the object.
    """

    def __init__(self, plan: Plan, key: int) -> None:
        self.plan, self.key = plan, key

    @abstractmethod
    def fill(self, rows: Rows) -> None:
        """Say what the operations of some cycles ask and are told. Nothing is wrong of them."""

    @abstractmethod
    def plant(self, rows: Rows, at: int, name: str) -> None:
        """Make an anomaly of a cycle; ``at``: its row."""

    @abstractmethod
    def finish(self, rows: Rows) -> None:
        """Say what the last operations are told."""

    def lists(self, rows: Rows) -> dict[str, pa.Array]:  # noqa: ARG002 - not all models have any
        """The columns that are lists."""
        return {}


class ObjectGenerator(ABC):
    """Run folders of objects of one model, in which nothing is wrong but what is planted.

    ``cycle``: the operations that every object repeats. ``last``: those after the load. ``clients``: of an object.
    ``longest``, ``once``, ``least_step_ns``: as in ``Shape``. ``reasons``: why operations are refused by the rules of
    the model.
    """

    model: ClassVar[Model]
    workload: ClassVar[str]
    check: ClassVar[str]
    history: ClassVar[type[History]]
    planted: tuple[str, ...]
    options: tuple[str, ...] = ()
    cycle: ClassVar[tuple[Slot, ...]]
    last: ClassVar[tuple[Slot, ...]]
    longest: ClassVar[int] = 1 << 40
    once: ClassVar[bool] = False
    least_step_ns: ClassVar[int] = 0
    reasons: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def shape(self) -> Shape:
        """What a plan must know."""
        return Shape(
            slots=len(self.cycle),
            last=len(self.last),
            longest=self.longest,
            once=self.once,
            least_step_ns=self.least_step_ns,
        )

    @cached_property
    def clients(self) -> int:
        """Clients of an object."""
        return 1 + max(slot.client for slot in self.cycle)

    def write(self, spec: HistorySpec, output: Path) -> str:
        """Write a run folder."""
        plan = plan_of(self.shape, spec)
        with folder_in_progress(output) as folder:
            history = folder / "history"
            (history / "operations").mkdir()
            write_workers(partial(self.write_worker, plan, history), plan.workers, spec.processes, plan.ops)
            write_events(history, plan.load_ns, plan.end_ns)
            words = [slot.f.word for slot in self.cycle]
            write_run_of(
                folder,
                output.name,
                spec.argv,
                self.model,
                workload=self.workload,
                checks=("assumptions", self.check),
                mix={word: words.count(word) / len(words) for word in dict.fromkeys(words)},
                seed=spec.seed,
                keys=plan.keys,
                rate=plan.load * NS_PER_S / plan.load_ns,
                clients=self.clients * plan.workers,
                workers=plan.workers,
                load_ns=plan.load_ns,
                promises=Promises(),
            )
        return f"{plan.ops} operations"

    def write_worker(self, plan: Plan, history: Path, worker: int) -> StreamFacts:
        """Write one worker's table and what is known of it."""
        schema = table_schemas(self.model)["operations"]
        operations = TableFile(history / "operations" / f"w{worker}.parquet", schema)
        for key in plan.keys_of(worker):
            own = self.history(plan, key)
            for cycles in pieces(plan, max(1, PIECE // len(self.cycle))):
                rows = self._rows(plan, key, cycles, self.cycle)
                own.fill(rows)
                for at, name in rows.sites:
                    own.plant(rows, at, name)
                operations.add(rows.table(schema, own.lists(rows)))
            rows = self._rows(plan, key, None, self.last)
            own.finish(rows)
            operations.add(rows.table(schema, own.lists(rows)))
            operations.end_group()
        operations.close()
        facts = StreamFacts(
            worker=worker, ended=True, operations=operations.rows, reads=0, torn_bytes=0, last_sequence={}
        )
        write_facts(history, facts, ("operations",))
        return facts

    def _rows(self, plan: Plan, key: int, cycles: range | None, slots: tuple[Slot, ...]) -> Rows:
        return Rows(plan, key, cycles, slots, (NO_REASON, *self.reasons), self.clients)
