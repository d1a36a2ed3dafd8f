"""The plan of a run: read from a file where one was named, else drawn for this system on these hosts.

The module refuses to draw (``nemesis.plan`` does) and to begin anything.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from chaos.core.errors import CapabilityError, UsageError
from chaos.experiment import Experiment
from cluster.host import Backend
from cluster.system import System
from nemesis.available import lacking_here, unavailable
from nemesis.catalog import ALL, Kind
from nemesis.machines import faults_on
from nemesis.mix import NOTHING
from nemesis.plan import Row, lanes, left_out, make_plan, read_plan
from nemesis.sequence import plan_steps


def plan_of(experiment: Experiment, system: System, backend: Backend, say: Callable[[str], None]) -> tuple[Row, ...]:
    """Every fault of the run; ``say`` is told what ``all`` leaves out.

    Raises:
        UsageError: a nemesis, role or time that cannot be.
        CapabilityError: a fault that hosts of this backend can never show.
        HistoryError: ``--plan`` names no plan.
    """
    e = experiment
    if e.plan is not None:
        rows = read_plan(Path(e.plan))
        _check(rows, e, backend)
        return rows
    nodes = system.topology(e.settings)
    missing = {}
    if e.nemesis.strip() == ALL:
        here = lacking_here() if backend.on_this_machine else {}
        missing = unavailable(faults_on(e.kill), {**here, **backend.lacks})
    if e.sequence is None:
        for line in left_out(e.nemesis, system.roles, nodes, missing):
            say(f"nemesis  {line}")
    rows = drawn(e, system, missing)
    _check(rows, e, backend)
    return rows


def drawn(e: Experiment, system: System, missing: Mapping[Kind, str] = NOTHING) -> tuple[Row, ...]:
    """Pure: the plan that a run asks for, wherever it may happen.

    Raises:
        UsageError: a nemesis, role or time that cannot be.
    """
    nodes = system.topology(e.settings)
    if e.sequence is not None:
        return plan_steps(
            e.sequence, system.roles, nodes, time_limit_s=e.time_limit_s, seed=e.seed, missing=missing
        )
    return make_plan(
        e.nemesis, system.roles, nodes, interval_s=e.fault_interval_s, duration_s=e.fault_duration_s,
        time_limit_s=e.time_limit_s, seed=e.seed, missing=missing,
    )  # fmt: skip


def _check(rows: Sequence[Row], e: Experiment, backend: Backend) -> None:
    """Refuse early what no host of this backend can do; what a machine lacks is found once it is there."""
    never = unavailable(faults_on(e.kill), backend.lacks)
    for row in rows:
        if row.fault in never:
            raise CapabilityError(f"--nemesis {row.name}: {never[row.fault]}")
    if e.kill == "container" and len(lanes(rows)) > 1 and any(row.fault.on_network for row in rows):
        raise UsageError("--kill container: a container that ends loses its packet filter; overlap no fault of links")
