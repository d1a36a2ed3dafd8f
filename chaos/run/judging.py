"""Which engine judges histories.

``auto`` is this process for few rows, because Spark takes seconds to start, and for many where Spark does not start (no
Java of at least 17); else, and where a session was started before, Spark. ``engine_note`` says which and why. Both
engines run the same kernels and give the same verdict.
"""

import sys
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec

from chaos.basics import progress
from chaos.core.errors import CapabilityError, ChaosError, UsageError
from chaos.core.gate import Gates
from chaos.core.verdict import Results
from chaos.gate.judge import gates_of, with_gate
from chaos.storage.runinfo import RunInfo, read_run
from chaos.storage.storage_path import Place

if TYPE_CHECKING:  # a path that is not there needs none of them
    from checkers.engine.judge import Judged
    from checkers.imported.options import Question

Wishes = Callable[[RunInfo], Gates]
KEEP: Final[Wishes] = gates_of
"""Whatever the run was made with."""

Engine = Literal["auto", "spark", "local"]

LATE_S: Final = 1.0
"""How long what judges may go on being loaded when there is something to judge."""

FEW_ROWS: Final = 1_000_000
"""Below this number of rows ``auto`` judges here: that takes less time than Spark's start (docs/guide/spark.md)."""


class _Chosen(NamedTuple):
    """Who judges, and why in a line for people (empty: it was asked for)."""

    spark: bool
    note: str = ""


def _session() -> Any:
    """The module that holds Spark's session; None as long as nothing has needed it."""
    return sys.modules.get("spark_checkers.session")


def choose_engine(engine: str, master: str | None, driver_host: str | None) -> str:
    """Say where Spark runs; the engine that follows from it.

    Args:
        engine: ``auto``, ``spark`` or ``local``.
        master: where Spark runs, None for this machine.
        driver_host: the address at which executors reach this process, None for that on the route to the master.

    Raises:
        UsageError: no master that Spark knows, or nothing that it could be of use for.
    """
    if driver_host is not None and master is None:
        raise UsageError(f"--driver-host {driver_host}: only with --master, whose executors are to reach it")
    if engine == "local":
        if master is not None:
            raise UsageError(f"--master {master}: only for Spark; leave out --engine local")
        return engine
    if engine == "auto" and master is None and _session() is None:
        return engine
    from spark_checkers import session
    from spark_checkers.masters import Where

    session.set_master(Where() if master is None else Where(master, driver_host or ""))
    return engine if master is None else "spark"


def check_engine(engine: str) -> None:
    """Refuse an engine that cannot run here, before a run rather than after it.

    Raises:
        CapabilityError: ``spark`` was asked for and cannot run here.
    """
    if engine == "spark":
        from spark_checkers import session

        if (missing := session.obstacle()) is not None:
            raise CapabilityError(missing)


def start_early(engine: str) -> None:
    """Begin to start what the engine needs, in the background; a later ``judge`` waits for it.

    Raises:
        CapabilityError: ``spark`` was asked for and cannot run here; better said before a run than after it.
    """
    if engine == "local":
        return
    from spark_checkers import session

    missing = session.obstacle()
    if missing is None:
        session.start_early()
    elif engine == "spark":
        raise CapabilityError(missing)


def get_ready(run: RunInfo) -> None:
    """Load what will judge such a run and write its page, in Spark's processes too if its session was begun.

    About ten seconds of processor time. What cannot be loaded is told when it is needed.
    """
    from chaos import plugins
    from checkers.engine.installed_checks import FIGURES, checks, of_run
    from reports.page import html
    from reports.reporter import reporters

    import_module("checkers.engine.local_engine")
    reporters()
    html.template(html.TEMPLATE)
    known = checks()
    session = _session()
    if session is not None and session.is_begun() and _obstacle() is None:
        from spark_checkers.engine import warm_up

        warm_up([*(plugins.place_of(plugins.CHECKS, name) for name in of_run(run) if name in known), *FIGURES])


def start_getting_ready(run: RunInfo) -> threading.Thread:
    """Do ``get_ready`` in the background."""

    def quietly() -> None:
        with suppress(ChaosError):
            get_ready(run)

    thread = threading.Thread(target=quietly, name="get-ready", daemon=True)
    thread.start()
    return thread


def _obstacle() -> str | None:
    """Why Spark does not run here, None if its session is up. A verdict must not be lost to it."""
    from spark_checkers import session

    try:
        session.session()
    except ChaosError as error:
        return str(error)
    return None


