"""The options of a run, once for every command that takes them.

The letters and the long names that OpenChaos had are taken where they mean something here; the others are refused with
the word to use instead. The module refuses to say what they ask for: ``chaos.options.resolve`` does.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from chaos.core.errors import UsageError
from chaos.options.config_file import long_option
from chaos.options.experiment import DEFAULTS

Command = Callable[..., int]


def _option(field: str, help_text: str, *also: str, **more: Any) -> Callable[[Command], Command]:
    """The option of one field; ``also``: its other names. It is None unless it is given."""
    default = DEFAULTS.get(field)
    shown = "" if default is None else f"  [default: {default}]"
    return click.option(f"--{long_option(field)}", *also, field, default=None, help=help_text + shown, **more)


def _names(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Names with commas or, as OpenChaos had them, semicolons between them."""
    return None if value is None else tuple(name.strip() for name in value.replace(";", ",").split(",") if name.strip())


def _gone(*names: str, instead: str, takes_value: bool = False) -> Callable[[Command], Command]:
    """An option of OpenChaos that means nothing here: refused with what to do instead."""

    def refuse(_ctx: click.Context, _param: click.Parameter, value: Any) -> None:
        if value:
            raise UsageError(f"{names[-1]}: {instead}")

    return click.option(
        *names, hidden=True, expose_value=False, callback=refuse, is_flag=not takes_value, is_eager=True
    )


SETTINGS_OPTION: Final = click.option(
    "--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of the system; repeatable."
)
STORE_OPTION: Final = click.option(
    "--store", default=DEFAULTS["store"], show_default=True, help="Where run folders are."
)
LIVE_OPTION: Final = click.option(
    "--live",
    type=click.Choice(["auto", "rich", "plain"]),
    default="auto",
    show_default=True,
    help="How the run is shown: a live picture, or a line per event and one per 30 s; auto: by the terminal.",
)
_FILE: Final = click.option(
    "-d",
    "--driver",
    "driver",
    default=None,
    metavar="FILE",
    help="Take options from this YAML file, e.g. config.yaml of a run folder; what is typed here wins.",
)
_BUG: Final = click.option(
    "--bug",
    "bug",
    default=None,
    help="Switch a bug of the system on (chaos list bugs); what it declares are defaults.",
)

_CLUSTER: Final = (
    _option("system", "System under test (chaos list systems)."),
    SETTINGS_OPTION,
    _BUG,
    _option("backend", "Where the nodes live: auto or one of `chaos list backends`."),
    _option("nodes_file", "File that names the machines (ssh): YAML, or one host a line."),
    _option("user", "Who logs in on machines that the file says nothing else of (ssh).", "-u", "--username"),
    _option("port", "Port of their sshd (ssh).", type=click.IntRange(1, 65535)),
    _option("key", "Private key to log in with; else the agent and the usual files (ssh)."),
    _option("known_hosts", "File of the machines' keys (ssh).  [default: ~/.ssh/known_hosts]"),
    _option("accept_new", "Learn the keys of machines that it does not name (ssh).", is_flag=True),
    _option("ask_password", "Ask for a password; else CHAOS_SSH_PASSWORD holds one (ssh).", is_flag=True),
    _option("install", "Put the system on machines that do not have it (ssh).", is_flag=True),
    _option("no_sudo", "Do not use sudo where the user is not root (ssh).", is_flag=True),
    _option("watchdog_s", "Seconds of silence until a machine heals itself (ssh).  [default: 30]", type=float),
    _option("reuse", "File with the commands of a cluster that is there already, by role."),
    _option("image", "Image of the hosts (docker), instead of the one of `chaos image build`."),
    _option("cpus", "Cores that a node may use at most (docker), e.g. 0.5."),
    _option("memory", "Memory that a node may use at most (docker), e.g. 512m."),
    _option(
        "kill",
        "What faults of nodes hit: the process and the link, or the whole container (docker).",
        type=click.Choice(["process", "container"]),
    ),
    _option("queues", "Queues of the topic.", type=int),
    _option("ready_deadline_s", "Seconds the cluster may take to be ready.", type=float),
    _option("seed", "Repeats plan and load; by default drawn and printed.", type=int),
    _option("store", "Where run folders go.", "--output-dir"),
)
"""What decides a cluster, with or without load."""

_LOAD: Final = (
    _option(
        "nemesis",
        "NAME[:PARAM=VALUE][@role[+role]], several with commas, or all (chaos list nemeses).",
        "-f",
        "--fault",
    ),
    _option("fault_nodes", "Whom fixed- nemeses hit, e.g. b1,b2.", "-n", callback=_names),
    _option("plan", "Take the faults from this plan.jsonl (as a run folder has it) instead of drawing them."),
    _option("pin", "With --plan: hit whom that run hit instead of choosing again.", is_flag=True),
    _option("workload", "What the clients do (chaos list workloads).", "-m", "--model"),
    _option("rate", "Sends a second; reads come on top.", "-r", type=float),
    _option("clients", "Clients, each with connections of its own.", "-c", type=int),
    _option("workers", "Processes over which the clients are spread.", type=int),
    _option("body_bytes", "Bytes of a message body.", type=int),
    _option("op_timeout_s", "Deadline of one operation, seconds.", type=float),
    _option("time_limit_s", "Seconds of load with faults.", "-t", "--limit-time", type=float),
    _option("fault_interval_s", "Healthy seconds before each fault.", "-i", type=float),
    _option("fault_duration_s", "Seconds of a fault; by default the interval.", type=float),
    _option(
        "rhythm",
        "How a mix of faults goes: mixed: lengths drawn from 0.5, 2, 8 s and --fault-duration, some at once, the load"
        " quiet before some; even: all of --fault-duration, one after the other.",
        type=click.Choice(["mixed", "even"]),
    ),
    _option("recovery_s", "Least seconds of load after the last heal.", type=float),
    _option("drain_deadline_s", "Seconds the final reads may take, at least 120.", type=float),
    _option("rto_budget_s", "A longer recovery makes the run invalid, seconds.", type=float),
    _option("engine", "What runs the checks.", type=click.Choice(["auto", "spark", "local"])),
    _gone("--rto", instead="recovery times are always measured; leave it out, or judge them with --rto-budget S"),
    _gone("--recovery", instead="recovery is always measured; leave it out, or set --recovery-time S"),
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
