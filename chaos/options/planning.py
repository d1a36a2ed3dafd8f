"""The plan of a run: read from a file where one was named, else drawn for this system on these hosts; and its mix.

Does not draw (``nemesis.plan.plan`` does) and does not begin anything.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from chaos import plugins
from chaos.core.errors import CapabilityError, HistoryError, UsageError
from chaos.core.events import RUN_EVENTS, Fault
from chaos.core.op import Word
from chaos.options.experiment import Experiment
from chaos.storage.event_files import read_events
from chaos.workload.base import JudgedByClocks, LivesToTheEnd, Workload, check_suited
from chaos.workload.base import mix_of as mix_on
from cluster.admin import admin_actions_of
from cluster.host import Backend, Capability
from cluster.leaders import subjects_of
from cluster.relaunch import check_relaunch
from cluster.system import System, takes_sends_once
from nemesis.faults.admin.admin_fault import action_of, check_offered
from nemesis.faults.registry import faults_on
from nemesis.plan.capabilities import missing_here, unavailable
from nemesis.plan.left_out import left_out
from nemesis.plan.mix import NOTHING
from nemesis.plan.nemesis_names import MANY, NOOP
from nemesis.plan.never_heal import leave_in_force
from nemesis.plan.plan import Row, lanes, make_plan
from nemesis.plan.plan_file import read_plan
from nemesis.plan.sequence import plan_steps

_ROUNDING_S: Final = 1e-6


def plan_of(experiment: Experiment, system: System, backend: Backend, say: Callable[[str], None]) -> tuple[Row, ...]:
    """Every fault of the run; ``say`` is told what ``all`` leaves out.

    Raises:
        UsageError: a nemesis, role, name of a node or time that cannot be.
        CapabilityError: a fault that hosts of this backend can never show.
        HistoryError: ``--plan`` names no plan, or ``--pin`` finds no targets beside it.
    """
    e = experiment
    if e.plan is not None:
        rows = planned_rows(e.plan, e.nemesis)
        if e.pin:
            rows = pin_targets(rows, Path(e.plan).parent / "history" / RUN_EVENTS, say)
        _check(rows, e, system, backend)
        return rows
    nodes = system.topology(e.settings)
    missing = {}
    if e.nemesis.strip() in MANY:
        missing = missing_here(faults_on(e.kill), backend.lacks, here=backend.on_this_machine)
        missing |= _unfit(e, system)
    if e.sequence is None:
        for line in left_out(e.nemesis, system.roles, nodes, missing, subjects_of(system, e.settings, e.keys)):
            say(f"nemesis  {line}")
    rows = draw_plan(e, system, missing)
    _check(rows, e, system, backend)
    return rows


def planned_rows(file: str, nemesis: str) -> tuple[Row, ...]:
    """The faults of a plan that is given.

    Raises:
        HistoryError: it is no plan.
        UsageError: it has none, and the nemesis is not ``noop``: nothing would be broken.
    """
    rows = read_plan(Path(file))
    if not rows and nemesis.strip() != NOOP:
        raise UsageError(f"--plan {file}: no fault is in it; name another plan.jsonl, or give --nemesis noop for none")
    return rows


def draw_plan(e: Experiment, system: System, missing: Mapping[str, str] = NOTHING) -> tuple[Row, ...]:
    """Pure: the plan that a run asks for, wherever it may happen.

    Raises:
        UsageError: a nemesis, role or time that cannot be.
    """
    nodes, subjects = system.topology(e.settings), subjects_of(system, e.settings, e.keys)
    if e.sequence is not None:
        return plan_steps(
            e.sequence,
            system.roles,
            nodes,
            time_limit_s=e.time_limit_s,
            seed=e.seed,
            missing=missing,
            fault_nodes=e.fault_nodes,
            subjects=subjects,
        )
    rows = make_plan(
        e.nemesis,
        system.roles,
        nodes,
        interval_s=e.fault_interval_s,
        duration_s=e.fault_duration_s,
        time_limit_s=e.time_limit_s,
        seed=e.seed,
        missing=missing,
        fault_nodes=e.fault_nodes,
        rhythm=e.rhythm,
        overlap=e.kill != "container",
        subjects=subjects,
        when=e.fault_when or "",
        within_s=e.fault_within_s,
    )
    return leave_in_force(rows, e.nemesis) if e.never_heal else rows


def workload_of(experiment: Experiment) -> Workload:
    """The run's workload.

    Raises:
        UsageError: there is no such workload.
    """
    workload: Workload = plugins.load("workloads", experiment.workload)()
    return workload


def mix_of(experiment: Experiment, system: System) -> dict[Word, float]:
    """Word → operations, in proportion to ``--rate``, that the run's workload makes on this system.

    Raises:
        UsageError: no such workload, or the system's clients cannot do it.
    """
    workload = workload_of(experiment)
    operations = system.operations(workload.model, experiment.settings)
    idempotent_sends = takes_sends_once(system, experiment.settings)
    check_suited(workload, experiment.system, operations, idempotent_sends=idempotent_sends)
    return mix_on(workload, operations)


def pin_targets(rows: Sequence[Row], events: Path, say: Callable[[str], None]) -> tuple[Row, ...]:
    """The rows with the targets that they had in the run whose events these are.

    A row that was not begun there had none: it is left out, and ``say`` is told.

    Raises:
        HistoryError: there are no events, or they show no fault at all.
    """
    if not events.is_file():
        raise HistoryError(f"{events}: no such file; --pin needs the history that lies beside the plan")
    hit = {
        event.id: event.targets for event in read_events(events) if isinstance(event, Fault) and event.stage == "inject"
    }
    if rows and not hit:
        raise HistoryError(f"{events}: no fault was done in that run; leave --pin out")
    left = [str(row.row) for row in rows if row.row not in hit]
    if left:
        say(f"nemesis  not begun in that run and left out: row {', '.join(left)}")
    return tuple(msgspec.structs.replace(row, nodes=hit[row.row]) for row in rows if row.row in hit)


def _unfit(e: Experiment, system: System) -> dict[str, str]:
    """The faults that the system, or the run's workload, cannot have, and why."""
    offers = admin_actions_of(system, e.settings)
    workload = workload_of(e)
    out = {}
    for name, fault in faults_on(e.kill).items():
        action = action_of(fault)
        if action and action not in offers:
            out[name] = f"{e.system} does not offer {action}"
        elif isinstance(workload, JudgedByClocks) and fault.hits == "clock":
            out[name] = f"{e.workload} is judged by the brokers' clocks"
        elif isinstance(workload, LivesToTheEnd) and fault.kills_clients:
            out[name] = f"clients of {e.workload} are asked for what they have in mind"
    return out


