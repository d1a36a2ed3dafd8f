"""What a matrix has come to: its plan, and one row for each run that is done.

``matrix.json`` says which jobs there are; ``cells.jsonl`` grows by one row a job, stored before the next begins. A row
belongs to a job by id and fingerprint, so rows of another scale, seed or wording of the file are kept and do not count.
Everything that is said of a matrix is a function of these two files.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.fault_nature import Colour
from chaos.core.gate import GateResult, ThresholdResult

PLAN: Final = "matrix.json"
ROWS: Final = "cells.jsonl"
NEVER: Final = "never"

Verdict = Literal["valid", "invalid", "unknown", "broke"]
VERDICTS: Final[Mapping[bool | str, Verdict]] = {True: "valid", False: "invalid", "unknown": "unknown"}
Recovery = float | Literal["never"] | None
"""Recovery from one fault: seconds, None for no outage, or never."""


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One job: which value of each axis, the how many-th repeat, and what it depends on as a fingerprint."""

    id: str
    cell: str
    values: dict[str, str]
    repeat: int
    seed: int
    fingerprint: str


class MatrixPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A matrix as it was resolved. ``axes``: name → its values in order. ``scale``: 1 unless it was shrunk."""

    name: str
    about: str
    file: str
    axes: dict[str, tuple[str, ...]]
    repeats: int
    seed: int
    scale: float
    jobs: tuple[Planned, ...]


class CellRow(Planned, frozen=True, kw_only=True):
    """One job that is done, beside what was planned of it.

    ``rto``: kind of operation → recovery from each fault that was injected, over all keys. ``changes``: the
    kinds that change an object and that recovery is measured of; older rows do not say it. ``run``: the
    run's folder, relative to the matrix's, empty if there is none; ``earlier``: folders of attempts that broke.
    ``planned``, ``proven``, ``healed``, ``skipped``: faults. ``lost``: acknowledged messages that faults cost.
    ``colour``: that of its faults, grey if they differ. ``thresholds``, ``gate``: as in ``results.json``.
    """

    argv: tuple[str, ...]
    exit: int
    verdict: Verdict
    sentence: str
    reason: str
    anomalies: dict[str, int]
    allowed: tuple[str, ...]
    rto: dict[str, tuple[Recovery, ...]]
    planned: int
    proven: int
    healed: int
    skipped: int
    lost: int
    began: str
    took_s: float
    timings_s: dict[str, float]
    run: str
    earlier: tuple[str, ...]
    chaos_version: str
    system: str
    colour: Colour | None = None
    changes: tuple[str, ...] = ()
    thresholds: tuple[ThresholdResult, ...] = ()
    gate: GateResult | None = None

    @property
    def answer(self) -> Verdict:
        """The verdict that the exit code tells, where what is allowed and ``fail-on`` have been heard."""
        return self.verdict if self.gate is None or self.verdict == "broke" else VERDICTS[self.gate.valid]


def read_plan(folder: Path) -> MatrixPlan:
    """The plan of a matrix' folder.

    Raises:
        HistoryError: there is none, or it cannot be read.
    """
    path = folder / PLAN
    try:
        return msgspec.json.decode(path.read_bytes(), type=MatrixPlan)
    except FileNotFoundError:
        raise HistoryError(f"{folder}: no {PLAN}; name a folder that `chaos matrix` made") from None
    except msgspec.DecodeError as error:
        raise HistoryError(f"{path}: {error}") from None


def read_rows(folder: Path) -> list[CellRow]:
    """The rows of a matrix' folder, oldest first; a torn last line is left out.

    Raises:
        HistoryError: naming the file, the line and the fault.
    """
    path = folder / ROWS
    data = path.read_bytes() if path.exists() else b""
    decoder = msgspec.json.Decoder(CellRow)
    rows = []
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            rows.append(decoder.decode(line))
        except msgspec.DecodeError as error:
            raise HistoryError(f"{path}:{number}: {error}") from None
    return rows


def append_row(folder: Path, row: CellRow) -> None:
    """Store a row; when this returns it is on the disk. What a killed writer left of a line is cut off first."""
    with (folder / ROWS).open("ab+") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write(msgspec.json.encode(row) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def current(jobs: Iterable[Planned], rows: Sequence[CellRow]) -> Mapping[str, CellRow]:
    """Job id → the newest row that was made of exactly this job."""
    wanted = {job.id: job.fingerprint for job in jobs}
    return {row.id: row for row in rows if wanted.get(row.id) == row.fingerprint}


def worst_exit(rows: Iterable[CellRow], *, interrupted: bool = False) -> int:
    """One exit code for many: broken beats invalid, invalid beats unknown, unknown beats valid.

    Interrupted: 1 if an anomaly was found, else 130 (SEMANTICS 11).
    """
    verdicts = {row.answer for row in rows}
    if interrupted:
        return 1 if "invalid" in verdicts else 130
    order: tuple[tuple[Verdict, int], ...] = (("broke", 255), ("invalid", 1), ("unknown", 2))
    return next((code for verdict, code in order if verdict in verdicts), 0)
