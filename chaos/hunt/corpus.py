"""The folder of a hunt: a record of each run, and the plans that are worth running again.

``hunt.json`` says what is hunted, ``runs.jsonl`` has a line for each run, ``kept/`` a folder for each kept plan with
the ``config.yaml`` and ``plan.jsonl`` that ``chaos run`` takes. All are bounded.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from chaos.basics.amounts import HUNTED
from chaos.core.errors import HistoryError, UsageError
from chaos.hunt.candidate import CONFIG, PLAN, Candidate, candidate_of, experiment_for
from chaos.options.experiment import Experiment, as_yaml
from chaos.options.planning import planned_rows
from chaos.options.resolve import experiment_of
from nemesis.plan.plan_file import write_plan

RECORDS_MOST: Final = int(HUNTED.most)
KEPT_MOST: Final = 500
NEW: Final = "-new"
"""What the names of plans end with that are kept because they have shown something new."""
NEW_MOST: Final = 400
"""There is always room for finds."""
_ABOUT: Final = "hunt.json"
_RUNS: Final = "runs.jsonl"


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run. ``number`` counts from 0 and decides what was drawn; ``store``: its run folder if it was kept.

    ``faults``: the nemeses of its plan. ``verdict``: PASS, FAIL, UNKNOWN or ``broke``. ``features``: what it
    has shown that no run before had. ``broken``: what did not hold, as the system's invariants say.
    """

    number: int
    seed: int
    workload: str
    faults: tuple[str, ...]
    verdict: str
    took_s: float
    anomalies: tuple[str, ...] = ()
    sentence: str = ""
    store: str = ""
    features: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


class Corpus:
    """The folder, which may be there already.

    Raises:
        UsageError: it cannot be written, or another hunt has it.
        HistoryError: a record in it is none.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        self.folder = folder
        try:
            (folder / "kept").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--corpus {folder}: {error.strerror}; name a folder that can be written") from None
        _check_about(folder / _ABOUT, about)
        self.records = list(read_records(folder / _RUNS))

    def add(self, record: Record) -> None:
        """Write the record of a run."""
        with (self.folder / _RUNS).open("ab") as file:
            file.write(msgspec.json.encode(record) + b"\n")
        self.records.append(record)

    def full(self) -> bool:
        """Whether no more records are taken."""
        return len(self.records) >= RECORDS_MOST

    def done(self) -> set[int]:
        """The numbers of the runs that were made."""
        return {record.number for record in self.records}

    def keep(self, name: str, base: Experiment, candidate: Candidate) -> Path | None:
        """Keep a plan under a name; its folder, None if there are enough."""
        target = self.folder / "kept" / name
        most = NEW_MOST if name.endswith(NEW) else KEPT_MOST
        if len(kept_in(self.folder)) >= most and not target.exists():
            return None
        target.mkdir(exist_ok=True)
        write_plan(candidate.rows, target / PLAN)
        (target / CONFIG).write_text(as_yaml(experiment_for(base, candidate, target.absolute() / PLAN)))
        return target


def kept_in(folder: Path) -> list[Path]:
    """The kept plans of a corpus, by name."""
    return sorted(path.parent for path in (folder / "kept").glob(f"*/{CONFIG}") if (path.parent / PLAN).is_file())


def read_kept(place: Path, **options: Any) -> tuple[Experiment, Candidate]:
    """A kept plan from its folder. ``options``: what wins over its file, by field name.

    Raises:
        ChaosError: a file of it is none.
    """
    plan = place / PLAN
    experiment = experiment_of({"driver": str(place / CONFIG), "plan": str(plan), **options})
    return experiment, candidate_of(experiment, planned_rows(str(plan), experiment.nemesis))


def read_records(path: Path) -> tuple[Record, ...]:
    """The records of a corpus, none without the file; a last line that was cut off is removed from the file.

    Raises:
        HistoryError: naming the file and the line.
    """
    if not path.exists():
        return ()
    data = path.read_bytes()
    if not data.endswith(b"\n"):
        data = data[: data.rfind(b"\n") + 1]
        partial = path.with_name(path.name + ".partial")
        partial.write_bytes(data)
        partial.rename(path)
    found = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            found.append(msgspec.json.decode(line, type=Record))
        except msgspec.DecodeError as error:
            raise HistoryError(f"{path}:{number}: {error}") from None
    return tuple(found)


def _check_about(path: Path, about: Mapping[str, Any]) -> None:
    said = msgspec.json.format(msgspec.json.encode(dict(about), order="sorted"), indent=1) + b"\n"
    if not path.exists():
        path.write_bytes(said)
    elif path.read_bytes() != said:
        raise UsageError(f"--corpus {path.parent}: it is of a hunt with other options ({path}); name another folder")


def seed_of(folder: Path) -> int | None:
    """The seed of the hunt whose corpus this is; None if it is none yet."""
    try:
        seed = msgspec.json.decode((folder / _ABOUT).read_bytes())["seed"]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (msgspec.DecodeError, KeyError, TypeError):
        raise UsageError(f"--corpus {folder}: its {_ABOUT} is damaged; name another folder") from None
    return int(seed)
