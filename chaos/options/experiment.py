"""The resolved value of a run: every option with its origin, before anything happens.

``Experiment`` is what ``chaos run`` was asked for once defaults are filled in; ``as_yaml`` writes it with the origin of
each value as a comment. Does not touch a host or a file.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec
import yaml

from chaos.basics.amounts import BOUNDS
from chaos.core.errors import UsageError
from chaos.core.gate import FAIL_ON, Allowed
from chaos.gate.threshold import budget, parse
from chaos.options.option_names import long_option
from nemesis.plan.mix_times import Rhythm
from nemesis.plan.sequence import SEQUENCE, Steps

DEFAULTS: Final[dict[str, Any]] = {
    "system": "minimq",
    "backend": "auto",
    "nemesis": "random-partition",
    "kill": "process",
    "rate": 200.0,
    "clients": 8,
    "workers": 2,
    "body_bytes": 128,
    "op_timeout_s": 3.0,
    "time_limit_s": 60.0,
    "fault_interval_s": 10.0,
    "rhythm": "mixed",
    "recovery_s": 10.0,
    "drain_deadline_s": 180.0,
    "ready_deadline_s": 180.0,
    "engine": "auto",
    "checks": (),
    "consistency_models": (),
    "reports": ("html",),
    "thresholds": (),
    "fail_on": FAIL_ON,
    "allow": (),
    "store": "store",
}
"""What holds when nobody says otherwise; the seed is drawn anew for each run."""


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides a run. Durations in seconds; ``rate`` in sends a second.

    ``system_version``: None where a system has only one. ``artifacts``: the folder with the user's own build of it.
    ``checks``: those beside the workload's own. ``consistency_models``: that transactions are held to; none: what is
    promised. ``thresholds``: as ``chaos.gate.threshold`` writes them; the tightest
    ``rto<=D`` among them is ``rto_budget_s`` as well. ``sequence``: the steps, if the nemesis is one. ``settings`` are
    the system's, resolved; ``backend_options`` the backend's, as given; ``origins`` says for each field who decided it.
    """

    system: str
    system_version: str | None
    artifacts: str | None
    backend: str
    workload: str
    nemesis: str
    rate: float
    clients: int
    workers: int
    keys: int
    body_bytes: int
    op_timeout_s: float
    time_limit_s: float
    fault_interval_s: float
    fault_duration_s: float
    rhythm: Rhythm
    fault_when: str | None
    fault_within_s: float
    never_heal: bool
    recovery_s: float
    drain_deadline_s: float
    ready_deadline_s: float
    rto_budget_s: float | None
    engine: Literal["auto", "spark", "local"]
    checks: tuple[str, ...]
    consistency_models: tuple[str, ...]
    reports: tuple[str, ...]
    thresholds: tuple[str, ...]
    fail_on: tuple[str, ...]
    allow: tuple[Allowed, ...]
    seed: int
    store: str
    fault_nodes: tuple[str, ...]
    plan: str | None
    pin: bool
    backend_options: dict[str, Any]
    reuse: str | None
    kill: Literal["process", "container"]
    sequence: Steps | None
    settings: dict[str, str]
    origins: dict[str, str]

    def max_in_flight(self, operations_per_send: float, send_deadline_s: float = 0.0) -> int:
        """The bound on operations in flight: an open loop must outlive its own deadline in a full outage.

        ``send_deadline_s``: how long a send is attempted, if that is longer than ``op_timeout_s``.
        """
        due = self.rate * operations_per_send * (self.op_timeout_s + 1)
        due += self.rate * max(0.0, send_deadline_s - self.op_timeout_s)
        return max(64, math.ceil(due * 1.25))


def with_defaults(defaults: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, str]:
    """The settings as asked for, and of ``defaults`` (by full name) those that nobody asked for, short or in full."""
    return {**{name: value for name, value in defaults.items() if name.rpartition(".")[2] not in asked}, **asked}


