"""``chaos run``: options in, one run, its verdict out."""

import os
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from chaos import plugins
from chaos.core.errors import UsageError
from chaos.experiment import DEFAULTS, resolved


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


BACKEND_OPTIONS = ("image", "cpus", "memory")
"""What is handed to the backend, which may refuse it."""


def progress() -> Callable[[str], None]:
    """A function that prints one line with the seconds since the start."""
    began = time.monotonic()

    def say(text: str) -> None:
        click.echo(f"[{time.monotonic() - began:6.1f}] {text}")
        sys.stdout.flush()

    return say


def _option(
    name: str, field: str, help_text: str, **more: Any
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    default = DEFAULTS.get(field)
    shown = "" if default is None else f"  [default: {default}]"
    return click.option(name, field, default=None, help=help_text + shown, **more)


@click.command("run")
@_option("--system", "system", "System under test (chaos list systems).")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of the system; repeatable.")
@_option("--backend", "backend", "Where the nodes live: auto or one of `chaos list backends`.")
@_option("--image", "image", "Image of the hosts (docker), instead of the one of `chaos image build`.")
@_option("--cpus", "cpus", "Cores that a node may use at most (docker), e.g. 0.5.")
@_option("--memory", "memory", "Memory that a node may use at most (docker), e.g. 512m.")
@_option("--nemesis", "nemesis", "NAME[@role[+role]] (chaos list nemeses).")
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
def run_command(pairs: tuple[str, ...], **options: Any) -> int:
    """Deploy, load, break, heal, drain, check, report.

    The last line printed is the report's path.
    """
    from chaos.backends import chosen
    from chaos.run import run
    from reports.text import summary

    given = {name: value for name, value in options.items() if value is not None}
    if options_of_backend := {name: given.pop(name) for name in BACKEND_OPTIONS if name in given}:
        given["backend_options"] = options_of_backend
    system = plugins.load("systems", given.get("system", DEFAULTS["system"]))()
    settings = system.resolve(parse_settings(pairs))
    experiment = resolved(given, settings, secrets.randbelow(2**31))
    for name in parse_settings(pairs):
        for key in settings:
            if key == name or key.endswith(f".{name}"):
                experiment.origins[f"settings.{key}"] = "--set"
    say = progress()
    backend, why = chosen(experiment.backend, experiment.backend_options)
    say(f"backend  {backend.name}{why}")
    folder, results, code = run(experiment, backend, tuple(sys.argv), say)
    if results is not None:
        click.echo(summary(folder))
    report = folder / "report.html"
    click.echo(_relative(report if report.exists() else folder))
    return code


def _relative(path: Path) -> str:
    """The shorter of the absolute path and the path from here."""
    here = os.path.relpath(path)
    return here if len(here) < len(str(path)) and not here.startswith("..") else str(path)
