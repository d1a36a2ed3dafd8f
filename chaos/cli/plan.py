"""``chaos plan`` shows the faults of a run before it; ``chaos replay`` repeats a stored run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from chaos.basics.name_lists import join_names
from chaos.cli.completion.values import offer
from chaos.cli.examples import examples
from chaos.cli.options.declared_option import DECIDES_PLAN
from chaos.cli.options.run_options import LIVE_OPTION, as_argv, override_options, run_options
from chaos.cli.options.sections import RunCommand, SectionCommand
from chaos.cli.output import text_style
from chaos.core.errors import UsageError
from chaos.options.experiment import DEFAULTS, Experiment
from chaos.options.resolve import experiment_of

if TYPE_CHECKING:
    from nemesis.plan.plan import Row

_NAMED = 3
"""Of more subjects than this only the number is shown."""
_TARGETS = 20
"""Columns that targets need at least to stand beside their fault."""


@click.command("plan", cls=SectionCommand)
@run_options
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON array of rows, as plan.jsonl has them, with targets."
)
def plan_command(as_json: bool, **options: Any) -> int:
    """Show every fault that `chaos run` with these options would do; do nothing."""
    from chaos.backend_choice import choose_backend
    from chaos.models.registry import model_named
    from chaos.options.planning import mix_of, plan_of, workload_of
    from chaos.options.system_under_test import system_of
    from cluster.leaders import subjects_of
    from nemesis.plan.choose_targets import choose
    from nemesis.targets.topology import Topology

    experiment = experiment_of(options)
    backend, why = choose_backend(experiment.backend, experiment.backend_options)
    system = system_of(experiment)
    told: list[str] = []
    mix = mix_of(experiment, system)
    rows = plan_of(experiment, system, backend, told.append)
    specs = system.topology(experiment.settings)
    topology = Topology.of(specs, system.roles, subjects_of(system, experiment.settings, experiment.keys))
    known = [choose(row, topology, {}) for row in rows]
    if as_json:
        listed = [
            {**msgspec.to_builtins(row), "targets": whom and whom.names, "description": whom and whom.description}
            for row, whom in zip(rows, known, strict=True)
        ]
        click.echo(msgspec.json.encode(listed).decode())
        return 0
    roles = ", ".join(f"{role} {' '.join(names)}" for role, names in topology.nodes.items())
    e = experiment
    load = ", ".join(f"{f.word} {e.rate * share:g}/s" for f, share in mix.items())
    noun = model_named(workload_of(e).model).key + ("" if e.keys == 1 else "s")
    head = [
        ("system", f"{e.system} {system.version}: {roles}"),
        ("backend", f"{backend.name}{why}"),
        ("workload", f"{e.workload}: {load}; {e.clients} clients, {e.keys} {noun}, {e.time_limit_s:g} s"),
        ("faults", f"{len(rows)} of {e.nemesis}, seed {e.seed} ({e.origins['seed']})"),
    ]
    style = text_style()
    lines = [*style.listing(head), *(line for text in told for line in style.fit(text))]
    cells = [
        (
            str(row.row),
            f"{row.at_s - row.quiet_s:g}" if row.quiet_s else "",
            f"{row.at_s:g}",
            f"{row.at_s + row.duration_s:g}" if row.heals else "the end",
            row.name,
            targets.description if targets else _later(row),
        )
        for row, targets in zip(rows, known, strict=True)
    ]
    if cells:
        lines += style.listing([("ROW", "QUIET FROM s", "AT s", "UNTIL s", "NEMESIS", "TARGETS"), *cells], _TARGETS)
    for line in lines:
        click.echo(line)
    return 0


def _later(row: "Row") -> str:
    """The targets of a row that only the run will know, in words."""
    if row.follows:
        return f"whom row {row.follows} hit"
    led = row.subjects or row.roles
    many = f"{len(led)} subjects" if len(row.subjects) > _NAMED else join_names(led)
    if row.selector == "follower":
        return f"a follower of {'each of ' if len(led) > 1 else ''}{many}, as observed then"
    return f"the leader{'s' if len(led) > 1 else ''} of {many}, as observed then"


@click.command(
    "replay",
    cls=RunCommand,
    epilog=examples(
        "chaos replay -1 --pin --set minInSyncReplicas=2",
    ),
)
@click.argument("run", shell_complete=offer("runs"))
@override_options
@LIVE_OPTION
def replay_command(run: str, live: str, **options: Any) -> int:
    """Repeat a stored run: its options, its plan, its seed.

    RUN is a folder, the beginning of an id, `latest`, or -1, -2, … from the newest. Options that you give replace those
    of the run; `--pin` hits the same nodes again.
    """
    from chaos.cli.run import do_run

    experiment, argv = replay(run, options)
    return do_run(experiment, argv, live)


def replay(run: str, options: dict[str, Any]) -> tuple[Experiment, list[str]]:
    """The experiment that repeats a run, and the `chaos run` command that does the same.

    Raises:
        UsageError: no such run, it has no config.yaml or plan.jsonl, or an option that its plan decides.
    """
    from chaos.options.config_file import load
    from chaos.run.store import find_run

    store = options.get("store") or DEFAULTS["store"]
    folder = find_run(run, Path(store))
    plan, file = folder / "plan.jsonl", folder / "config.yaml"
    decided = [name for name in DECIDES_PLAN if options.get(name) is not None]
    if decided:
        [word, *_] = as_argv({decided[0]: options[decided[0]]})
        raise UsageError(f"{word}: replay repeats the plan of that run; to draw another: chaos run -d {file} {word} …")
    if not plan.is_file() or not file.is_file():
        raise UsageError(f"{folder}: it has no {'plan.jsonl' if file.is_file() else 'config.yaml'} to repeat")
    config = load(file)
    # The plan says whom fixed- means, so the names that once made it have had their use.
    spent = ("fault_nodes", "never_heal", "pin", "plan", "store")
    values = {name: value for name, value in config.values.items() if name not in spent}
    config = msgspec.structs.replace(config, values=values)
    given = {**options, "plan": str(plan), "store": store}
    return experiment_of(given, config), ["chaos", "run", "-d", str(file), *as_argv(given)]
