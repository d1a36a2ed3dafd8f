"""``chaos hunt``: drawn runs until one fails, and what is left of that one."""

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from chaos.basics.amounts import HUNTED, JOBS, SEED, Amount
from chaos.basics.rand import SEEDS
from chaos.cli.completion.values import offer
from chaos.cli.examples import examples
from chaos.cli.options.amount_type import AmountType
from chaos.cli.options.declared_option import Decorator
from chaos.cli.options.sections import COMMON, HUNT, SHRINK, SectionCommand, SectionOption
from chaos.cli.output import tell
from chaos.cli.shrink import BUDGET, repetitions, summary_of
from chaos.core.errors import UsageError
from chaos.core.verdict import INTERRUPTED
from chaos.options.experiment import DEFAULTS

if TYPE_CHECKING:
    from chaos.hunt.corpus import Corpus
    from chaos.hunt.hunt import Made
    from chaos.hunt.setting import Setting

_RATE: Final = Amount("number", 0, 1_000_000, above=True)


def _names(_ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    return () if value is None else _none_empty([name.strip() for name in value.split(",")], param, value)


def _nemeses(_ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    from nemesis.plan.nemesis_names import words

    return () if value is None else _none_empty(words(value), param, value)


def _none_empty(names: list[str], param: click.Parameter, value: str) -> tuple[str, ...]:
    if not all(names):
        raise UsageError(f"{param.opts[0]} {value!r}: a name is missing")
    return tuple(names)


def _option(section: str, *names: str, **more: Any) -> Decorator:
    return click.option(*names, cls=SectionOption, section=section, **more)


@click.command(
    "hunt",
    cls=SectionCommand,
    epilog=examples(
        "chaos hunt --system minimq --backend sim --budget 10m",
        "chaos hunt --backend netns --budget 8h --keep-going",
        "chaos hunt --replay store/hunt-minimq",
    ),
)
@_option(
    COMMON,
    "--system",
    default=DEFAULTS["system"],
    show_default=True,
    metavar="NAME",
    shell_complete=offer("systems"),
    help="Test this system (chaos list systems).",
)
@_option(
    COMMON,
    "--backend",
    default="sim",
    show_default=True,
    metavar="NAME",
    shell_complete=offer("backends"),
    help="Run the nodes there: auto, or one of `chaos list backends`.",
)
@_option(
    COMMON,
    "--bug",
    default=None,
    metavar="NAME",
    shell_complete=offer("bugs"),
    help="Switch on a bug of the system (chaos list bugs).",
)
@_option(
    COMMON,
    "-d",
    "--driver",
    "driver",
    default=None,
    metavar="FILE",
    shell_complete=offer("files"),
    help="Take settings and options from this YAML file; what is drawn wins.",
)
@_option(
    COMMON,
    "--set",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=offer("settings"),
    help="Set a key of the system (chaos list settings); repeatable.",
)
@_option(
    COMMON,
    "--store",
    default=DEFAULTS["store"],
    show_default=True,
    metavar="FOLDER",
    shell_complete=offer("folders"),
    help="Put the folders of runs that fail here.",
)
@_option(
    HUNT,
    "--budget",
    "budget_s",
    type=AmountType(BUDGET),
    default="10m",
    show_default=True,
    metavar="DURATION",
    help="Begin no run that would probably end later; what is found is made smaller after that.",
)
@_option(HUNT, "--runs", type=AmountType(HUNTED), default=None, metavar="N", help="Make so many runs at most.")
@_option(
    HUNT,
    "--jobs",
    type=AmountType(JOBS),
    default=1,
    show_default=True,
    metavar="N",
    help="Make so many runs at the same time, in a process each.",
)
@_option(
    HUNT,
    "--seed",
    type=AmountType(SEED),
    default=None,
    metavar="COUNT",
    help="Draw the runs of this seed.  [default: the corpus', else drawn and printed]",
)
@_option(
    HUNT,
    "--workload",
    "workloads",
    default=None,
    callback=_names,
    metavar="NAMES",
    shell_complete=offer("workloads"),
    help="Draw from these workloads.  [default: all that the system can do]",
)
@_option(
    HUNT,
    "--nemesis",
    "nemeses",
    default=None,
    callback=_nemeses,
    metavar="NAMES",
    shell_complete=offer("nemeses"),
    help="Draw from these faults.  [default: all that can be done here]",
)
@_option(
    HUNT,
    "-r",
    "--rate",
    type=AmountType(_RATE),
    default=None,
    metavar="NUMBER",
    help="Ask for this many changes a second (sends, writes, adds, …).  [default: drawn]",
)
@_option(
    HUNT,
    "-t",
    "--time-limit",
    "time_limit_s",
    type=AmountType(BUDGET),
    default=None,
    metavar="DURATION",
    help="Load and break each cluster for so long.  [default: drawn]",
)
@_option(
    HUNT,
    "--corpus",
    default=None,
    metavar="FOLDER",
    shell_complete=offer("folders"),
    help="Keep records and plans here, and go on with those that are there.  [default: STORE/hunt-SYSTEM]",
)
@_option(
    HUNT,
    "--guide",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Also change plans that have shown something new (on), or draw each run anew (off).",
)
@_option(HUNT, "--keep-going", is_flag=True, help="Go on after a find; each anomaly is made smaller once.")
@_option(
    HUNT,
    "--replay",
    default=None,
    metavar="CORPUS",
    shell_complete=offer("folders"),
    help="Draw nothing; run the plans that this corpus keeps again.",
)
@repetitions("Repeat a find and each smaller run up to so often.")
@_option(
    SHRINK,
    "--shrink-budget",
    "shrink_s",
    type=AmountType(BUDGET),
    default="10m",
    show_default=True,
    metavar="DURATION",
    help="Be done with making a find smaller after so long.",
)
def hunt_command(replay: str | None, **options: Any) -> int:
    """Make run after run with drawn faults, times, targets, workloads and loads until one fails; make that one smaller.

    If it is cut off, give the same command again: it goes on. Exit code: 1 if something was found, else 0; of --replay
    1 if a plan fails, 2 if one cannot be judged.
    """
    from chaos.hunt.setting import setting_of

    if replay is not None:
        return _replay(Path(replay), options)
    setting = setting_of(options)
    return _hunt(setting, options)


def _hunt(setting: "Setting", options: dict[str, Any]) -> int:
    from chaos.hunt.corpus import RECORDS_MOST, Corpus, seed_of
    from chaos.hunt.guide import Guide
    from chaos.hunt.hunt import Asked, Hunt
    from chaos.hunt.setting import topology_of
    from chaos.hunt.shrink import least_of
    from chaos.hunt.trial import check_store

    least = least_of(options["confirm"], options["at_least"], new_seeds=setting.simulated)
    store = Path(options["store"])
    check_store(store)
    bug = f"-{options['bug']}" if options["bug"] else ""
    folder = Path(options["corpus"] or store / f"hunt-{options['system']}{bug}")
    seed = options["seed"] if options["seed"] is not None else seed_of(folder)
    seed = secrets.randbelow(SEEDS) if seed is None else seed
    corpus = Corpus(folder, {"seed": seed, "guide": options["guide"], **setting.about})
    asked = Asked(
        budget_s=options["budget_s"],
        runs=options["runs"] or RECORDS_MOST,
        jobs=options["jobs"],
        stop=not options["keep_going"],
    )
    tell(f"hunt     {options['system']} on {setting.backend}, seed {seed}: {setting.words}")
    tell(f"corpus   {folder}: {len(corpus.records):,} runs so far")
    shrinker = _Shrinking(setting, corpus, options, least)
    draw = lambda number: setting.drawn(seed, number)  # noqa: E731
    if options["guide"] == "on":
        guide = Guide(corpus, draw, topology_of, seed)
        hunt = Hunt(guide.next, corpus, store, asked, tell, shrinker.found, learn=guide.learn)
    else:
        hunt = Hunt(draw, corpus, store, asked, tell, shrinker.found)
    hunt.go()
    return 1 if hunt.finds else INTERRUPTED if hunt.interrupted else 0


class _Shrinking:
    """Makes the first find of each anomaly smaller."""

    def __init__(self, setting: "Setting", corpus: "Corpus", options: dict[str, Any], least: int) -> None:
        self._setting, self._corpus, self._options, self._least = setting, corpus, options, least
        self._seen: set[str] = set()

    def found(self, made: "Made", folder: Path) -> None:
        """Confirm a find, make it smaller, keep its plan."""
        from chaos.hunt.setting import topology_of
        from chaos.hunt.shrink import Wanted, shrink

        anomaly, o = made.trial.anomalies[0], self._options
        tell(f"page     {folder / 'report.html'}")
        name = f"{made.number:06d}-{anomaly}"
        if anomaly in self._seen:
            self._corpus.keep(name, made.base, made.candidate)
            return
        self._seen.add(anomaly)
        simulated = self._setting.simulated
        wanted = Wanted(
            anomaly=anomaly,
            times=o["confirm"],
            least=self._least,
            new_seeds=simulated,
            budget_s=o["shrink_s"],
            rate_of=o["measure"],
        )
        tell(f"shrink   {anomaly} in {made.candidate.words}, seed {made.candidate.seed}")
        shrunk = shrink(made.base, made.candidate, topology_of(made.base), wanted, tell)
        self._corpus.keep(name, made.base, shrunk.candidate if shrunk is not None else made.candidate)
        if shrunk is None:
            tell(f"It did not fail again in {wanted.times} runs. Repeat it: chaos replay {folder}")
            return
        for line in summary_of(made.candidate, shrunk, anomaly, simulated=simulated):
            tell(line)


def _replay(folder: Path, options: dict[str, Any]) -> int:
    """Run the kept plans of a corpus again; 1 if one fails, 2 if one cannot be judged or there was no time for it."""
    from chaos.hunt.replay import replay

    return replay(folder, Path(options["store"]), tuple(options["pairs"]), options["budget_s"], tell)