def _chosen(engine: str, rows: Callable[[], int], loading: threading.Thread | None = None) -> _Chosen:
    """Who judges histories of so many rows, which are counted only if that decides.

    The session of a run that was just made has started during its load. Under ``auto`` few rows do not wait for one
    that is late; who asked for Spark gets its verdict, however late it is.
    """
    if loading is not None:
        loading.join(timeout=LATE_S)
    if engine != "auto":
        return _Chosen(engine == "spark")
    why, session = "its session was started before", _session()
    late = loading is not None and loading.is_alive()
    if session is None or not session.is_begun() or late:
        count = rows()
        if count < FEW_ROWS:
            reason = f"Spark was not up {LATE_S:g} s after the run" if late else f"Spark judges from {FEW_ROWS:,} on"
            return _Chosen(spark=False, note=f"engine local: {count:,} rows; {reason}")
        why = f"{count:,} rows"
    obstacle = _obstacle()
    return _Chosen(spark=False, note=f"engine local: {obstacle}") if obstacle else _Chosen(True, f"engine spark: {why}")


def judge_each(
    folders: Sequence[Place],
    engine: str = "auto",
    only: Collection[str] = (),
    homes: Sequence[Path] | None = None,
    wished: Wishes = KEEP,
    loading: threading.Thread | None = None,
) -> list[Results | ChaosError]:
    """Judge run folders, on Spark all in one session and two jobs; writes down each verdict if it is whole.

    Args:
        folders: the run folders; those of another file system hold tables (``checkers.history.remote_folder``).
        engine: ``auto``, ``spark`` or ``local``.
        only: the checks that are asked for, by name; all if none is named.
        homes: the folder of this machine into which each verdict is written; None: the run folders themselves.
        wished: what is wanted of each run, from what its folder says. Some checks alone meet no thresholds.
        loading: of ``start_getting_ready``, if it was called.

    Returns:
        For each folder its results, or why it could not be judged; such a folder disturbs no other.

    Raises:
        CapabilityError: ``spark`` was asked for and cannot run here.
    """
    from chaos.run.history_size import rows_of_run

    if not folders:
        return []
    chosen = _chosen(engine, lambda: sum(map(rows_of_run, folders)), loading)
    if not chosen.spark:
        answers = [_here(folder, chosen.note, only) for folder in folders]
    else:
        from spark_checkers.engine import judge_each as judged_on_spark

        answers = judged_on_spark(folders, only, chosen.note)
    into = [folder for folder in folders if isinstance(folder, Path)] if homes is None else homes
    assert len(into) == len(folders), "nothing is written to another file system: its runs have homes"
    return [
        found if isinstance(found, ChaosError) else found.results if only else _kept(home, found, wished)
        for home, found in zip(into, answers, strict=True)
    ]


def _kept(home: Path, found: "Judged", wished: Wishes) -> Results:
    """The verdict with its thresholds, written down."""
    from checkers.engine.results_files import write_results

    run = read_run(home)
    return write_results(
        home, found._replace(results=with_gate(found.results, run, wished(run), datetime.now(UTC).date()))
    )


def _here(folder: Place, note: str, only: Collection[str]) -> "Judged | ChaosError":
    """The verdict of one folder by this process, or why there is none."""
    from checkers.engine import local_engine

    try:
        return local_engine.judge_folder(folder, note, only)
    except ChaosError as error:
        return error


def judge_imported(
    paths: Sequence[Place], question: "Question", engine: str = "auto", scratch: Path | None = None
) -> list[Results | ChaosError]:
    """Judge histories that other tools recorded, on Spark all in one session and the same jobs.

    Args:
        paths: the files.
        question: how they are to be read, and what they are held against.
        engine: ``auto``, ``spark`` or ``local``.
        scratch: for the parts of large files, on Spark; None: as ``spark_checkers.files.room_for`` has it.

    Returns:
        For each file its results, or why it could not be judged; such a file disturbs no other.

    Raises:
        CapabilityError: ``spark`` was asked for and cannot run here.
    """
    from chaos.run.history_size import rows_of_file

    if not paths:
        return []
    chosen = _chosen(engine, lambda: sum(map(rows_of_file, paths)))
    if not chosen.spark:
        return [_imported_here(path, question, chosen.note) for path in progress.track("files", paths)]
    from spark_checkers.engine import judge_imported as judged_on_spark

    return judged_on_spark(paths, question, scratch, chosen.note)


def _imported_here(path: Place, question: "Question", note: str) -> Results | ChaosError:
    from checkers.imported.judge_file import judge as judge_file

    try:
        return msgspec.structs.replace(judge_file(path, question, "local"), engine_note=note)
    except ChaosError as error:
        return error


def judge(folder: Path, engine: str = "auto", loading: threading.Thread | None = None) -> Results:
    """Judge one run folder; writes results.json, series.json and the folder anomalies.

    Args:
        folder: the run folder.
        engine: ``auto``, ``spark`` or ``local``.
        loading: of ``start_getting_ready``, if it was called.

    Raises:
        CapabilityError: ``spark`` was asked for and cannot run here.
        HistoryError: the folder holds no history, or one that was altered.
    """
    found = judge_each([folder], engine, loading=loading)[0]
    if isinstance(found, ChaosError):
        raise found
    return found
