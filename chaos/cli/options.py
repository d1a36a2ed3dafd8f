"""The options of a run, once for every command that takes them.

Letters and long names of OpenChaos work where they mean something here; the others are refused with the word to use
instead. ``chaos.options.resolve`` makes an experiment of the values.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from chaos.cli.amount_type import AmountType
from chaos.core.errors import UsageError
from chaos.options.amounts import BOUNDS, duration
from chaos.options.experiment import DEFAULTS
from chaos.options.option_names import long_option

Command = Callable[..., int]


def _option(field: str, help_text: str, *also: str, **more: Any) -> Callable[[Command], Command]:
    """The option of one field; ``also``: its other names. It is None unless it is given."""
    shown = "" if DEFAULTS.get(field) is None else f"  [default: {_said(field, DEFAULTS[field])}]"
    if field in BOUNDS:
        more["type"] = AmountType(BOUNDS[field])
    return click.option(f"--{long_option(field)}", *also, field, default=None, help=help_text + shown, **more)


def _said(field: str, value: Any) -> str:
    """A value as somebody would type it."""
    if field in BOUNDS:
        return duration(value) if BOUNDS[field].kind == "duration" else f"{value:g}"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _names(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Names with commas or, as OpenChaos had them, semicolons between them."""
    return None if value is None else tuple(name.strip() for name in value.replace(";", ",").split(",") if name.strip())


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
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a key of the system, e.g. minInSyncReplicas=1; repeatable.",
)
STORE_OPTION: Final = click.option(
    "--store", default=DEFAULTS["store"], show_default=True, help="Look for runs in this folder."
)
LIVE_OPTION: Final = click.option(
    "--live",
    type=click.Choice(["auto", "rich", "plain"]),
    default="auto",
    show_default=True,
    help="Show a live picture (rich), or a line per event and one per 30 s (plain); auto: by the terminal.",
)
_FILE: Final = click.option(
    "-d",
    "--driver",
    "driver",
    default=None,
    metavar="FILE",
    help="Take options from this YAML file, e.g. a run's config.yaml; what you type wins.",
)
_BUG: Final = click.option(
    "--bug",
    "bug",
    default=None,
    help="Switch on a bug of the system with the options that it declares (chaos list bugs).",
)

_CLUSTER: Final = (
    _option("system", "Test this system (chaos list systems)."),
    SETTINGS_OPTION,
    _BUG,
    _option("backend", "Run the nodes there: auto, or one of `chaos list backends`."),
    _option("nodes_file", "Take the machines from this file: YAML, or one [user@]host[:port] a line (ssh)."),
    _option("user", "Log in as this user where the file names none (ssh).", "-u", "--username"),
    _option("port", "Connect to this port where the file names none (ssh)."),
    _option("key", "Log in with this private key; else with the agent and the usual files (ssh)."),
    _option("known_hosts", "Check host keys against this file (ssh).  [default: ~/.ssh/known_hosts]"),
    _option("accept_new", "Learn host keys that are not known yet (ssh).", is_flag=True),
    _option("ask_password", "Ask for a password; else take it from CHAOS_SSH_PASSWORD (ssh).", is_flag=True),
    _option("install", "Install the system on machines that lack it (ssh).", is_flag=True),
    _option("no_sudo", "Do without sudo where the user is not root (ssh).", is_flag=True),
    _option("watchdog_s", "Let a machine heal itself after so long without us (ssh).  [default: 30s]"),
    _option("reuse", "Use a cluster that is already there; this file has its commands, by role (ssh)."),
    _option("image", "Use this image instead of that of `chaos image build` (docker)."),
    _option("cpus", "Limit each node to this many cores, e.g. 0.5 (docker)."),
    _option("memory", "Limit each node's memory, e.g. 512m (docker)."),
    _option(
        "kill",
        "Let faults of nodes hit the process and its link, or the whole container (docker).",
        type=click.Choice(["process", "container"]),
    ),
    _option("keys", "Use this many queues, registers or whatever the workload needs, which says a default."),
    _option("ready_deadline_s", "Give up a cluster that is not ready after so long."),
    _option("seed", "Repeat the plan and load of this seed; by default drawn and printed."),
    _option("store", "Put run folders here.", "--output-dir"),
)
"""What decides a cluster, with or without load."""

