"""What ``run.json`` says of a run before anything has happened."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from chaos import __version__
from chaos.core.clock import boot_id, now_ns
from chaos.core.gate import Gates
from chaos.core.model import Model, word_table
from chaos.core.op import Word
from chaos.options.experiment import Experiment
from chaos.run.machine import machine_facts
from chaos.run.revision import source_revision
from chaos.run.wall_clock import utc_of
from chaos.storage.runinfo import SCHEMA_VERSION, Promises, RunInfo
from chaos.workload.base import Workload, send_deadline_s
from cluster.cluster import Relaunch
from cluster.leaders import subjects_of
from cluster.relaunch import Program, program_of
from cluster.system import System, refusals_of
from cluster.systems._shared.weakest_promise import weakest_promises
from nemesis.plan.plan import Row, quiet_stretches, relaunches_of


def first_info(
    *,
    run_id: str,
    argv: tuple[str, ...],
    experiment: Experiment,
    system: System,
    workload: Workload,
    model: Model,
    mix: Mapping[Word, float],
    plan: Sequence[Row],
    backend: str,
) -> RunInfo:
    """The run as it is planned.

    Args:
        run_id: the name of its folder.
        argv: the command that asked for it.
        experiment: what was asked for.
        system: the system under test.
        workload: what clients do.
        model: what they do it to.
        mix: word → operations, in proportion to the rate.
        plan: the faults.
        backend: where the nodes are, by name.
    """
    poll, began_ns = experiment.settings.get("client.routePollInterval"), now_ns()
    return RunInfo(
        id=run_id,
        status="planned",
        argv=argv,
        chaos_version=__version__,
        schema_version=SCHEMA_VERSION,
        boot_id=boot_id(),
        origin_ns=began_ns,
        origin_utc=utc_of(began_ns),
        system_version=system.version,
        artifacts=experiment.artifacts or "",
        backend=backend,
        model=model.name,
        words=word_table(model),
        checks=tuple(dict.fromkeys((*workload.checks, *experiment.checks))),
        nodes=(),
        roles=dict(system.roles),
        route_poll_interval_s=float(poll) if poll else None,
        promises=_promises(system, experiment.settings, relaunches_of(plan)),
        refusals=refusals_of(system),
        planned_faults=len(plan),
        mix={f.word: share for f, share in mix.items()},
        machine=_machine(),
        quiet=quiet_stretches(plan),
        send_deadline_s=send_deadline_s(workload),
        subjects=subjects_of(system, experiment.settings, experiment.keys),
        gates=Gates(thresholds=experiment.thresholds, fail_on=experiment.fail_on, allow=experiment.allow),
        system=experiment.system,
        workload=experiment.workload,
        consistency_models=experiment.consistency_models,
        nemesis=experiment.nemesis,
        seed=experiment.seed,
        settings=experiment.settings,
        keys=experiment.keys,
        rate=experiment.rate,
        clients=experiment.clients,
        workers=experiment.workers,
        op_timeout_s=experiment.op_timeout_s,
        time_limit_s=experiment.time_limit_s,
        fault_interval_s=experiment.fault_interval_s,
        fault_duration_s=experiment.fault_duration_s,
        rto_budget_s=experiment.rto_budget_s,
        body_bytes=experiment.body_bytes,
    )


def _machine() -> dict[str, Any]:
    """The machine, and the revision of the harness' source where it has one."""
    revision = source_revision()
    return {**machine_facts(), **({"revision": revision} if revision else {})}


def _promises(system: System, settings: Mapping[str, str], relaunches: Sequence[Relaunch]) -> Promises:
    """What is promised of a run in which nodes are started again so for a while: what each of these programs promises.

    What one of them allows is allowed.
    """
    programs = [Program(system, dict(settings)), *(program_of(system, settings, relaunch) for relaunch in relaunches)]
    promises = [one.system.promises(one.settings) for one in programs]
    allowed = {name: why for one in promises for name, why in one.allowed.items()}
    return msgspec.structs.replace(weakest_promises(promises), allowed=allowed)
