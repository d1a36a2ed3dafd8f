"""Runs as a store has them: in memory, and as folders."""

from pathlib import Path
from typing import Any

import msgspec
import synthetic

from chaos.core.verdict import Rto
from chaos.storage.runinfo import read_run, write_run
from reports.across.figures import Figures, figures_of
from reports.across.stores import Stored


def stored(began: str, kind: str = "valid", cell: str = "", rto: tuple[float, ...] = (), **changes: Any) -> Stored:
    """A run that exists in memory alone."""
    info = msgspec.structs.replace(synthetic.run_info(kind), origin_utc=began, id=f"run-{began[:10]}", **changes)
    results = None if kind == "crashed" else synthetic.results(kind)
    if results is not None and rto:
        faults = [
            msgspec.structs.replace(results.faults[0], id=at, rto=(Rto(f="send", seconds=one),))
            for at, one in enumerate(rto, 1)
        ]
        results = msgspec.structs.replace(results, faults=tuple(faults))
    figures: Figures = figures_of(info, results)
    where = f"g/{info.id}"
    return Stored(where=where, folder=Path(where), figures=figures, cell=cell, has_page=True)


def write(folder: Path, kind: str = "valid", **changes: Any) -> Path:
    """A run folder whose name is its id; ``changes``: of ``run.json``."""
    made = synthetic.write(folder, kind, points=50)
    write_run(made, msgspec.structs.replace(read_run(made), id=folder.name, **changes))
    return made
