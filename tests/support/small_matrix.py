"""A matrix of two axes with two values each, three of its four jobs done."""

from typing import Any

import msgspec

from chaos.core.matrix_results import CellRow, MatrixPlan, Planned

JOBS = tuple(
    Planned(id=f"{a}.{b}.1", cell=f"{a}.{b}", values={"fault": a, "mode": b}, repeat=1, seed=5, fingerprint=a + b)
    for a in ("leader-kill", "random-loss")
    for b in ("x", "y")
)
PLAN = MatrixPlan(
    name="small",
    about="An <about>.",
    file="small.yaml",
    axes={"fault": ("leader-kill", "random-loss"), "mode": ("x", "y")},
    repeats=1,
    seed=5,
    scale=0.5,
    jobs=JOBS,
)


def row(number: int, verdict: str = "valid", **changes: Any) -> CellRow:
    """The row of one job that is done."""
    job = JOBS[number]
    made = CellRow(
        id=job.id,
        cell=job.cell,
        values=job.values,
        repeat=1,
        seed=5,
        fingerprint=job.fingerprint,
        argv=(),
        exit=0,
        verdict=verdict,
        sentence="All is well.",
        reason="",
        anomalies={},
        allowed=(),
        rto={"send": (1.0, 3.0, None)},
        planned=3,
        proven=3,
        healed=3,
        skipped=0,
        lost=0,
        began="",
        took_s=80.0,
        timings_s={},
        run=f"runs/g/{number}",
        earlier=(),
        chaos_version="0",
        system="minimq 1",
    )
    return msgspec.structs.replace(made, **changes)


ROWS = [
    row(0),
    row(
        1,
        "invalid",
        sentence="2 lost <b>\x00",
        anomalies={"lost-write": 2, "stale-tail": 1},
        allowed=("stale-tail",),
        lost=2,
        rto={"send": (20.0, "never")},
    ),
    row(2, "unknown", reason="drain | incomplete"),
]
