"""Whether a run folder is whole: what it claims to hold is there, and nothing of another run.

A run that is over left a manifest. One that was killed left none: what it recorded proves itself as far as it goes, so
it is judged, but never valid. Tables that another tool wrote have none either, and are believed.
"""

from typing import NamedTuple

from chaos.core.errors import HistoryError
from chaos.storage.history import workers_among
from chaos.storage.manifest import NAME, Manifest, compare, copy_again, read_manifest, sum_of
from chaos.storage.runinfo import FOREIGN, UNFINISHED, RunInfo
from chaos.storage.storage_path import Place
from checkers.history.check_input import Context
from checkers.history.shards import Materialised, run_of, workers_in
from checkers.history.timeline import Timeline


class Evidence(NamedTuple):
    """A run folder that holds what it claims; the content of streams and tables is looked at by who reads them.

    ``manifest`` is None where the run left none; ``workers``: whose streams or tables are there.
    """

    run: RunInfo
    history: Place
    manifest: Manifest | None
    workers: list[int]


def manifest_of(folder: Place, run: RunInfo) -> Manifest | None:
    """The manifest of a run, None where it left none.

    Raises:
        HistoryError: it was altered, or it is missing although the run was over.
    """
    manifest = read_manifest(folder)
    if manifest is None and run.status not in (*UNFINISHED, FOREIGN):
        raise HistoryError(f"{folder}: {NAME} is missing, although the run was over; {copy_again(folder)}")
    return manifest


def check_plan(folder: Place, manifest: Manifest | None) -> None:
    """Hold the plan of the faults against the manifest.

    Raises:
        HistoryError: it is missing, or was altered.
    """
    plan, path = manifest.files.get("plan.jsonl") if manifest is not None else None, folder / "plan.jsonl"
    if plan is None:
        return
    if not path.exists():
        raise HistoryError(f"{path}: missing; {copy_again(path)}")
    compare(path, sum_of(path.read_bytes()), plan)


def evidence_of(folder: Place) -> Evidence:
    """Look at a run folder before it is judged.

    Raises:
        HistoryError: it holds no history, one of another version, or a part of one.
    """
    run = run_of(folder)
    manifest, workers = manifest_of(folder, run), workers_in(folder / "history")
    if manifest is None:
        return Evidence(run, folder / "history", None, workers)
    check_plan(folder, manifest)
    named = {int(name[1:].split(".")[0]): name for name in manifest.names(".facts.json") + manifest.names(".ops")}
    for worker in sorted({*named, *workers}):
        if worker not in workers:
            raise HistoryError(f"{folder}: history/{named[worker]} is missing; {copy_again(folder)}")
        if worker not in named:
            raise HistoryError(f"{folder}: {NAME} knows of no worker {worker}; files of another run are among these")
    return Evidence(run, folder / "history", manifest, workers)


def context_of(evidence: Evidence, made: list[Materialised], timeline: Timeline) -> Context:
    """What every check may know.

    Raises:
        HistoryError: without a manifest, if a worker that took part in the load left nothing.
    """
    run = evidence.run
    left = workers_among((one.facts.worker for one in made), run.workers)
    if evidence.manifest is None and timeline.loaded and left < run.workers:
        raise HistoryError(
            f"{evidence.history}: {run.workers} workers were started, streams or tables of {left} are there; "
            f"{copy_again(evidence.history)}"
        )
    streams = tuple(one.facts for one in made)
    ended = run.status not in UNFINISHED and all(facts.ended for facts in streams)
    return Context(run=run, streams=streams, timeline=timeline, whole=evidence.manifest is not None or ended)
