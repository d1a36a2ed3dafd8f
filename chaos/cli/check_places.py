"""Where the runs are that ``chaos check`` judges: here, or in another file system."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from chaos.cli.output import complain
from chaos.core.errors import ChaosError, HistoryError, UsageError
from chaos.storage.storage_path import Place, Remote, place


class StoredRun(NamedTuple):
    """A run that is to be judged. ``home``: the folder of this machine that gets its verdict."""

    where: Place
    home: Path


def find_stored(
    text: str, store: Path, scratch: Path | None, master: str | None, until_told: ExitStack
) -> StoredRun | ChaosError:
    """Where a run is judged: one of another file system there, or here if tables have to be made, gone afterwards."""
    from chaos.run.store import find_run

    try:
        where = place(text)
        if not isinstance(where, Remote):
            folder = find_run(text if "://" not in text else str(where), store)
            return StoredRun(folder, folder)
        return _far_run(text, where, scratch, master, until_told)
    except ChaosError as error:
        return error
    except OSError as error:
        return HistoryError(f"{text}: {error.strerror}")


def _far_run(text: str, where: Remote, scratch: Path | None, master: str | None, until_told: ExitStack) -> StoredRun:
    """A run of another file system.

    Raises:
        ChaosError: it cannot be judged.
    """
    from checkers.history.remote_folder import fetch_streams, fetch_words, has_tables
    from checkers.history.shards import run_of
    from spark_checkers.masters import Where

    if not where.exists():
        raise HistoryError(f"{text}: there is no such folder")
    run_of(where)
    there = has_tables(where)
    if not there and scratch is None and master is not None and not Where(master).local:
        raise UsageError(
            f"{text}: it has streams without whole tables, which must be fetched; add --scratch FOLDER that executors "
            f"of --master {master} reach"
        )
    top = until_told.enter_context(TemporaryDirectory(prefix="chaos-check-", dir=None if there else scratch))
    home = Path(top) / (where.name or "run")
    home.mkdir()
    fetch_words(where, home)
    if not there:
        fetch_streams(where, home)
    how = "read where it is" if there else "streams without whole tables, fetched to be judged here"
    complain(f"{text}: {how}; the verdict is printed, not written there")
    return StoredRun(where if there else home, home)
