"""A generated history on disk: a run folder as `chaos run` leaves it, without the streams.

Each worker's tables are written by a process of its own, piece by piece, so that memory does not grow with the
history. The folder gets its name when it is whole. The module refuses to write into what exists.
"""

import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from chaos import __version__
from chaos.core.clock import NS_PER_S
from chaos.core.errors import ChaosError, UsageError
from chaos.core.events import RUN_EVENTS, Claim, EventLog, Observation, Phase
from chaos.core.history import StreamFacts, materialise_events, write_facts
from chaos.core.manifest import write_manifest
from chaos.core.model import word_table
from chaos.core.runinfo import SCHEMA_VERSION, NodeInfo, Promises, RunInfo, write_run
from chaos.core.tables import TableFile
from chaos.generate.outcomes import WRITERS, Fates
from chaos.generate.plan import MIX, ORIGIN_NS, PASSES, SETTLE_NS, TIMEOUT_NS, Plan
from chaos.generate.rows import CLIENTS, SCHEMAS, FinalRead, Piece, piece_slots, sends_in
from chaos.models.log.model import LOG
from chaos.testing.history_files import subjects_over
from chaos.testing.literal_operations import NODES

SUBJECTS: Final = subjects_over({})
SMALL: Final = 1_000_000
"""Operations up to which starting processes costs more than it gives."""


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


def _observations(plan: Plan) -> Iterator[Observation]:
    """What nodes would have said once a second: one master of one epoch, all in sync."""
    group, controllers = SUBJECTS
    replicas = group.nodes
    led = Claim(subject=group.name, leader=replicas[0], epoch=1, members=replicas, members_epoch=1)
    said: dict[str, tuple[str, tuple[Claim, ...]]] = {
        node.name: ("slave" if node.role == "broker" else "follower", ()) for node in NODES
    }
    said[replicas[0]] = ("master", (led,))
    said["c1"] = ("leader", (Claim(subject=controllers.name, leader="c1", epoch=1),))
    for at_ns in range(ORIGIN_NS, plan.end_ns + NS_PER_S, NS_PER_S):
        for node, (role, claims) in said.items():
            yield Observation(time_ns=at_ns, asked_ns=at_ns, node=node, alive=True, role=role, claims=claims)


def _write_events(plan: Plan, history: Path) -> None:
    log = EventLog(history / RUN_EVENTS)
    load_ns = ORIGIN_NS + plan.load_ns
    log.emit(Phase(time_ns=ORIGIN_NS, name="load", edge="start"))
    for observation in _observations(plan):
        log.emit(observation)
    log.emit(Phase(time_ns=load_ns, name="load", edge="end"))
    log.emit(Phase(time_ns=load_ns + SETTLE_NS, name="drain", edge="start"))
    log.emit(Phase(time_ns=plan.end_ns, name="drain", edge="end"))
    log.close()
    materialise_events(history)


def run_of(plan: Plan, name: str, argv: tuple[str, ...]) -> RunInfo:
    """The ``run.json`` of a generated history."""
    seconds = plan.load_ns / NS_PER_S
    sends = sum(sends_in(plan.slots_of(key)) for key in range(plan.keys))
    nodes: tuple[NodeInfo, ...] = NODES
    return RunInfo(
        id=name,
        status="ran",
        argv=argv,
        chaos_version=__version__,
        schema_version=SCHEMA_VERSION,
        boot_id="generated",
        origin_ns=ORIGIN_NS,
        origin_utc="2026-01-01T00:00:00+00:00",
        system="generated",
        system_version=__version__,
        backend="none",
        workload="queue",
        model=LOG.name,
        required_phases=("drain",),
        words=word_table(LOG),
        nemesis="noop",
        seed=plan.seed,
        settings={},
        nodes=nodes,
        roles={"broker": "replica", "controller": "controller"},
        keys=plan.keys,
        rate=sends / seconds,
        clients=CLIENTS * plan.workers,
        workers=plan.workers,
        op_timeout_s=TIMEOUT_NS / NS_PER_S,
        time_limit_s=seconds,
        fault_interval_s=0.0,
        fault_duration_s=0.0,
        route_poll_interval_s=None,
        rto_budget_s=None,
        promises=Promises(min_in_sync=2),
        planned_faults=0,
        mix=MIX,
        body_bytes=64,
        subjects=SUBJECTS,
    )


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
    partial = folder.with_name(folder.name + ".partial")
    for path in (folder, partial):
        if path.exists():
            raise UsageError(f"--output {path}: it exists; name another folder or remove it")
    history = partial / "history"
    try:
        for name in ("operations", "reads"):
            (history / name).mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"--output {folder}: {error.strerror}") from None
    try:
        facts = _write_all(plan, history, processes)
        _write_events(plan, history)
        write_run(partial, run_of(plan, folder.name, argv))
        write_manifest(partial)
        partial.rename(folder)
    except OSError as error:  # a full disk
        raise ChaosError(f"--output {folder}: {error}; nothing of it is left") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return sum(one.operations for one in facts), sum(one.reads for one in facts)


def _write_all(plan: Plan, history: Path, processes: int) -> list[StreamFacts]:
    if plan.workers == 1 or processes == 1 or plan.ops <= SMALL:
        return [write_worker(plan, history, worker) for worker in range(plan.workers)]
    with ProcessPoolExecutor(min(plan.workers, processes), mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(write_worker, plan, history, worker) for worker in range(plan.workers)]
        return [one.result() for one in waiting]
