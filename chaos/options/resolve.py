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
from chaos.basics.rand import SEEDS
from chaos.core.errors import UsageError
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
    driver, typed_bug, asked = given.pop("driver", None), given.pop("bug", None), parse_settings(given.pop("pairs", ()))
    if config is None:
        config = load(Path(driver)) if driver else Config()
    typed = frozenset(given)
    config = _without_version(config, given)
    backend_options = {**config.backend_options, **{name: given.pop(name) for name in typed & BACKEND_OPTIONS.keys()}}
    said = {**_without_old_budget(config.values, typed), **given, "backend_options": _true(backend_options)}
    system, version = _tested(said)
    bug = _bug_of(system, typed_bug, config.bug)
    declared = bugs.options_of(bug) if bug is not None else {}
    in_file = _settings_of_file(config, asked, typed_bug)
    wanted = bugs.settings_with(bug, {**in_file, **asked}) if bug is not None else {**in_file, **asked}
    values = {**declared, **said}
    _check_reporters(values.get("reports", ()))
    if values.get("checks"):
        values["checks"] = check_names(values["checks"])
    workload = _workload(values.get("workload", system.workload), bug)
    values |= consistency(values, workload)
    needed = with_defaults(settings_for(system, workload.needs | alternatives_of(workload)), wanted)
    _check_thresholds(values.get("thresholds", ()), workload, _place_of_thresholds(config, typed))
    experiment = resolve_experiment(
        values,
        system.resolve(needed),
        secrets.randbelow(SEEDS),
        workload=workload.name,
        keys=workload.keys,
        version=version,
        of_backend=_defaults_of(values.get("backend", DEFAULTS["backend"])),
    )
    by_bug = f"--bug {bug.name}" if bug is not None else ""
    by = {
        **dict.fromkeys(needed, f"--workload {experiment.workload}"),
        **dict.fromkeys(wanted, by_bug),
        **{name: config.origins[f"settings.{name}"] for name in in_file},
        **dict.fromkeys(asked, "--set"),
    }
    experiment.origins.update({name: by_bug for name in declared if name not in said})
    experiment.origins.update(_origins_of_file(config, typed))
    experiment.origins["backend_options"] = _origin_of_backend_options(config, typed)
    experiment.origins.update(_origins_of_settings(experiment.settings, by))
    return experiment


def _bug_of(system: System, typed: str | None, in_file: str | None) -> Bug | None:
    """The bug that is switched on, if any is."""
    name = typed if typed is not None else in_file
    return bugs.find(system, name) if name is not None else None


def _settings_of_file(config: Config, asked: Mapping[str, str], typed_bug: str | None) -> dict[str, str]:
    """The settings of a file that the command line does not decide; a bug that is typed decides the bug's."""
    left = {name: value for name, value in config.settings.items() if not _said(name, asked)}
    return left if typed_bug is None else {name: value for name, value in left.items() if name != SETTING}


def _check_reporters(names: Sequence[str]) -> None:
    for name in names:
        if name not in (known := plugins.names("reporters")):
            raise UsageError(f"--report {name}: no such reporter{plugins.did_you_mean(name, known)}")


def _place_of_thresholds(config: Config, typed: Collection[str]) -> str:
    """Where the thresholds are written."""
    place = "--threshold" if "thresholds" in typed else config.origins.get("thresholds", "")
    return place if place.startswith("--") else f"{place}: threshold"


def _check_thresholds(thresholds: Sequence[str], workload: "Workload", place: str) -> None:
    """See that thresholds name operations that the workload has."""
    words = (word.word for word in model_named(workload.model).functions)
    checked_operations(thresholds, words, place, f"the workload {workload.name}")


def _origins_of_file(config: Config, typed: Collection[str]) -> dict[str, str]:
    """Option → where in the file it is, of those that the command line does not decide."""
    return {name: config.origins[name] for name in config.values if name not in typed}


def _origin_of_backend_options(config: Config, typed: Collection[str]) -> str:
    """Who decided the options of the backend, which have one origin together."""
    origins = ["option"] if typed & BACKEND_OPTIONS.keys() else []
    origins += [config.origins[name] for name in config.backend_options if name not in typed]
    return ", ".join(origins) or "default"


def _origins_of_settings(settings: Collection[str], by: Mapping[str, str]) -> dict[str, str]:
    """Who decided each setting. ``by``: the same by the names that people gave, which may be bare."""
    found = {name: by.get(name) or by.get(_bare(name)) for name in settings}
    return {f"settings.{name}": origin for name, origin in found.items() if origin is not None}


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
