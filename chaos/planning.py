"""The plan of a run: read from a file where one was named, else drawn for this system on this machine.

The module refuses to draw (``nemesis.plan`` does) and to begin anything.
"""

from collections.abc import Callable
from pathlib import Path

from chaos.experiment import Experiment
from cluster.system import System
from nemesis.available import unavailable_here
from nemesis.catalog import ALL
from nemesis.plan import Row, left_out, make_plan, read_plan


def plan_of(experiment: Experiment, system: System, say: Callable[[str], None]) -> tuple[Row, ...]:
    """Every fault of the run; ``say`` is told what ``all`` leaves out.

    Raises:
        UsageError: a nemesis, role or time that cannot be.
        HistoryError: ``--plan`` names no plan.
    """
    e = experiment
    if e.plan is not None:
        return read_plan(Path(e.plan))
    nodes = system.topology(e.settings)
    missing = unavailable_here() if e.nemesis.strip() == ALL else {}
    for line in left_out(e.nemesis, system.roles, nodes, missing):
        say(f"nemesis  {line}")
    return make_plan(
        e.nemesis, system.roles, nodes, interval_s=e.fault_interval_s, duration_s=e.fault_duration_s,
        time_limit_s=e.time_limit_s, seed=e.seed, missing=missing,
    )  # fmt: skip