def _check_relaunches(rows: Sequence[Row], e: Experiment, system: System) -> None:
    """Refuse nodes that are to be started again otherwise where they cannot be. Raises UsageError."""
    for row in rows:
        relaunch = row.how.relaunch(row.read_params())
        if relaunch is None:
            continue
        if e.reuse:
            raise UsageError(f"--nemesis {row.name}: only you know how nodes of that cluster are started")
        try:
            check_relaunch(system, e.settings, relaunch, row.roles)
        except UsageError as error:
            raise UsageError(f"--nemesis {row.name}: {error}") from None


def _check(rows: Sequence[Row], e: Experiment, system: System, backend: Backend) -> None:
    """Refuse early what no host of this backend and no admin interface can do; what a machine lacks is found later."""
    end_s = max((row.end_s for row in rows), default=0.0)
    if end_s > e.time_limit_s + _ROUNDING_S:
        raise UsageError(f"--time-limit {e.time_limit_s:g}: the plan's last fault ends at {end_s:g} s; give as much")
    if e.kill == "container" and Capability.MACHINE in backend.lacks:
        raise CapabilityError(f"--kill container: {backend.lacks[Capability.MACHINE]}")
    unfit = _unfit(e, system)
    wrong = next((row for row in rows if row.fault in unfit and not action_of(row.how)), None)
    if wrong is not None:
        raise UsageError(f"--nemesis {wrong.name}: {unfit[wrong.fault]}; give another --workload")
    never = unavailable(faults_on(e.kill), backend.lacks)
    for row in rows:
        if row.fault in never:
            raise CapabilityError(f"--nemesis {row.name}: {never[row.fault]}")
    check_offered(rows, e.system, admin_actions_of(system, e.settings))
    _check_relaunches(rows, e, system)
    if e.kill == "container" and len(lanes(rows)) > 1 and any(row.how.on_links() for row in rows):
        raise UsageError("--kill container: a container that ends loses its packet filter; overlap no fault of links")
