"""A run folder of another file system: whether it is judged where it is, and what of it is copied to this machine.

Tables are read where they are, by whoever needs their rows. Streams have to become tables first, and nothing is
written there, so they are copied. The module refuses to judge.
"""

from functools import partial
from pathlib import Path
from typing import Final

from chaos.core.place import Remote, of_each
from checkers.shards import facts_of, is_fresh, made_ns, workers_in

_WORDS: Final = ("run.json", "plan.jsonl", "config.yaml")


def has_tables(folder: Remote) -> bool:
    """Whether there are tables of every worker's whole stream.

    Files may have been copied in any order, so their times say little: a stream that has its END record does not grow,
    and tables that know of the record are of all of it. ``materialise`` compares the number of rows.

    Raises:
        HistoryError: the file system cannot be reached, or what is known of a stream cannot be read.
    """
    history = folder / "history"
    return all(of_each(partial(_is_whole, history), workers_in(history), far=True))


def _is_whole(history: Remote, worker: int) -> bool:
    made = made_ns(history, worker)
    facts = facts_of(history, worker)
    if made is None or facts is None:
        return False
    return facts.ended or (made > 0 and is_fresh(history, worker))  # 0: the file system does not tell times


def fetch_words(folder: Remote, home: Path) -> None:
    """Copy what a summary tells beside the verdict: ``run.json``, the plan, the options, the events.

    Args:
        folder: the run folder.
        home: an empty folder of this machine.

    Raises:
        HistoryError: it cannot be reached, or there is no room for it here.
    """
    for file in folder.glob("*"):
        if file.name in _WORDS:
            file.copy_to(home / file.name)
    (home / "history").mkdir()
    history = folder / "history"
    for file in list(history.glob("*.events")) or list(history.glob("events.parquet")):
        file.copy_to(home / "history" / file.name)


def fetch_streams(folder: Remote, home: Path) -> None:
    """Copy what tables are made of; of workers that left no stream the tables.

    Args:
        folder: the run folder.
        home: where ``fetch_words`` put its words.

    Raises:
        HistoryError: as ``fetch_words``.
    """
    history = folder / "history"
    files = list(history.glob("w*.*"))
    for file in files:
        file.copy_to(home / "history" / file.name)
    streams = {file.stem for file in files if file.suffix == ".ops"}
    for name in ("operations", "reads"):
        (home / "history" / name).mkdir()
        for file in (history / name).glob("w*.parquet"):
            if file.stem not in streams:
                file.copy_to(home / "history" / name / file.name)
