"""The engine without a JVM: materialise, then run the checks over the queues, here.

A long history is judged by as many processes as there are cores, each with one queue in memory at a time; their
summaries are added up in the order of the queues, so the verdict is the same. Starts no processes where that costs more
than it saves.
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Final
from uuid import uuid4

import msgspec
import pyarrow as pa

from chaos.basics import progress
from chaos.basics.memory import keep_freed
from chaos.core.errors import ChaosError
from chaos.core.verdict import Results
from chaos.storage.storage_path import Place, Remote, of_each
from checkers.engine.installed_checks import Panel, instance, panel
from checkers.engine.judge import Judged, Part, conclude, examine, merge_parts
from checkers.engine.results_files import write_results
from checkers.history.check_input import Context
from checkers.history.folder_integrity import context_of, evidence_of
from checkers.history.shards import Tables, group_keys, load_shard, load_timeline, materialise, tables_of

SMALL: Final = 1_000_000
"""Operations up to which starting processes costs more than it gives."""


def begin() -> None:
    """Set up a process that judges beside others: one thread decodes, and memory is used again."""
    pa.set_cpu_count(1)
    keep_freed()


def new_judging() -> str:
    """A name for judging a history once: what was opened for it is of no use to another, which may find it changed."""
    return uuid4().hex


_opened: dict[str, Tables] = {}


def _tables(history: Place, judging: str, context: Context) -> Tables:
    """Opened once for a judging, and forgotten with the next."""
    if judging not in _opened:
        _opened.clear()
        _opened[judging] = tables_of(history, context.run.model, context.streams)
    return _opened[judging]


class Duty(msgspec.Struct, frozen=True, kw_only=True):
    """What every task of a judging is told.

    ``context``: what checks may know beside the rows. ``judging``: of ``new_judging``; tables are opened once for all
    groups of queues that a process gets of it. ``places``: where the checks and figures are. ``lazily``: whether few
    columns are needed, so that each is read when it is asked for.
    """

    context: Context
    judging: str
    places: tuple[str, ...]
    lazily: bool

    @classmethod
    def of(cls, context: Context, panel: Panel) -> "Duty":
        """A new judging."""
        return cls(context=context, judging=new_judging(), places=panel.places(), lazily=panel.partial)


def examine_shards(history: Place, duty: Duty, keys: Sequence[int]) -> Part:
    """What the checks make of some queues, one after the other.

    Args:
        history: the folder of the tables.
        duty: what is to be done.
        keys: the queues.

    Raises:
        HistoryError: if a table is damaged or of another version.
    """
    tables = _tables(history, duty.judging, duty.context)
    examiners = [instance(place) for place in duty.places]
    # No name for a shard: it would be kept while the next is loaded, and memory for two be taken from the system.
    part = merge_parts(
        (examine(load_shard(tables, key, lazily=duty.lazily), duty.context, examiners) for key in keys), examiners
    )
    assert part is not None, "a group has a queue"
    return part


def _side_by_side(
    examine_group: Callable[[Sequence[int]], Part], folder: Place, groups: Sequence[Sequence[int]], processes: int
) -> Iterator[Part]:
    """The parts of all groups, in order, by several processes."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=begin) as pool:
        try:
            yield from pool.map(examine_group, groups)
        except BrokenProcessPool:
            raise ChaosError(
                f"{folder}: a process that judged it was ended from outside; was there too little memory?"
            ) from None


def judge_folder(folder: Place, note: str = "", only: Collection[str] = ()) -> Judged:
    """Judge one run folder without writing the verdict (tables are made where they are missing).

    Args:
        folder: the run folder; of another file system one with tables.
        note: why it is judged here, in a line for people.
        only: the checks that are asked for, by name; all if none is named.

    Raises:
        ChaosError: if a process that judged was killed.
        HistoryError: if the folder holds no history, or one that was altered.
        UsageError: a check is not installed here.
    """
    evidence = evidence_of(folder)
    history, workers = evidence.history, evidence.workers
    make = partial(materialise, history, model_name=evidence.run.model, manifest=evidence.manifest)
    made = list(progress.as_made("streams", of_each(make, workers, far=isinstance(history, Remote)), len(workers)))
    context = context_of(evidence, made, load_timeline(history, evidence.run, evidence.manifest))
    groups = group_keys({key for one in made for key in one.keys})
    judges = panel(context, only)
    examine_group = partial(examine_shards, history, Duty.of(context, judges))
    processes = min(len(os.sched_getaffinity(0)), len(groups))
    if processes > 1 and sum(one.facts.operations for one in made) > SMALL:
        parts = _side_by_side(examine_group, folder, groups, processes)
    else:
        parts = map(examine_group, groups)
    told = progress.as_made("groups of queues", parts, len(groups))
    return conclude(merge_parts(told, judges.examiners()), context, judges, "local", note)


def judge(folder: Path, note: str = "") -> Results:
    """Judge one run folder and write the verdict into it."""
    return write_results(folder, judge_folder(folder, note))
