"""``chaos shrink``: from a run that failed to a smallest one that fails in the same way."""

from typing import TYPE_CHECKING, Any, Final

import click

from chaos.basics.amounts import DAY_S, Amount
from chaos.cli.completion.values import offer
from chaos.cli.examples import examples
from chaos.cli.options.amount_type import AmountType
from chaos.cli.options.declared_option import Command, Decorator
from chaos.cli.options.run_options import override_options
from chaos.cli.options.sections import SHRINK, RunCommand, SectionOption
from chaos.cli.output import tell
from chaos.cli.plan import replay
from chaos.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from chaos.hunt.candidate import Candidate
    from chaos.hunt.shrink import Shrunk

BUDGET: Final = Amount("duration", 0, 30 * DAY_S, above=True)
_TIMES: Final = Amount("count", 1, 1000)
_MEASURED: Final = Amount("count", 0, 1000)


def repetitions(confirm: str) -> Decorator:
    """The options that say how often runs are repeated; ``confirm``: the help of ``--confirm``."""
    made = (
        click.option(
            "--confirm",
            cls=SectionOption,
            section=SHRINK,
            type=AmountType(_TIMES),
            default=3,
            show_default=True,
            metavar="N",
            help=confirm,
        ),
        click.option(
            "--at-least",
            cls=SectionOption,
            section=SHRINK,
            type=AmountType(_TIMES),
            default=None,
            metavar="K",
            help="Keep what fails in so many of these.  [default: 1 with --backend sim, else more than half]",
        ),
        click.option(
            "--measure",
            cls=SectionOption,
            section=SHRINK,
            type=AmountType(_MEASURED),
            default=10,
            show_default=True,
            metavar="N",
            help="Repeat the smallest run so often to tell how often it fails.",
        ),
    )

    def decorated(command: Command) -> Command:
        for option in reversed(made):
            command = option(command)
        return command

    return decorated


@click.command(
    "shrink",
    cls=RunCommand,
    epilog=examples(
        "chaos shrink latest",
        "chaos shrink -1 --confirm 5 --at-least 3 --budget 2h",
    ),
)
@click.argument("run", shell_complete=offer("runs"))
@click.option(
    "--anomaly",
    cls=SectionOption,
    section=SHRINK,
    default=None,
    metavar="NAME",
    shell_complete=offer("anomalies of the run"),
    help="A run fails if it has this anomaly.  [default: the first headline of the run]",
)
@repetitions("Repeat each smaller run up to so often; with --backend sim each time with the next seed.")
@click.option(
    "--budget",
    "budget_s",
    cls=SectionOption,
    section=SHRINK,
    type=AmountType(BUDGET),
    default="10m",
    show_default=True,
    metavar="DURATION",
    help="Be done after so long, with the smallest until then.",
)
@override_options
def shrink_command(
    run: str,
    anomaly: str | None,
    confirm: int,
    at_least: int | None,
    measure: int,
    budget_s: float,
    **options: Any,
) -> int:
    """Find a smallest run that fails as a stored one did, and the command that repeats it.

    RUN is a folder, the beginning of an id, `latest`, or -1, -2, … from the newest. Fewer and shorter faults on fewer
    nodes, less load and a shorter run are tried until each part is needed. Exit code: 1 if there is one that fails, 2
    if RUN did not fail again.
    """
    from pathlib import Path

    from chaos.backend_choice import choose_backend
    from chaos.hunt.candidate import candidate_of
    from chaos.hunt.setting import topology_of
    from chaos.hunt.shrink import Wanted, least_of, shrink
    from chaos.options.experiment import DEFAULTS
    from chaos.options.planning import plan_of
    from chaos.options.system_under_test import system_of
    from chaos.run.store import find_run
    from cluster.host import RunsHere

    experiment, _ = replay(run, options)
    folder = find_run(run, Path(options.get("store") or DEFAULTS["store"]))
    backend, _ = choose_backend(experiment.backend, experiment.backend_options)
    simulated = isinstance(backend, RunsHere)
    wanted = Wanted(
        anomaly=anomaly_of(folder, anomaly),
        times=confirm,
        least=least_of(confirm, at_least, new_seeds=simulated),
        new_seeds=simulated,
        budget_s=budget_s,
        rate_of=measure,
    )
    start = candidate_of(experiment, plan_of(experiment, system_of(experiment), backend, tell))
    tell(f"shrink   {folder}: {wanted.anomaly} in {start.words}, seed {start.seed}")
    shrunk = shrink(experiment, start, topology_of(experiment), wanted, tell)
    if shrunk is None:
        tell(f"No {wanted.anomaly} in {confirm} more run(s) of it; more may show it: --confirm {10 * confirm}")
        return 2
    for line in summary_of(start, shrunk, wanted.anomaly, simulated=simulated):
        tell(line)
    return 1


def anomaly_of(folder: "Path", asked: str | None) -> str:
    """The anomaly to look for.

    Raises:
        UsageError: the run does not have it, or none at all.
    """
    from chaos.hunt.trial import found_in_folder

    found = found_in_folder(folder)
    if asked is not None and asked not in found:
        raise UsageError(f"--anomaly {asked}: {folder} has {', '.join(found) or 'none'}; name one that it has")
    if not found:
        raise UsageError(f"{folder}: it has no anomaly to look for; name a run that is FAIL")
    return asked or found[0]


def summary_of(start: "Candidate", shrunk: "Shrunk", anomaly: str, *, simulated: bool) -> list[str]:
    """The lines about the smallest run. Pure."""
    small = shrunk.candidate
    faults = [
        f"fault {row.row}  {row.name}, at {row.at_s:g} s for {row.duration_s:g} s"
        f"{f', on {chr(32).join(row.nodes)}' if row.nodes else ''}"
        for row in small.rows
    ]
    others = f" with the {shrunk.repeated} seeds after {small.seed}" if simulated else ""
    again = f"fails {shrunk.failed} of {shrunk.repeated}{others}" if shrunk.repeated else "not repeated"
    end = "each part of it is needed" if shrunk.needed else "more might be left out, but the time was over"
    return [
        "",
        f"{anomaly}: {shrunk.sentence}",
        f"before   {start.words}",
        f"after    {small.words}; {shrunk.runs} runs, {end}",
        *faults,
        f"rate     {again}",
        f"again    chaos replay {shrunk.folder}",
        f"page     {shrunk.folder / 'report.html'}",
    ]
