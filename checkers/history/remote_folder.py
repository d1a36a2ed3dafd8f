"""A run folder of another file system: whether it is judged where it is, and what of it is copied to this machine.

Each check reads the rows of tables that it needs where they are. Streams must be made into tables first; nothing is
written to the other file system, so they are copied here.
"""

from functools import partial
from pathlib import Path
from typing import Final

from chaos.models.registry import model_of
from chaos.storage.history import StreamFacts, table_schemas, workers_of
from chaos.storage.manifest import NAME, Manifest, read_manifest
from chaos.storage.runinfo import read_run
from chaos.storage.storage_path import Remote, of_each
from checkers.history.events import holders
from checkers.history.shards import facts_of, workers_in

_WORDS: Final = ("run.json", "plan.jsonl", "config.yaml", NAME)


def has_tables(folder: Remote) -> bool:
    """Whether there are tables of every worker's whole stream.

    Files were copied in any order, so their times say nothing. A stream that has its END record does not grow, and
    tables whose facts know of the record are of all of it; ``materialise`` compares the number of rows.

    Raises:
        HistoryError: the file system cannot be reached, or what is known of a stream cannot be read.
    """
    history = folder / "history"
    streams, workers = workers_of(history), workers_in(history)
    names = table_schemas(model_of(read_run(folder)))
    made = [{path.stem for path in (history / name).glob("w*.parquet")} for name in names]
    if not all({f"w{worker}" for worker in workers} <= stems for stems in made):
        return False
    manifest = read_manifest(folder)
    facts = of_each(partial(facts_of, history, manifest=manifest), workers, far=True)
    return all(
        known is not None and (known.ended or worker not in streams or _is_of(known, manifest))
        for worker, known in zip(workers, facts, strict=True)
    )


def _is_of(facts: StreamFacts, manifest: Manifest | None) -> bool:
    """Whether tables were made of a stream as it was when the run was over."""
    return manifest is not None and all(manifest.of_history(name) == own for name, own in facts.made_of.items())


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
    for one in holders(history, read_manifest(folder)):
        one.copy_to(home / "history" / one.name)


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
