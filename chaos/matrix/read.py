"""A matrix file: its keys, its axes, and the shipped ones by name.

The options in it are those of ``chaos run`` and are read by the same loader, with the same errors. Does not expand:
``chaos.matrix.model`` does.
"""

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import yaml

from chaos import plugins
from chaos.core.errors import UsageError
from chaos.core.strict_yaml import Entry, Source, parse, read, unknown_key_error
from chaos.matrix.model import Axis, Matrix, Value, slug
from chaos.options.config_file import Config, known_keys
from chaos.options.config_file import options as run_options
from cluster.trial import Trial, trials_of

SYSTEMS: Final = "systems"
TRIED: Final = ("main", "all")
"""With what an axis has every system: what it is used for most, or all that it is tried with."""
KEYS: Final = ("name", "about", "base", "axes", "exclude", "repeats", "seed")
_FOLDER: Final = files("chaos") / "matrices"
_DECIDED: Final = {
    "seed": "each run has its own, drawn of the matrix' seed; write seed: beside axes:, and repeats: for more runs",
    "store": "runs lie in the folder of the matrix; give --store to chaos matrix",
}
"""Options of a run that the matrix decides: in base or in an axis they would count for nothing."""


def shipped_matrices() -> tuple[str, ...]:
    """The names of the matrices that come with the package."""
    return tuple(sorted(one.name.removesuffix(".yaml") for one in _FOLDER.iterdir() if one.name.endswith(".yaml")))


def read_matrix(text: str) -> Matrix:
    """A matrix by its file, or by the name of a shipped one.

    Raises:
        UsageError: the file, the line, what is wrong and what would be right.
    """
    path = Path(text)
    if text in shipped_matrices() and not path.exists():
        return matrix_of(parse((_FOLDER / f"{text}.yaml").read_text(), f"{text}.yaml"))
    if not path.exists():
        raise UsageError(f"{text}: no such file, and no shipped matrix; shipped: {', '.join(shipped_matrices())}")
    return matrix_of(read(path, "FILE"))


def matrix_of(source: Source) -> Matrix:
    """Pure: the matrix that a file says."""
    found: dict[str, Any] = {"file": source.file, "base": Config(), "exclude": (), "name": slug(Path(source.file).stem)}
    excluded: Entry | None = None
    for entry in source.entries(source.root, "the file"):
        if entry.key in ("name", "about"):
            found[entry.key] = source.text(entry.value, entry.key)
        elif entry.key in ("repeats", "seed"):
            found[entry.key] = _number(source, entry)
        elif entry.key == "base":
            found["base"] = options(source, source.entries(entry.value, "base"))
        elif entry.key == "axes":
            found["axes"] = tuple(_axis(source, axis) for axis in source.entries(entry.value, "axes"))
        elif entry.key == "exclude":
            excluded = entry
        else:
            raise unknown_key_error(entry, KEYS)
    if slug(found["name"]) != found["name"]:
        raise UsageError(f"{source.file}: name {found['name']}: letters, digits and - only; it names a folder")
    if not found.get("axes"):
        raise UsageError(f"{source.file}: no axes:; write axes: {{nemesis: [leader-kill, random-loss]}}")
    if excluded is not None:
        known = {axis.name: {value.name for value in axis.values} for axis in found["axes"]}
        found["exclude"] = tuple(_rule(source, each, known) for each in source.items(excluded.value, "exclude"))
    return Matrix(**found)


def options(source: Source, entries: Iterable[Entry]) -> Config:
    """The options of runs.

    Raises:
        UsageError: unknown, of the wrong kind, or one that the matrix decides.
    """
    found = run_options(source, entries)
    for name, why in _DECIDED.items():
        if name in found.values:
            raise UsageError(f"{found.origins[name]}: {name}: {why}")
    return found


def _number(source: Source, entry: Entry) -> int:
    number: int = source.scalar(entry.value, entry.key, int)
    least = 1 if entry.key == "repeats" else 0
    if number < least:
        raise source.wrong(entry.value, entry.key, f"at least {least}")
    return number


def _axis(source: Source, entry: Entry) -> Axis:
    if isinstance(entry.value, yaml.MappingNode):
        return Axis(entry.key, _values_of_systems(source, entry))
    values = tuple(_value(source, entry.key, node) for node in source.items(entry.value, f"axis {entry.key}"))
    if not values:
        raise UsageError(f"{entry.where}: axis {entry.key} has no values")
    names = [slug(value.name) for value in values]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{entry.where}: axis {entry.key} has two values named {twice}; name them apart")
    return Axis(entry.key, values)


def _values_of_systems(source: Source, entry: Entry) -> tuple[Value, ...]:
    """``{systems: main}``: each system with what it is used for most; ``all``: with all that it is tried with."""
    for inner in source.entries(entry.value, f"axis {entry.key}"):
        if inner.key != SYSTEMS:
            raise unknown_key_error(inner, (SYSTEMS,))
        which = source.text(inner.value, inner.key)
        if which not in TRIED:
            raise source.wrong(inner.value, inner.key, " or ".join(TRIED))
        return tuple(
            _value_of_trial(name, trial, inner.where)
            for name in plugins.names(SYSTEMS)
            for trial in trials_of(plugins.load(SYSTEMS, name)())
            if trial.main or which == "all"
        )
    raise source.wrong(entry.value, f"axis {entry.key}", f"a list of values, or {{{SYSTEMS}: {' or '.join(TRIED)}}}")


def _value_of_trial(system: str, trial: Trial, where: str) -> Value:
    values, settings = {"system": system, "workload": trial.workload}, dict(trial.settings)
    origins = dict.fromkeys((*values, *(f"settings.{name}" for name in settings)), where)
    return Value(f"{system}-{trial.name}", Config(values=values, settings=settings, origins=origins))


def _value(source: Source, axis: str, node: yaml.Node) -> Value:
    """``{name: …, option: …, settings: …}``, or a bare value of the option that the axis is named after."""
    if isinstance(node, yaml.ScalarNode):
        if axis not in known_keys():
            raise UsageError(
                f"{source.where(node)}: {axis} is no option of a run, so its values are bundles;"
                f" write {{name: {node.value}, settings: {{KEY: VALUE}}}}"
            )
        return Value(source.text(node, axis), options(source, [Entry(axis, source.where(node), node)]))
    entries = source.entries(node, f"a value of axis {axis}")
    named = next((entry for entry in entries if entry.key == "name"), None)
    if named is None:
        raise UsageError(f"{source.where(node)}: this value of axis {axis} has no name")
    rest = [entry for entry in entries if entry is not named]
    return Value(source.text(named.value, "name"), options(source, rest))


def _rule(source: Source, node: yaml.Node, known: dict[str, set[str]]) -> dict[str, tuple[str, ...]]:
    rule = {}
    for entry in source.entries(node, "a rule of exclude"):
        if entry.key not in known:
            raise unknown_key_error(entry, tuple(known))
        one = isinstance(entry.value, yaml.ScalarNode)
        nodes = (entry.value,) if one else source.items(entry.value, entry.key)
        names = tuple(source.text(each, entry.key) for each in nodes)
        missing = next((name for name in names if name not in known[entry.key]), None)
        if missing is not None:
            raise unknown_key_error(Entry(missing, entry.where, entry.value), tuple(known[entry.key]))
        rule[entry.key] = names
    return rule
