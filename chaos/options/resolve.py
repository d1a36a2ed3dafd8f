"""The run that somebody asked for: options, a file, a bug's declaration and defaults, in that order.

Whatever the command line says wins over the file of ``-d``, the file over what a bug declares, that over defaults. Does
not begin anything.
"""

import secrets
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from chaos import plugins
from chaos.core.errors import UsageError
from chaos.core.rand import SEEDS
from chaos.gate.threshold import parse
from chaos.models.registry import model_named
from chaos.options import bugs
from chaos.options.check_names import check_names
from chaos.options.config_file import BACKEND_OPTIONS, Config, load
from chaos.options.consistency import consistency
from chaos.options.experiment import DEFAULTS, Experiment, resolve_experiment, with_defaults
from chaos.options.gates import checked_operations
from chaos.workload.base import alternatives_of
from cluster.bug import SETTING, Bug
from cluster.host import HasDefaults
from cluster.system import System, settings_for
from cluster.versions import can_differ, choose_version

if TYPE_CHECKING:
    from chaos.workload.base import Workload


def parse_settings(pairs: Sequence[str]) -> dict[str, str]:
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


def experiment_of(options: Mapping[str, Any], config: Config | None = None) -> Experiment:
    """The run that options ask for.

    Args:
        options: what click gave, None for what was not given: fields of ``Experiment`` and of backends, and
            ``pairs``, ``bug`` and ``driver``.
        config: what a file says, instead of ``driver``.

    Raises:
        UsageError: unknown or impossible, in the file or on the command line.
    """
    given = {name: value for name, value in options.items() if value is not None}
    driver, bug, asked = given.pop("driver", None), given.pop("bug", None), parse_settings(given.pop("pairs", ()))
    if config is None:
        config = load(Path(driver)) if driver else Config()
    typed = frozenset(given)
    config = _without_version(config, given)
    backend_options = {**config.backend_options, **{name: given.pop(name) for name in typed & BACKEND_OPTIONS.keys()}}
    said = {**_without_old_budget(config.values, typed), **given, "backend_options": _true(backend_options)}
    system, version = _tested(said)
    in_file = {name: value for name, value in config.settings.items() if not _said(name, asked)}
    declared: dict[str, Any] = {}
    wanted = {**in_file, **asked}
    if bug is not None:
        in_file.pop(SETTING, None)
        wanted = {**in_file, **asked}
    bug, found = bug if bug is not None else config.bug, None
    if bug is not None:
        found = bugs.find(system, bug)
        declared, wanted = bugs.options_of(found), bugs.settings_with(found, wanted)
    values = {**declared, **said}
    for name in values.get("reports", ()):
        if name not in (known := plugins.names("reporters")):
            raise UsageError(f"--report {name}: no such reporter{plugins.did_you_mean(name, known)}")
    if values.get("checks"):
        values["checks"] = check_names(values["checks"])
    workload = _workload(values.get("workload", system.workload), found)
    values |= consistency(values, workload)
    needed = with_defaults(settings_for(system, workload.needs | alternatives_of(workload)), wanted)
    place = "--threshold" if "thresholds" in given else config.origins.get("thresholds", "")
    checked_operations(
        values.get("thresholds", ()),
        (word.word for word in model_named(workload.model).functions),
        place if place.startswith("--") else f"{place}: threshold",
        f"the workload {workload.name}",
    )
    settings, seed = system.resolve(needed), secrets.randbelow(SEEDS)
    experiment = resolve_experiment(
        values,
        settings,
        seed,
        workload=workload.name,
        keys=workload.keys,
        version=version,
        of_backend=_defaults_of(values.get("backend", DEFAULTS["backend"])),
    )
    origins = experiment.origins
    origins.update({name: f"--bug {bug}" for name in declared if name not in said})
    origins.update({name: config.origins[name] for name in config.values if name not in given})
    from_file = [config.origins[name] for name in config.backend_options if name not in typed]
    if backend_options:
        origins["backend_options"] = ", ".join([*(["option"] if typed & BACKEND_OPTIONS.keys() else []), *from_file])
    else:
        origins["backend_options"] = "default"
    by = {
        **dict.fromkeys(needed, f"--workload {experiment.workload}"),
        **dict.fromkeys(wanted, f"--bug {bug}"),
        **{name: config.origins[f"settings.{name}"] for name in in_file},
        **dict.fromkeys(asked, "--set"),
    }
    for key in experiment.settings:
        origin = by.get(key) or by.get(_bare(key))
        if origin is not None:
            origins[f"settings.{key}"] = origin
    return experiment


def _defaults_of(backend: str) -> Mapping[str, Any]:
    """What a backend has instead of the defaults of all."""
    if backend not in plugins.names("backends"):
        return {}
    kind = plugins.load("backends", backend)
    return kind.defaults if isinstance(kind, HasDefaults) else {}


def _without_old_budget(values: Mapping[str, Any], typed: Collection[str]) -> dict[str, Any]:
    """A file's options without its budget of recovery times, which ``rto<=D`` is as well, if another is typed."""
    kept = dict(values)
    if "thresholds" in typed:
        kept.pop("rto_budget_s", None)
    if "rto_budget_s" in typed and "thresholds" in kept:
        kept["thresholds"] = tuple(text for text in kept["thresholds"] if not parse(text).is_budget)
    return kept


def _workload(name: str, bug: Bug | None) -> "Workload":
    """The workload of this name, which must suit the bug that is switched on."""
    workload: Workload = plugins.load("workloads", name)()
    if bug is not None:
        bugs.check_workload(bug, workload)
    return workload


def _without_version(config: Config, given: Mapping[str, Any]) -> Config:
    """A file without the program that it names, where the command line names another: a version or a build."""
    own = {"system_version", "artifacts"}
    other = given.get("system", config.values.get("system")) != config.values.get("system")
    if not other and not own & given.keys():
        return config
    return msgspec.structs.replace(config, values={name: at for name, at in config.values.items() if name not in own})


def _tested(said: dict[str, Any]) -> tuple[System, str | None]:
    """The system in the version that is asked for, which is None where it has only one; its build's path in full."""
    if said.get("artifacts") is not None:
        said["artifacts"] = str(Path(said["artifacts"]).expanduser().absolute())
    own: System = plugins.load("systems", said.get("system", DEFAULTS["system"]))()
    system = choose_version(own, said.get("system_version"), said.get("artifacts"))
    return system, system.version if can_differ(own) else None


def _true(backend_options: Mapping[str, Any]) -> dict[str, Any]:
    """Without the switches that are off: a backend that does not know them need not."""
    return {name: value for name, value in sorted(backend_options.items()) if value is not False}


def _said(name: str, asked: Mapping[str, str]) -> bool:
    """Whether the command line sets what a file sets under ``name``; a bare name stands for a full one."""
    return any(name == other or name == _bare(other) or _bare(name) == other for other in asked)


def _bare(name: str) -> str:
    return name.rpartition(".")[2]