def resolve_experiment(
    given: Mapping[str, Any],
    settings: dict[str, str],
    seed: int,
    *,
    workload: str = "queue",
    keys: int = 4,
    version: str | None = None,
    of_backend: Mapping[str, Any] = MappingProxyType({}),
) -> Experiment:
    """Fill in defaults and check what can be checked without the system.

    Args:
        given: the options that somebody set, by field name.
        settings: the system's settings as given.
        seed: used if ``given`` has none.
        workload: that of the system, used likewise.
        keys: of the workload, used likewise.
        version: of the system, used likewise.
        of_backend: what its backend has instead of ``DEFAULTS``.

    Raises:
        UsageError: an impossible value.
    """
    unset: dict[str, Any] = {
        "artifacts": None,
        "rto_budget_s": None,
        "fault_nodes": (),
        "fault_when": None,
        "never_heal": False,
        "plan": None,
        "pin": False,
        "backend_options": {},
        "reuse": None,
        "sequence": None,
    }
    own = {"seed": seed, "workload": workload, "keys": keys, "system_version": version}
    values = {**DEFAULTS, **unset, **own, **of_backend, **given}
    if values["nemesis"] != SEQUENCE:
        values["sequence"] = None  # the command line named another nemesis
    values.setdefault("fault_within_s", values["fault_interval_s"])
    values.setdefault("fault_duration_s", _usual_duration_s(values))
    origins = {name: "option" if name in given else "default" for name in values}
    origins.update({name: f"--backend {values['backend']}" for name in of_backend if name not in given})
    for name in ("fault_duration_s", "fault_within_s"):
        if name not in given:
            origins[name] = "--fault-interval"
    if values["never_heal"] and "fault_duration_s" not in given:
        origins["fault_duration_s"] = "--never-heal"
    if values["artifacts"] is not None:
        origins["system_version"] = "--artifacts"
    if "seed" not in given:
        origins["seed"] = "drawn for this run"
    for name, amount in BOUNDS.items():
        if (value := values.get(name)) is not None and not amount.holds(value):
            raise UsageError(f"--{long_option(name)} {value:.15g}: give {amount.wanted}")
    if values["pin"] and values["plan"] is None:
        raise UsageError("--pin needs --plan: the plan.jsonl of the run that it repeats (or: chaos replay RUN)")
    _check_never_heal(values, given)
    values["workers"] = min(values["workers"], values["clients"])
    _set_budget(values, origins)
    return Experiment(**values, settings=settings, origins=origins)


def _usual_duration_s(values: Mapping[str, Any]) -> float:
    """How long faults last unless somebody says it: as long as the stretches between; one without a heal to the end."""
    interval_s: float = values["fault_interval_s"]
    if not values["never_heal"]:
        return interval_s
    waits_s = values["fault_within_s"] if values["fault_when"] else 0.0
    left_s: float = values["time_limit_s"] - interval_s - waits_s
    return left_s if left_s > 0 else interval_s


def _check_never_heal(values: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse what contradicts a fault that is never healed."""
    if not values["never_heal"]:
        return
    if given.get("fault_duration_s") not in (None, _usual_duration_s(values)):
        raise UsageError("--never-heal: the fault lasts to the end; leave --fault-duration out")
    if values["plan"] is not None:
        raise UsageError("--never-heal: the plan of --plan says which faults are healed; leave one of the two out")
    if values["sequence"] is not None:
        raise UsageError("--never-heal: goes with one fault by its name, as in --nemesis minor-kill, not with steps")


def _set_budget(values: dict[str, Any], origins: dict[str, str]) -> None:
    """``rto<=D`` and ``--rto-budget D`` are one thing: the tightest of them is the budget, and is a threshold."""
    limits_s = [one.limit for one in map(parse, values["thresholds"]) if one.is_budget]
    asked_s = values["rto_budget_s"]
    if asked_s is not None and not any(limit_s <= asked_s for limit_s in limits_s):
        values["thresholds"] = (*values["thresholds"], budget(asked_s))
        origins["thresholds"] = "option" if origins["thresholds"] == "option" else "--rto-budget"
    elif limits_s:
        values["rto_budget_s"] = min(limits_s)
        origins["rto_budget_s"] = "--threshold"


def as_yaml(experiment: Experiment) -> str:
    """The experiment as YAML, each value with its origin as a comment."""
    lines = ["# the run as it was resolved; the comment says who decided each value"]
    for name, value in msgspec.to_builtins(experiment).items():
        if name == "nemesis" and experiment.sequence is not None:
            value = msgspec.to_builtins(experiment.sequence)  # noqa: PLW2901 - steps stand where a name would
        if name not in ("origins", "settings", "sequence"):
            lines.append(f"{_line(name, value):<40} # {experiment.origins.get(name, 'default')}")
    lines.append("settings:" if experiment.settings else "settings: {}")
    for name, value in experiment.settings.items():
        lines.append(f"  {_line(name, value):<38} # {experiment.origins.get('settings.' + name, 'default')}")
    return "\n".join(lines) + "\n"


def _line(name: str, value: Any) -> str:
    """``name: value`` as one line of YAML."""
    return yaml.safe_dump({name: value}, default_flow_style=True, width=10_000).strip()[1:-1]
