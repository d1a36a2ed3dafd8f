"""The engine without a JVM: materialise, then run the kernels over one queue after the other, here."""

from pathlib import Path

from chaos.core import advance
from chaos.core.verdict import Results
from checkers.judge import Judged, conclude, examine
from checkers.kernel import Context
from checkers.shards import load_shard, load_timeline, materialise, run_of, workers_in
from checkers.written import written


def judged(folder: Path, note: str = "") -> Judged:
    """Judge one run folder without writing the verdict (tables are made where they are missing).

    Raises:
        HistoryError: if the folder holds no history, or one that was altered.
    """
    run, history = run_of(folder), folder / "history"
    made = [materialise(history, worker) for worker in advance.each("streams", workers_in(history))]
    context = Context(run=run, streams=tuple(one.facts for one in made), timeline=load_timeline(history, run))
    keys = sorted({key for one in made for key in one.keys})
    parts = [examine(load_shard(history, key), context) for key in advance.each("queues", keys)]
    return conclude(parts, context, "local", note)


def judge(folder: Path, note: str = "") -> Results:
    """Judge one run folder and write the verdict into it."""
    return written(folder, judged(folder, note))