_LOAD: Final = (
    _option(
        "nemesis",
        "NAME[:PARAM=VALUE][@ROLE or, of a leader, @SUBJECT], several with commas, or all (chaos list nemeses).",
        "-f",
        "--fault",
    ),
    _option("fault_nodes", "Whom fixed- nemeses hit, e.g. b1,b2.", "-n", callback=_names),
    _option("plan", "Take the faults from this plan.jsonl of a run folder."),
    _option("pin", "With --plan: hit the nodes that that run hit.", is_flag=True),
    _option("workload", "Let clients do this (chaos list workloads).", "-m", "--model"),
    _option("rate", "Send this many messages a second; reads come on top.", "-r"),
    _option("clients", "Use this many clients, each with connections of its own.", "-c", "--concurrency"),
    _option("workers", "Spread the clients over this many processes."),
    _option("body_bytes", "Make message bodies this many bytes long."),
    _option("op_timeout_s", "Give up an operation after so long."),
    _option("time_limit_s", "Load and break the cluster for so long, e.g. 90, 10m or 1h30m.", "-t", "--limit-time"),
    _option("fault_interval_s", "Wait so long without a fault before each one.", "-i"),
    _option("fault_duration_s", "Heal each fault after so long; by default the interval."),
    _option(
        "rhythm",
        "Draw the lengths of a mix of faults from 0.5, 2, 8 s and --fault-duration, let some overlap, and send little"
        " before some (mixed); or give all one length, one after the other (even).",
        type=click.Choice(["mixed", "even"]),
    ),
    _option("recovery_s", "Load for at least so long after the last heal."),
    _option("drain_deadline_s", "Give up the final reads after so long, at least 2m."),
    _option("rto_budget_s", "Call the run invalid if a recovery takes longer."),
    _option(
        "engine",
        "Judge with this engine; auto: Spark for long histories.",
        type=click.Choice(["auto", "spark", "local"]),
    ),
    click.option(
        "--check",
        "checks",
        multiple=True,
        callback=_each,
        metavar="NAME",
        help="Also judge by this check, beside those of the workload (chaos list checks); repeatable.",
    ),
    _option("reports", "Write these reports, e.g. html,junit (chaos list reporters).", callback=_names),
    _gone("--rto", instead="recovery times are always measured; leave it out, or judge them with --rto-budget TIME"),
    _gone("--recovery", instead="recovery is always measured; leave it out, or set --recovery-time TIME"),
    _gone("--order", instead="order is always checked; leave it out"),
    _gone("--pull", instead="clients read by explicit offset and by group; choose with --workload"),
    _gone("--restart", instead="each run starts its own cluster; leave it out, or name a cluster with --reuse FILE"),
    _gone("--agent", instead="there is no agent; start runs by command, the exit code is the verdict"),
    _gone("-p", instead="there is no agent to listen; --port is that of the machines' sshd", takes_value=True),
    _gone("--password", instead="no passwords in command lines; CHAOS_SSH_PASSWORD holds one", takes_value=True),
)
"""What decides the load, the faults and the verdict, and what OpenChaos had beside."""


def _decorated(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def run_options(command: Command) -> Command:
    """Every option of a run, and ``-d``."""
    return _decorated(command, (_FILE, *_CLUSTER, *_LOAD))


def override_options(command: Command) -> Command:
    """Every option of a run, for a command that has the run's file from elsewhere."""
    return _decorated(command, (*_CLUSTER, *_LOAD))


def cluster_options(command: Command) -> Command:
    """The options that decide a cluster, and ``-d``."""
    return _decorated(command, (_FILE, *_CLUSTER))


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
