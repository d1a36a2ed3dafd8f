"""One run that may be tried: its faults and what of its load can be made smaller. Pure."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from chaos.basics.amounts import duration
from chaos.options.experiment import Experiment
from nemesis.plan.nemesis_names import NOOP, parts
from nemesis.plan.plan import Row
from nemesis.targets.selectors import Selector

_DIGITS: Final = 3
PLAN: Final = "plan.jsonl"
CONFIG: Final = "config.yaml"
"""The files in the folder of a run, or of a kept plan, that ``chaos run`` takes."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """The faults and the load of a run; all else is as in the run that it was made of."""

    rows: tuple[Row, ...]
    seed: int
    time_limit_s: float
    rate: float
    clients: int
    keys: int

    @property
    def words(self) -> str:
        """How large it is: ``3 faults, 60s, 50/s, 8 clients, 4 keys``."""
        number = len(self.rows)
        load = f"{self.rate:g}/s, {_plural(self.clients, 'client')}, {_plural(self.keys, 'key')}"
        return f"{_plural(number, 'fault')}, {duration(self.time_limit_s)}, {load}"

    def with_seed(self, seed: int) -> "Candidate":
        """The same with another seed."""
        return msgspec.structs.replace(self, seed=seed)

    def with_rows(self, rows: Iterable[Row]) -> "Candidate":
        """The same with these faults, numbered anew; a fault that follows one that is not there is left out."""
        kept = list(rows)
        while len(left := [row for row in kept if not row.follows or row.follows in {one.row for one in kept}]) < len(
            kept
        ):
            kept = left
        ordered = sorted(kept, key=lambda row: (row.at_s, row.row))
        number = {row.row: place for place, row in enumerate(ordered, 1)}
        return msgspec.structs.replace(
            self,
            rows=tuple(
                msgspec.structs.replace(row, row=place, follows=number.get(row.follows, 0))
                for place, row in enumerate(ordered, 1)
            ),
        )

    def with_row(self, row: Row) -> "Candidate":
        """The same with this fault instead of that of its number."""
        return self.with_rows(row if other.row == row.row else other for other in self.rows)


def candidate_of(experiment: Experiment, rows: Iterable[Row]) -> Candidate:
    """What a run asks for, with its plan."""
    return Candidate(
        rows=tuple(rows),
        seed=experiment.seed,
        time_limit_s=experiment.time_limit_s,
        rate=experiment.rate,
        clients=experiment.clients,
        keys=experiment.keys,
    )


def experiment_for(base: Experiment, candidate: Candidate, plan: Path) -> Experiment:
    """The run of a candidate; ``plan``: the file with its faults."""
    return msgspec.structs.replace(
        base,
        nemesis=",".join(dict.fromkeys(row.name for row in candidate.rows)) or NOOP,
        sequence=None,
        fault_nodes=(),
        plan=str(plan),
        pin=False,
        seed=candidate.seed,
        time_limit_s=candidate.time_limit_s,
        rate=candidate.rate,
        clients=candidate.clients,
        workers=min(base.workers, candidate.clients),
        keys=candidate.keys,
    )


def end_s(row: Row) -> float:
    """When a fault is healed, in seconds after the load's start."""
    return row.end_s


def last_end_s(rows: Iterable[Row]) -> float:
    """When the last of them is healed; 0 without any."""
    return max(map(end_s, rows), default=0.0)


def shift_row(row: Row, by_s: float) -> Row:
    """The same fault so much later, or earlier if it is below 0."""
    return msgspec.structs.replace(row, at_s=round(row.at_s + by_s, _DIGITS))


def on_nodes(row: Row, nodes: tuple[str, ...]) -> Row:
    """The same fault on exactly these nodes, whatever they are at that time."""
    _, given, suffix = parts(row.name)
    name = f"{Selector.FIXED}-{row.fault}{f':{given}' if given else ''}{f'@{suffix}' if suffix else ''}"
    return msgspec.structs.replace(
        row, name=name, selector=Selector.FIXED, draw={}, nodes=nodes, subjects=(), follows=0
    )


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
