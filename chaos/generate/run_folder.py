"""What every generated run folder has: workers, the events of a quiet run, ``run.json``, and a name once it is whole.

A folder that exists is refused.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from chaos import __version__
from chaos.core.clock import NS_PER_S
from chaos.core.errors import ChaosError, UsageError
from chaos.core.events import RUN_EVENTS, Claim, EventLog, Observation, Phase
from chaos.core.model import Model, word_table
from chaos.generate.plan import ORIGIN_NS, SETTLE_NS, TIMEOUT_NS
from chaos.storage.history import StreamFacts, materialise_events
from chaos.storage.manifest import write_manifest
from chaos.storage.runinfo import SCHEMA_VERSION, NodeInfo, Promises, RunInfo, write_run
from chaos.testing.history_files import subjects_over
from chaos.testing.literal_operations import NODES

SUBJECTS: Final = subjects_over({})

SMALL: Final = 1_000_000
"""Operations up to which starting processes costs more than it gives."""


def write_workers(
    write_worker: Callable[[int], StreamFacts], workers: int, processes: int, ops: int
) -> list[StreamFacts]:
    """Write the tables of all workers, so many at a time, each by a process of its own unless there are few operations.

    Args:
        write_worker: writes those of a worker, by its number; other processes must be able to call it.
        workers: how many there are.
        processes: how many tables are made at a time.
        ops: operations in all.
    """
    if workers == 1 or processes == 1 or ops <= SMALL:
        return [write_worker(worker) for worker in range(workers)]
    with ProcessPoolExecutor(min(workers, processes), mp_context=get_context("spawn")) as pool:
        return list(pool.map(write_worker, range(workers)))


@contextmanager
def folder_in_progress(folder: Path) -> Iterator[Path]:
    """A folder to write into that gets its name when the block ends well; otherwise nothing of it is left.

    The manifest is written last.

    Raises:
        ChaosError: it could not be written to its end.
        UsageError: the folder exists, or cannot be made.
    """
    partial = folder.with_name(folder.name + ".partial")
    for path in (folder, partial):
        if path.exists():
            raise UsageError(f"--output {path}: it exists; name another folder or remove it")
    try:
        (partial / "history").mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"--output {folder}: {error.strerror}") from None
    try:
        yield partial
        write_manifest(partial)
        partial.rename(folder)
    except OSError as error:  # a full disk
        raise ChaosError(f"--output {folder}: {error}; nothing of it is left") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _observations(end_ns: int) -> Iterator[Observation]:
    """What nodes would have said once a second: one master of one epoch, all in sync."""
    group, controllers = SUBJECTS
    replicas = group.nodes
    led = Claim(subject=group.name, leader=replicas[0], epoch=1, members=replicas, members_epoch=1)
    said: dict[str, tuple[str, tuple[Claim, ...]]] = {
        node.name: ("slave" if node.role == "broker" else "follower", ()) for node in NODES
    }
    said[replicas[0]] = ("master", (led,))
    said["c1"] = ("leader", (Claim(subject=controllers.name, leader="c1", epoch=1),))
    for at_ns in range(ORIGIN_NS, end_ns + NS_PER_S, NS_PER_S):
        for node, (role, claims) in said.items():
            yield Observation(time_ns=at_ns, asked_ns=at_ns, node=node, alive=True, role=role, claims=claims)


def write_events(history: Path, load_ns: int, end_ns: int) -> None:
    """The events of a run whose load lasted so long, and whose final phase ended then."""
    log = EventLog(history / RUN_EVENTS)
    loaded_ns = ORIGIN_NS + load_ns
    log.emit(Phase(time_ns=ORIGIN_NS, name="load", edge="start"))
    for observation in _observations(end_ns):
        log.emit(observation)
    log.emit(Phase(time_ns=loaded_ns, name="load", edge="end"))
    log.emit(Phase(time_ns=loaded_ns + SETTLE_NS, name="drain", edge="start"))
    log.emit(Phase(time_ns=end_ns, name="drain", edge="end"))
    log.close()
    materialise_events(history)


def write_run_of(
    folder: Path,
    name: str,
    argv: tuple[str, ...],
    model: Model,
    *,
    workload: str,
    checks: tuple[str, ...],
    mix: Mapping[str, float],
    seed: int,
    keys: int,
    rate: float,
    clients: int,
    workers: int,
    load_ns: int,
    promises: Promises,
) -> None:
    """The ``run.json`` of a generated history; ``rate``: a second, of what the mix counts as 1."""
    nodes: tuple[NodeInfo, ...] = NODES
    run = RunInfo(
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
        workload=workload,
        model=model.name,
        checks=checks,
        required_phases=("drain",),
        words=word_table(model),
        nemesis="noop",
        seed=seed,
        settings={},
        nodes=nodes,
        roles={"broker": "replica", "controller": "controller"},
        keys=keys,
        rate=rate,
        clients=clients,
        workers=workers,
        op_timeout_s=TIMEOUT_NS / NS_PER_S,
        time_limit_s=load_ns / NS_PER_S,
        fault_interval_s=0.0,
        fault_duration_s=0.0,
        route_poll_interval_s=None,
        rto_budget_s=None,
        promises=promises,
        planned_faults=0,
        mix=dict(mix),
        body_bytes=64,
        subjects=SUBJECTS,
    )
    write_run(folder, run)
