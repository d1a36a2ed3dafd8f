"""A generated history of logs on disk: a run folder as `chaos run` leaves it, without the streams.

Each worker's tables are written by a process of its own, piece by piece, so that memory does not grow with the
history.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from chaos.core.clock import NS_PER_S
from chaos.generate.generator import HistorySpec
from chaos.generate.outcomes import WRITERS, Fates
from chaos.generate.plan import MIX, PASSES, PLANTED, Plan, plan_of
from chaos.generate.rows import CLIENTS, SCHEMAS, FinalRead, Piece, piece_slots, sends_in
from chaos.generate.run_folder import folder_in_progress, write_events, write_run_of, write_workers
from chaos.models.log.model import LOG
from chaos.storage.history import StreamFacts, write_facts
from chaos.storage.runinfo import Promises
from chaos.storage.tables import TableFile


def _pieces(plan: Plan, key: int) -> Iterator[tuple[int, Fates]]:
    """The pieces of a queue, one after the other."""
    piece = first = 0
    while count := piece_slots(plan, key, piece)[1]:
        fates = Fates(plan, key, piece, sends_in(count), first)
        yield piece, fates
        first += int(fates.before[-1])
        piece += 1


def _write_queue(plan: Plan, key: int, operations: TableFile, reads: TableFile) -> None:
    """One queue: its load, then the final reads, which return all of it again."""
    end = 0
    for piece, fates in _pieces(plan, key):
        rows = Piece(plan, key, piece, fates)
        operations.add(rows.operations())
        reads.add(rows.reads())
        end = fates.first + int(fates.before[-1])
    operations.end_group()
    reads.end_group()
    for number in range(PASSES):
        final = FinalRead(plan, key, number, end)
        operations.add(final.operation())
        for _, fates in _pieces(plan, key):
            reads.add(final.reads(fates))
        reads.end_group()
    operations.end_group()


def write_worker(plan: Plan, history: Path, worker: int) -> StreamFacts:
    """Write one worker's tables and what is known of them."""
    operations = TableFile(history / "operations" / f"w{worker}.parquet", SCHEMAS["operations"])
    reads = TableFile(history / "reads" / f"w{worker}.parquet", SCHEMAS["reads"])
    last: dict[int, int] = {}
    for key in plan.keys_of(worker):
        _write_queue(plan, key, operations, reads)
        sends = sends_in(plan.slots_of(key))
        last |= {key * WRITERS + i: (sends - 1 - i) // WRITERS for i in range(WRITERS)}
    operations.close()
    reads.close()
    facts = StreamFacts(
        worker=worker, ended=True, operations=operations.rows, reads=reads.rows, torn_bytes=0, last_sequence=last
    )
    write_facts(history, facts, SCHEMAS)
    return facts


def write(plan: Plan, folder: Path, argv: tuple[str, ...], processes: int) -> tuple[int, int]:
    """Write the history into a folder that does not exist.

    Args:
        plan: what is wanted.
        folder: the run folder to be made.
        argv: the command, for ``run.json``.
        processes: how many workers' tables are made at a time.

    Returns:
        Operations and records read.

    Raises:
        ChaosError: it could not be written to its end.
        UsageError: the folder exists, or cannot be made.
    """
    seconds = plan.load_ns / NS_PER_S
    with folder_in_progress(folder) as unnamed:
        history = unnamed / "history"
        for name in ("operations", "reads"):
            (history / name).mkdir()
        facts = write_workers(partial(write_worker, plan, history), plan.workers, processes, plan.ops)
        write_events(history, plan.load_ns, plan.end_ns)
        write_run_of(
            unnamed,
            folder.name,
            argv,
            LOG,
            workload="queue",
            checks=(),
            mix=MIX,
            seed=plan.seed,
            keys=plan.keys,
            rate=sum(sends_in(plan.slots_of(key)) for key in range(plan.keys)) / seconds,
            clients=CLIENTS * plan.workers,
            workers=plan.workers,
            load_ns=plan.load_ns,
            promises=Promises(min_in_sync=2),
        )
    return sum(one.operations for one in facts), sum(one.reads for one in facts)


class LogGenerator:
    """Run folders of logs: queues to which clients send, and which are read to their ends."""

    planted = PLANTED
    options: tuple[str, ...] = ()

    def write(self, spec: HistorySpec, output: Path) -> str:
        """Write a run folder."""
        plan = plan_of(spec.ops, spec.keys, spec.seed, spec.anomalies)
        operations, records = write(plan, output, spec.argv, spec.processes)
        return f"{operations} operations, {records} records read"


GENERATOR: Final = LogGenerator()
