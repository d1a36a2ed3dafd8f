"""``chaos matrix``: one run for each combination of the values in a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from chaos.basics.amounts import SEED, Amount
from chaos.cli.completion.values import offer
from chaos.cli.examples import examples
from chaos.cli.options.amount_type import AmountType
from chaos.cli.options.gate_options import FAIL_ON_OPTION, THRESHOLD_OPTION
from chaos.cli.options.sections import SectionOption
from chaos.cli.output import tell
from chaos.core.errors import HistoryError, UsageError


@click.command(
    "matrix",
    epilog=examples(
        "chaos matrix rocketmq-raft --scale 0.05 --dry-run",
    ),
)
@click.argument("file", shell_complete=offer("matrices"))
@click.option(
    "--only", default=None, metavar="PATTERN", help="Make only the runs whose name has this; * and ? are wildcards."
)
@click.option("--dry-run", is_flag=True, help="Print the runs and how long they should take; run nothing.")
@click.option(
    "--scale",
    default=1.0,
    type=AmountType(Amount("number", 0, 1, above=True)),
    help="Shrink the times of faults and recovery (not below 10 s), one repeat, e.g. 0.05.  [default: 1]",
)
@click.option("--seed", type=AmountType(SEED), default=None, help="Use this seed, not the file's.")
@click.option(
    "--store",
    default="store",
    metavar="FOLDER",
    shell_complete=offer("folders"),
    help="Put the folder matrix-NAME here.  [default: store]",
)
@click.option(
    "--stop-on-fail",
    "--stop-on-invalid",
    "stop_on_fail",
    cls=SectionOption,
    is_flag=True,
    help="Begin nothing more after a run that is FAIL.",
)
@THRESHOLD_OPTION
@FAIL_ON_OPTION
@click.option("--unknown-again", is_flag=True, help="Run again what ended UNKNOWN, as on a busy machine.")
@click.option("--judge-again", is_flag=True, help="Run nothing; judge the stored runs again.")
def matrix_command(
    file: str,
    *,
    only: str | None,
    dry_run: bool,
    scale: float,
    seed: int | None,
    store: str,
    stop_on_fail: bool,
    unknown_again: bool,
    judge_again: bool,
    thresholds: tuple[str, ...] | None,
    fail_on: tuple[str, ...] | None,
) -> int:
    """Make one run for each combination of values in FILE, or in a shipped matrix.

    If it is cut off, give the same command again: it goes on. Exit code: 255 if a run broke, else 1 if one is FAIL,
    else 2 if one is UNKNOWN, else 0; what is allowed, or not in --fail-on, does not count.
    """
    from chaos.core.matrix_results import current, read_rows
    from chaos.matrix.model import Job, jobs_of, plan_of, with_gates
    from chaos.matrix.model import select_jobs as matching
    from chaos.matrix.read import read_matrix
    from chaos.matrix.run_jobs import clock, conduct, forecast
    from chaos.matrix.run_jobs import judge_again as judged_again

    matrix = read_matrix(file)
    if seed is not None:
        matrix = msgspec.structs.replace(matrix, seed=seed)
    matrix = with_gates(matrix, {"thresholds": thresholds, "fail_on": fail_on})
    if scale < 1:
        matrix = msgspec.structs.replace(matrix, repeats=1)
    jobs = jobs_of(matrix, scale)
    wanted: Sequence[Job] = matching(jobs, only)
    folder = Path(store).absolute() / f"matrix-{matrix.name}"
    if judge_again:
        code = judged_again(wanted, folder, tell)
        tell(str(folder / "index.html"))
        return code
    faults = [_checked(job) for job in wanted]
    plan = plan_of(matrix, jobs, scale)
    due = forecast(wanted, current(plan.jobs, read_rows(folder)), unknown=unknown_again)
    total_s = sum(expected_s for _, expected_s in due)
    if dry_run:
        for (job, expected_s), number in zip(due, faults, strict=True):
            tell(f"{f'{expected_s:.0f} s' if expected_s else 'done':>7}  {number:>3} faults  {job.planned.id}")
    tell(f"{len(wanted)} runs, {sum(faults)} faults, about {clock(total_s)}; {folder}")
    if dry_run:
        return 0
    code = conduct(plan, jobs, wanted, folder, tell, stop_on_invalid=stop_on_fail, unknown=unknown_again)
    tell(str(folder / "index.html"))
    return code


def _checked(job: Any) -> int:
    """How many faults a job plans.

    Raises:
        UsageError: it could not be run; better said before the first run than after hours.
    """
    from chaos.options.planning import draw_plan, planned_rows
    from chaos.options.resolve import experiment_of
    from chaos.options.system_under_test import system_of

    try:
        experiment = experiment_of({}, job.config)
        if experiment.plan is not None:
            return len(planned_rows(experiment.plan, experiment.nemesis))
        return len(draw_plan(experiment, system_of(experiment)))
    except (UsageError, HistoryError) as error:
        raise UsageError(f"{job.planned.id}: {error}") from None
