"""What lies in a store: runs, also those of matrices, and matrices. A thin shell; follows no link.

``cells_of`` is pure.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.errors import ChaosError
from chaos.core.matrix_results import PLAN, CellRow, MatrixPlan, read_plan, read_rows
from reports.across.figures import Figures, read_figures

RUN: Final = "run.json"
DEEPEST: Final = 6
"""Folders below the store in which runs are looked for: nights / matrix / runs / group / run, and one to spare."""


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a store. ``where``: its folder from the store, with ``/``; ``cell``: its matrix and cell, or empty.

    ``figures``: None where it cannot be read, and ``error`` says why. ``has_page``: its report is there.
    """

    where: str
    folder: Path
    figures: Figures | None
    error: str = ""
    cell: str = ""
    has_page: bool = False

    @property
    def id(self) -> str:
        """What the run is called."""
        return self.figures.run.id if self.figures is not None else self.folder.name

    @property
    def began(self) -> str:
        """When it began, as ISO 8601; empty where nobody knows."""
        return self.figures.run.origin_utc if self.figures is not None else ""


class StoredMatrix(msgspec.Struct, frozen=True, kw_only=True):
    """A matrix of a store."""

    where: str
    folder: Path
    plan: MatrixPlan
    rows: tuple[CellRow, ...]


class Store(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in a store; runs in the order in which they began."""

    runs: tuple[Stored, ...]
    matrices: tuple[StoredMatrix, ...]


class StoreReader:
    """Reads a store, and again only what changed since.

    Args:
        store: a store, or one matrix' folder or one run's: then names begin with that folder's own.
    """

    def __init__(self, store: Path) -> None:
        self.top = store.resolve()
        alone = (self.top / PLAN).is_file() or (self.top / RUN).is_file()
        self.base = self.top.parent if alone else self.top
        self._known: dict[Path, tuple[tuple[int, ...], Figures | None, str]] = {}

    def read(self) -> Store:
        """What is there now."""
        runs: list[Stored] = []
        matrices: list[StoredMatrix] = []
        cells: dict[str, str] = {}
        for folder in _folders(self.top, DEEPEST):
            where = folder.relative_to(self.base).as_posix()
            if (folder / RUN).is_file():
                runs.append(self._run(folder, where))
            elif (matrix := _matrix(folder, where)) is not None:
                matrices.append(matrix)
                cells.update(cells_of(matrix))
        runs = [msgspec.structs.replace(run, cell=cells.get(run.where, "")) for run in runs]
        self._known = {run.folder: self._known[run.folder] for run in runs}
        return Store(runs=tuple(sorted(runs, key=lambda run: (run.began, run.id))), matrices=tuple(matrices))

    def _run(self, folder: Path, where: str) -> Stored:
        stamp = tuple(_stamp(folder / name) for name in (RUN, "results.json"))
        if self._known.get(folder, ((),))[0] != stamp:
            try:
                self._known[folder] = (stamp, read_figures(folder, series=False), "")
            except ChaosError as error:
                self._known[folder] = (stamp, None, str(error).removeprefix(f"{folder}").lstrip("/: "))
        _, figures, error_text = self._known[folder]
        has_page = (folder / "report.html").is_file()
        return Stored(where=where, folder=folder, figures=figures, error=error_text, has_page=has_page)


def cells_of(matrix: StoredMatrix) -> Mapping[str, str]:
    """Where each run of a matrix is → the matrix and the cell."""
    return {
        f"{matrix.where}/{place}": f"{matrix.plan.name} {row.cell}"
        for row in matrix.rows
        for place in (row.run, *row.earlier)
        if place
    }


def _matrix(folder: Path, where: str) -> StoredMatrix | None:
    """A matrix; one that cannot be read is left out, for its runs are there."""
    if not (folder / PLAN).is_file():
        return None
    try:
        return StoredMatrix(where=where, folder=folder, plan=read_plan(folder), rows=tuple(read_rows(folder)))
    except ChaosError:
        return None


def _folders(top: Path, depth: int) -> Iterator[Path]:
    """A folder and those below it but for links, hidden ones and what is inside of runs."""
    yield top
    if depth == 0 or (top / RUN).is_file():
        return
    try:
        with os.scandir(top) as found:
            below = sorted(
                one.name for one in found if not one.name.startswith(".") and one.is_dir(follow_symlinks=False)
            )
    except OSError:
        return
    for name in below:
        yield from _folders(top / name, depth - 1)


def _stamp(path: Path) -> int:
    """Changes when a file does; 0 where there is none."""
    try:
        seen = path.stat()
    except OSError:
        return 0
    return hash((seen.st_mtime_ns, seen.st_size, seen.st_ino)) or 1
