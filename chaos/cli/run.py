"""``chaos run``: options in, one run, its verdict out."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from chaos.basics.amounts import JOBS, REPEATS
from chaos.cli.examples import examples
from chaos.cli.options.amount_type import AmountType
from chaos.cli.options.run_options import LIVE_OPTION, run_options
from chaos.cli.options.sections import REPEAT, SectionCommand, SectionOption
from chaos.cli.output import tell, text_style
from chaos.core.errors import UsageError
from chaos.options.experiment import Experiment
from chaos.options.resolve import experiment_of


def progress() -> Callable[[str], None]:
    """A function that prints one line with the seconds since the start."""
    began = time.monotonic()

    def say(text: str) -> None:
        click.echo(f"[{time.monotonic() - began:6.1f}] {text}")
        sys.stdout.flush()

    return say


@click.command(
    "run",
    cls=SectionCommand,
    epilog=examples(
        "chaos run --nemesis leader-kill --time-limit 5m",
        "chaos run --nemesis random-loss:probability=0.3@broker,leader-suspend",
        "chaos run --bug truncate-acked --seed 7",
        "chaos run --system etcd --workload register --rate 1k",
        "chaos run --system rocketmq --set client.routing=follow --backend docker --memory 1g",
    ),
)
@run_options
@LIVE_OPTION
@click.option(
    "--repeat",
    cls=SectionOption,
    section=REPEAT,
    type=AmountType(REPEATS),
    default=None,
    metavar="N",
    help="Make N runs, each with the next seed; keep those that do not pass.",
)
@click.option(
    "--until-failure",
    cls=SectionOption,
    section=REPEAT,
    is_flag=True,
    help="With --repeat: stop after the first run that fails.",
)
@click.option(
    "--jobs",
    cls=SectionOption,
    section=REPEAT,
    type=AmountType(JOBS),
    default=1,
    metavar="N",
    help="With --repeat: make so many runs at the same time, in a process each.",
)
def run_command(live: str, repeat: int | None, until_failure: bool, jobs: int, **options: Any) -> int:
    """Start a cluster, load it, break it, heal it, read it back, judge it, report.

    The last line printed is the report's path; the exit code is the verdict. OpenChaos' names of options work too.
    """
    experiment = experiment_of(options)
    if repeat is not None:
        return _repeat(experiment, repeat, jobs, until_failure=until_failure)
    if until_failure or jobs != 1:
        raise UsageError("--until-failure, --jobs: only with --repeat N")
    return do_run(experiment, sys.argv, live)


def _repeat(experiment: Experiment, times: int, jobs: int, *, until_failure: bool) -> int:
    """Many runs; returns the exit code of the worst."""
    from chaos.backend_choice import choose_backend
    from chaos.run.repeat import argv_of_one, check_repeatable, repeat

    backend, _ = choose_backend(experiment.backend, experiment.backend_options)
    check_repeatable(experiment, backend)
    return repeat(experiment, argv_of_one(sys.argv), times, jobs, tell, until_failure=until_failure)


def do_run(experiment: Experiment, argv: Sequence[str], live: str) -> int:
    """One whole run, shown while it goes; returns the exit code."""
    from chaos.backend_choice import choose_backend
    from chaos.cli.live import json_lines
    from chaos.cli.live.display import choose_display as display_of
    from chaos.run.phases_of_a_run import run
    from reports.summary.terminal import summary

    backend, why = choose_backend(experiment.backend, experiment.backend_options)
    display = display_of(live)
    try:
        folder, results, code = run(experiment, backend, tuple(argv), display, why)
    finally:
        display.close()
    if display.form == "json":
        tell(json_lines.line_of(json_lines.end(folder, results, code), {}))
        return code
    if results is not None:
        tell(summary(folder, style=text_style()))
    report = folder / "report.html"
    tell(_relative(report if report.exists() else folder))
    return code


def _relative(path: Path) -> str:
    """The shorter of the absolute path and the path from here."""
    here = os.path.relpath(path)
    return here if len(here) < len(str(path)) and not here.startswith("..") else str(path)
