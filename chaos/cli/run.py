"""``chaos run``: options in, one run, its verdict out."""

import os
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from chaos import bugs, plugins
from chaos.core.errors import UsageError
from chaos.experiment import DEFAULTS, Experiment, beneath, resolved
from cluster.system import System


def parse_settings(pairs: tuple[str, ...]) -> dict[str, str]:
    """``key=value`` pairs as a mapping; the last of equal keys wins.

    Raises:
        UsageError: a pair without ``=``.
    """
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {pair}: write it as key=value")
        settings[name.strip()] = value.strip()
    return settings


def progress() -> Callable[[str], None]:
    """A function that prints one line with the seconds since the start."""
    began = time.monotonic()

    def say(text: str) -> None:
        click.echo(f"[{time.monotonic() - began:6.1f}] {text}")
        sys.stdout.flush()

    return say


def _option(name: str, field: str, help_text: str, **more: Any) -> Callable[[Callable[..., int]], Callable[..., int]]:
    default = DEFAULTS.get(field)
    shown = "" if default is None else f"  [default: {default}]"
    return click.option(name, field, default=None, help=help_text + shown, **more)


_OF_BACKENDS: set[str] = set()
"""The fields of the options that go to the backend."""


def _flag(
    name: str, field: str, help_text: str, **more: Any
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """An option of a backend: it is not there unless it is given."""
    _OF_BACKENDS.add(field)
    return click.option(name, field, default=None, help=help_text, **more)


@click.command("run")
@_option("--system", "system", "System under test (chaos list systems).")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of the system; repeatable.")
@click.option(
    "--bug",
    "bug_name",
    default=None,
    help="Switch a bug of the system on (chaos list bugs); what it declares are defaults.",
)
@_option("--backend", "backend", "Where the nodes live: auto or one of `chaos list backends`.")
@_flag("--nodes-file", "nodes_file", "File that names the machines (ssh): YAML, or one host a line.")
@_flag("--user", "user", "Who logs in on machines that the file says nothing else of (ssh).")
@_flag("--port", "port", "Port of their sshd (ssh).", type=click.IntRange(1, 65535))
@_flag("--key", "key", "Private key to log in with; else the agent and the usual files (ssh).")
@_flag("--known-hosts", "known_hosts", "File of the machines' keys (ssh).  [default: ~/.ssh/known_hosts]")
@_flag("--accept-new", "accept_new", "Learn the keys of machines that it does not name (ssh).", is_flag=True)
@_flag("--ask-password", "ask_password", "Ask for a password; else CHAOS_SSH_PASSWORD holds one (ssh).", is_flag=True)
@_flag("--install", "install", "Put the system on machines that do not have it (ssh).", is_flag=True)
@_flag("--no-sudo", "no_sudo", "Do not use sudo where the user is not root (ssh).", is_flag=True)
@_flag("--watchdog", "watchdog_s", "Seconds of silence until a machine heals itself (ssh).  [default: 30]", type=float)
@_option("--reuse", "reuse", "File with the commands of a cluster that is there already, by role.")
@_flag("--image", "image", "Image of the hosts (docker), instead of the one of `chaos image build`.")
@_flag("--cpus", "cpus", "Cores that a node may use at most (docker), e.g. 0.5.")
@_flag("--memory", "memory", "Memory that a node may use at most (docker), e.g. 512m.")
@_option("--nemesis", "nemesis", "NAME[@role[+role]], several with commas, or all (chaos list nemeses).")
@_option(
    "--kill", "kill", "What faults of nodes hit: the process and the link, or the whole container (docker).",
    type=click.Choice(["process", "container"]),
)  # fmt: skip
@_option("--plan", "plan", "Take the faults from this plan.jsonl (as a run folder has it) instead of drawing them.")
@_option("--workload", "workload", "What the clients do (chaos list workloads).")
@_option("--rate", "rate", "Sends a second; reads come on top.", type=float)
@_option("--concurrency", "clients", "Clients, each with connections of its own.", type=int)
@_option("--workers", "workers", "Processes over which the clients are spread.", type=int)
@_option("--queues", "queues", "Queues of the topic.", type=int)
@_option("--message-size", "body_bytes", "Bytes of a message body.", type=int)
@_option("--op-timeout", "op_timeout_s", "Deadline of one operation, seconds.", type=float)
@_option("--time-limit", "time_limit_s", "Seconds of load with faults.", type=float)
@_option("--fault-interval", "fault_interval_s", "Healthy seconds before each fault.", type=float)
@_option("--fault-duration", "fault_duration_s", "Seconds of a fault; by default the interval.", type=float)
@_option("--recovery-time", "recovery_s", "Seconds of load after the last heal.", type=float)
@_option("--drain-deadline", "drain_deadline_s", "Seconds the final reads may take, at least 120.", type=float)
@_option("--ready-deadline", "ready_deadline_s", "Seconds the cluster may take to be ready.", type=float)
@_option("--rto-budget", "rto_budget_s", "A longer recovery makes the run invalid, seconds.", type=float)
@_option("--engine", "engine", "What runs the checks.", type=click.Choice(["auto", "spark", "local"]))
@_option("--seed", "seed", "Repeats plan and load; by default drawn and printed.", type=int)
@_option("--store", "store", "Where run folders go.")
def run_command(pairs: tuple[str, ...], bug_name: str | None, **options: Any) -> int:
    """Deploy, load, break, heal, drain, check, report.

    The last line printed is the report's path.
    """
    from chaos.backends import chosen
    from chaos.run import run
    from reports.text import summary

    given = {name: value for name, value in options.items() if value is not None}
    given["backend_options"] = {name: given.pop(name) for name in sorted(given) if name in _OF_BACKENDS}
    experiment = _experiment(given, parse_settings(pairs), bug_name)
    say = progress()
    backend, why = chosen(experiment.backend, experiment.backend_options)
    say(f"backend  {backend.name}{why}")
    folder, results, code = run(experiment, backend, tuple(sys.argv), say)
    if results is not None:
        click.echo(summary(folder))
    report = folder / "report.html"
    click.echo(_relative(report if report.exists() else folder))
    return code


def _experiment(given: dict[str, Any], asked: dict[str, str], bug_name: str | None) -> Experiment:
    """The run as it was asked for: options by field name, settings, and a bug with what that one declares."""
    system: System = plugins.load("systems", given.get("system", DEFAULTS["system"]))()
    declared: dict[str, Any] = {}
    wanted = asked
    if bug_name is not None:
        bug = bugs.find(system, bug_name)
        declared, wanted = bugs.options_of(bug), bugs.settings_with(bug, asked)
    options = {**declared, **given}
    workload: Any = plugins.load("workloads", options.get("workload", DEFAULTS["workload"]))
    needed = beneath(system.settings_for(workload.needs), wanted)
    experiment = resolved(options, system.resolve(needed), secrets.randbelow(2**31))
    origins = experiment.origins
    origins.update({name: f"--bug {bug_name}" for name in declared if name not in given})
    for key in experiment.settings:
        short = key.rpartition(".")[2]
        if key in asked or short in asked:
            origins[f"settings.{key}"] = "--set"
        elif key in wanted:
            origins[f"settings.{key}"] = f"--bug {bug_name}"
        elif key in needed:
            origins[f"settings.{key}"] = f"--workload {experiment.workload}"
    return experiment


def _relative(path: Path) -> str:
    """The shorter of the absolute path and the path from here."""
    here = os.path.relpath(path)
    return here if len(here) < len(str(path)) and not here.startswith("..") else str(path)
