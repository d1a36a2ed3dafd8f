"""The options of a run, once for every command that takes them.

Letters and long names of OpenChaos work where they mean something here; the others are refused with the word to use
instead. ``chaos.options.resolve`` makes an experiment of the values.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from chaos.cli.completion.values import offer
from chaos.cli.options.declared_option import Command, Decorator, option
from chaos.cli.options.gate_options import EXAMPLE, FAILING, read_fail_on, read_thresholds
from chaos.cli.options.host_options import HOSTS
from chaos.cli.options.sections import CHECKS, CLUSTER, COMMON, FAULTS, LOAD, SectionOption
from chaos.core.errors import UsageError
from chaos.options.experiment import DEFAULTS
from chaos.options.option_names import long_option


def _names(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Names with commas or, as OpenChaos had them, semicolons between them."""
    return None if value is None else tuple(name.strip() for name in value.replace(";", ",").split(",") if name.strip())


def _nemesis(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Names with commas, none of them empty."""
    if value is not None and not all(name.strip() for name in value.split(",")):
        raise UsageError(
            f"--nemesis {value!r}: a name is missing; write one of chaos list nemeses, or noop for no fault"
        )
    return value


def _each(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    """The values of an option that is repeated; None if it is not given."""
    return values or None


def _gone(*names: str, instead: str, takes_value: bool = False) -> Callable[[Command], Command]:
    """An option of OpenChaos that means nothing here: refused with what to do instead."""

    def refuse(_ctx: click.Context, _param: click.Parameter, value: Any) -> None:
        if value:
            raise UsageError(f"{names[-1]}: {instead}")

    return click.option(
        *names, hidden=True, expose_value=False, callback=refuse, is_flag=not takes_value, is_eager=True
    )


SETTINGS_OPTION: Final = click.option(
    "--set",
    "pairs",
    cls=SectionOption,
    section=CLUSTER,
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=offer("settings"),
    help="Set a key of the system, e.g. minInSyncReplicas=1 (chaos list settings); repeatable.",
)


def system_option(help_text: str) -> Callable[[Command], Command]:
    """``--system`` of a command that makes no run."""
    return click.option(
        "--system",
        default=DEFAULTS["system"],
        show_default=True,
        metavar="NAME",
        shell_complete=offer("systems"),
        help=help_text,
    )


STORE_OPTION: Final = click.option(
    "--store",
    default=DEFAULTS["store"],
    show_default=True,
    metavar="FOLDER",
    shell_complete=offer("folders"),
    help="Look for runs in this folder.",
)
LIVE_OPTION: Final = click.option(
    "--live",
    cls=SectionOption,
    section=COMMON,
    type=click.Choice(["auto", "rich", "plain", "json"]),
    default="auto",
    show_default=True,
    help="Show a live picture (rich), a line per event and one per 30 s (plain), or JSON lines (json); auto: by the"
    " terminal.",
)
_FILE: Final = click.option(
    "-d",
    "--driver",
    "driver",
    cls=SectionOption,
    section=COMMON,
    default=None,
    metavar="FILE",
    shell_complete=offer("files"),
    help="Take options from this YAML file, e.g. a run's config.yaml; what you type wins.",
)
_BUG: Final = click.option(
    "--bug",
    "bug",
    cls=SectionOption,
    section=COMMON,
    default=None,
    metavar="NAME",
    shell_complete=offer("bugs"),
    help="Switch on a bug of the system with the options that it declares (chaos list bugs).",
)

_COMMON_OF_LOAD: Final = (
    option(
        COMMON,
        "workload",
        "Let clients do this (chaos list workloads).  [default: the system's]",
        "-m",
        "--model",
        shell_complete=offer("workloads"),
        metavar="NAME",
    ),
    option(
        COMMON,
        "nemesis",
        "Do these faults: NAME[:PARAM=VALUE][@ROLE], several with commas, or all (chaos list nemeses).",
        "-f",
        "--fault",
        callback=_nemesis,
        shell_complete=offer("nemeses"),
        metavar="NEMESIS",
    ),
    option(COMMON, "time_limit_s", "Load and break the cluster for so long, e.g. 90 or 1h30m.", "-t", "--limit-time"),
    option(
        COMMON,
        "rate",
        "Ask for this many changes a second (sends, writes, adds, …); most workloads add reads.",
        "-r",
    ),
)
_SYSTEM: Final = option(
    COMMON, "system", "Test this system (chaos list systems).", shell_complete=offer("systems"), metavar="NAME"
)
_PROGRAM: Final = (
    option(
        COMMON,
        "system_version",
        "Test the system in this version, e.g. 3.5.4, fetched or built once.  [default: the system's]",
        metavar="VERSION",
    ),
    option(
        COMMON,
        "artifacts",
        "Test your own build of the system, in this folder.",
        shell_complete=offer("folders"),
        metavar="FOLDER",
    ),
)
_COMMON_OF_CLUSTER: Final = (
    option(
        COMMON,
        "seed",
        "Repeat the plan and load of this seed; by default drawn and printed.",
        replayed="Draw the load from this seed, not the run's.",
    ),
    option(
        COMMON,
        "backend",
        "Run the nodes there: auto, or one of `chaos list backends`.",
        shell_complete=offer("backends"),
        metavar="NAME",
    ),
    option(
        COMMON,
        "store",
        "Put run folders here.",
        "--output-dir",
        replayed="Look for the run here, and put the new one here.  [default: store]",
        shell_complete=offer("folders"),
        metavar="FOLDER",
    ),
)
_FAULTS: Final = (
    option(FAULTS, "fault_interval_s", "Wait so long without a fault before each one.", "-i"),
    option(FAULTS, "fault_duration_s", "Heal each fault after so long; by default the interval."),
    option(
        FAULTS,
        "rhythm",
        "Draw the lengths of a mix of faults from 0.5, 2, 8 s and --fault-duration, let some overlap, and send little"
        " before some (mixed); or give all one length, one after the other (even).",
        type=click.Choice(["mixed", "even"]),
    ),
    option(
        FAULTS,
        "fault_when",
        "Begin each fault when this comes: role-change, first-ack or out-of-sync, also with @SUBJECT, or log:REGEX,"
        " also with @ROLE. Faults then come one after the other.",
        shell_complete=offer("occasions"),
        metavar="OCCASION",
    ),
    option(FAULTS, "fault_within_s", "With --fault-when: wait so long at most, else skip it; by default the interval."),
    option(
        FAULTS,
        "never_heal",
        "Leave the run's one fault in force until the final reads are over: the rest must serve without its nodes.",
        is_flag=True,
    ),
    option(
        FAULTS,
        "fault_nodes",
        "Hit these nodes with a fixed- nemesis, e.g. b1,b2.",
        "-n",
        callback=_names,
        shell_complete=offer("nodes"),
        metavar="NODES",
    ),
    option(FAULTS, "recovery_s", "Load for at least so long after the last heal."),
    option(
        FAULTS,
        "plan",
        "Take the faults from this plan.jsonl of a run folder.",
        shell_complete=offer("files"),
        metavar="FILE",
    ),
    option(
        FAULTS,
        "pin",
        "With --plan: hit the nodes that that run hit.",
        is_flag=True,
        replayed="Hit the nodes that the run hit.",
    ),
)
_KEYS: Final = option(
    LOAD,
    "keys",
    "Use this many queues, registers or whatever the workload needs.  [default: the workload's]",
)
_LOAD: Final = (
    option(LOAD, "clients", "Use this many clients, each with connections of its own.", "-c", "--concurrency"),
    option(LOAD, "workers", "Spread the clients over this many processes."),
    option(LOAD, "body_bytes", "Make message bodies this many bytes long."),
    option(LOAD, "op_timeout_s", "Give up an operation after so long."),
)
_CHECKS: Final = (
    option(
        CHECKS,
        "thresholds",
        f"Call the run FAIL unless this holds, e.g. {EXAMPLE}; repeatable.",
        multiple=True,
        callback=read_thresholds,
        metavar="THRESHOLD",
    ),
    option(CHECKS, "rto_budget_s", "Call the run FAIL if a recovery takes longer: short for 'rto<=DURATION'."),
    option(
        CHECKS,
        "fail_on",
        FAILING,
        callback=read_fail_on,
        metavar="NAMES",
    ),
    option(CHECKS, "drain_deadline_s", "Give up the final reads after so long, at least 2m."),
    option(
        CHECKS,
        "engine",
        "Judge with this engine; auto: Spark for long histories.",
        type=click.Choice(["auto", "spark", "local"]),
    ),
    option(
        CHECKS,
        "checks",
        "Also judge by this check, beside those of the workload (chaos list checks); repeatable.",
        multiple=True,
        callback=_each,
        shell_complete=offer("checks"),
        metavar="NAME",
    ),
    option(
        CHECKS,
        "consistency_models",
        "Hold transactions to these, e.g. snapshot-isolation.  [default: what the system promises]",
        callback=_names,
        shell_complete=offer("consistency models with commas"),
        metavar="NAMES",
    ),
    option(
        CHECKS,
        "reports",
        "Write these reports, e.g. html,junit (chaos list reporters).",
        callback=_names,
        shell_complete=offer("reporters with commas"),
        metavar="NAMES",
    ),
)

_CLUSTER: Final = (_SYSTEM, *_PROGRAM, *_COMMON_OF_CLUSTER, _KEYS, *HOSTS)
"""What decides a cluster, with or without load."""

_ALL: Final = (
    _SYSTEM,
    *_PROGRAM,
    *_COMMON_OF_LOAD,
    *_COMMON_OF_CLUSTER,
    *_FAULTS,
    *_LOAD,
    _KEYS,
    *_CHECKS,
    *HOSTS,
)
"""What decides a run, in the order of help."""

_GONE: Final = (
    _gone("--rto", instead="recovery times are always measured; leave it out, or judge them with --rto-budget TIME"),
    _gone("--recovery", instead="recovery is always measured; leave it out, or set --recovery-time TIME"),
    _gone("--order", instead="order is always checked; leave it out"),
    _gone("--pull", instead="clients read by explicit offset and by group; choose with --workload"),
    _gone("--restart", instead="each run starts its own cluster; leave it out, or name a cluster with --reuse FILE"),
    _gone("--agent", instead="there is no agent; start runs by command, the exit code is the verdict"),
    _gone("-p", instead="there is no agent to listen; --port is that of the machines' sshd", takes_value=True),
    _gone("--password", instead="no passwords in command lines; CHAOS_SSH_PASSWORD holds one", takes_value=True),
)
"""What OpenChaos had beside."""


def _decorated(command: Command, options: Sequence[Decorator]) -> Command:
    for each in reversed(options):
        command = each(command)
    return command


def run_options(command: Command) -> Command:
    """Every option of a run, and ``-d``."""
    return _decorated(command, (*(one.made() for one in _ALL), _BUG, _FILE, SETTINGS_OPTION, *_GONE))


def override_options(command: Command) -> Command:
    """Every option of a run, for a command that has the run's file from elsewhere."""
    return _decorated(command, (*(one.made_for_replay() for one in _ALL), _BUG, SETTINGS_OPTION, *_GONE))


def cluster_options(command: Command) -> Command:
    """The options that decide a cluster, and ``-d``."""
    return _decorated(command, (*(one.made() for one in _CLUSTER), _BUG, _FILE, SETTINGS_OPTION))


def as_argv(options: Mapping[str, Any]) -> list[str]:
    """The words that give these options on a command line."""
    words: list[str] = []
    for name, value in options.items():
        if name == "pairs":
            words += [word for pair in value for word in ("--set", pair)]
        elif value is True:
            words.append(f"--{long_option(name)}")
        elif value is not None and value is not False:
            words += [f"--{long_option(name)}", ",".join(value) if isinstance(value, tuple) else str(value)]
    return words
