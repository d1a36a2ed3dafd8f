"""``chaos matrix``: the cross product of a file's axes, one run after the other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from chaos.core.errors import UsageError


@click.command("matrix")
@click.argument("file")
@click.option("--only", default=None, metavar="PATTERN", help="Only the runs that are named so; * and ? are wildcards.")
@click.option("--dry-run", is_flag=True, help="Print the runs and how long they are expected to take.")
@click.option(
    "--scale",
    default=1.0,
    type=click.FloatRange(0, 1, min_open=True),
    help="Shrink faults and recovery (not below 10 s each): one repeat, at least two faults a run.  [default: 1]",
)
@click.option("--seed", type=int, default=None, help="Another seed than the file's.")
@click.option("--store", default="store", help="The matrix goes to matrix-NAME in it.  [default: store]")
@click.option("--stop-on-invalid", is_flag=True, help="Begin nothing more after an invalid run.")
@click.option("--unknown-again", is_flag=True, help="Run again what ended unknown, as on a machine that was busy.")
@click.option("--judge-again", is_flag=True, help="Run nothing: judge what is stored with today's checkers.")
def matrix_command(
    file: str,
    *,
    only: str | None,
    dry_run: bool,
    scale: float,
    seed: int | None,
    store: str,
    stop_on_invalid: bool,
    unknown_again: bool,
    judge_again: bool,
) -> int:
    """Run the cross product of FILE's axes, or of a shipped matrix by its name; cut off, the same command goes on.

    Exit code: 255 if a run broke, else 1 if one is invalid, else 2 if one is unknown, else 0.
    """
    from chaos.core.matrix_results import current, read_rows
    from chaos.matrix.conduct import clock, conduct, forecast
    from chaos.matrix.conduct import judge_again as judged_again
    from chaos.matrix.model import Job, jobs_of, plan_of
    from chaos.matrix.model import only as matching
    from chaos.matrix.read import read_matrix

    matrix = read_matrix(file)
    if seed is not None:
        matrix = msgspec.structs.replace(matrix, seed=seed)
    if scale < 1:
        matrix = msgspec.structs.replace(matrix, repeats=1)
    jobs = jobs_of(matrix, scale)
    wanted: Sequence[Job] = matching(jobs, only)
    folder = Path(store).absolute() / f"matrix-{matrix.name}"
    if judge_again:
        code = judged_again(wanted, folder, click.echo)
        click.echo(str(folder / "index.html"))
        return code
    faults = [_checked(job) for job in wanted]
    plan = plan_of(matrix, jobs, scale)
    due = forecast(wanted, current(plan.jobs, read_rows(folder)), unknown=unknown_again)
    total_s = sum(expected_s for _, expected_s in due)
    if dry_run:
        for (job, expected_s), number in zip(due, faults, strict=True):
            click.echo(f"{f'{expected_s:.0f} s' if expected_s else 'done':>7}  {number:>3} faults  {job.planned.id}")
    click.echo(f"{len(wanted)} runs, {sum(faults)} faults, about {clock(total_s)}; {folder}")
    if dry_run:
        return 0
    code = conduct(plan, jobs, wanted, folder, click.echo, stop_on_invalid=stop_on_invalid, unknown=unknown_again)
    click.echo(str(folder / "index.html"))
    return code


def _checked(job: Any) -> int:
    """How many faults a job plans.

    Raises:
        UsageError: it could not be run; better said before the first run than after hours.
    """
    from chaos import plugins
    from chaos.options.planning import drawn
    from chaos.options.resolve import experiment_of

    try:
        experiment = experiment_of({}, job.config)
        return len(drawn(experiment, plugins.load("systems", experiment.system)()))
    except UsageError as error:
        raise UsageError(f"{job.planned.id}: {error}") from None
