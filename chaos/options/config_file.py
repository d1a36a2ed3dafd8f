"""A run's options from a YAML file: the same names as on the command line, each value with the line it stands in.

A key is a field of ``Experiment`` (as ``config.yaml`` of a run folder has it) or the long option without its dashes;
``settings:`` holds the system's, ``bug:`` one of its bugs. Paths are taken as on the command line. Does not guess: an
unknown word, a word that stands twice and a value of the wrong type are errors with file and line.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec
import yaml

from chaos.basics.amounts import ASKED
from chaos.core.errors import UsageError
from chaos.core.strict_yaml import Entry, Source, read, unknown_key_error
from chaos.options.experiment import Experiment
from chaos.options.fault_sequence import is_sequence, names_of, steps_of
from chaos.options.gates import FIELDS, gate_in
from chaos.options.option_names import ALIASES, long_option
from chaos.options.yaml_amounts import amount_in
from nemesis.plan.sequence import SEQUENCE

BACKEND_OPTIONS: Final[dict[str, type]] = {
    "nodes_file": str,
    "user": str,
    "port": int,
    "key": str,
    "known_hosts": str,
    "accept_new": bool,
    "ask_password": bool,
    "install": bool,
    "no_sudo": bool,
    "watchdog_s": float,
    "image": str,
    "cpus": str,
    "memory": str,
}
"""What backends are told, by name and type: their options on the command line."""

_INNER: Final = ("settings", "origins", "backend_options", "sequence")
_OF_OPENCHAOS: Final = ("driverClass", "metaNodes", "metaNodesParticipateInFault", "endToEndLatencyCheck")


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """What a file asks for.

    ``values`` and ``backend_options``: by field name. ``settings``: the system's, as they are written. ``origins``:
    ``FILE:LINE`` of each field, of ``bug`` and of each ``settings.NAME``.
    """

    values: dict[str, Any] = {}
    backend_options: dict[str, Any] = {}
    settings: dict[str, str] = {}
    bug: str | None = None
    origins: dict[str, str] = {}


def _fields() -> dict[str, Any]:
    """The fields of ``Experiment`` that a file may set, with their types."""
    return {name: kind for name, kind in get_type_hints(Experiment).items() if name not in _INNER}


def known_keys() -> dict[str, str]:
    """Every key that a file may have at its top, and the field that it sets."""
    fields = [*_fields(), *BACKEND_OPTIONS]
    both = {name: field for field in fields for name in (field, long_option(field))}
    return {**both, **ALIASES, "settings": "settings", "backend_options": "backend_options", "bug": "bug"}


def load(path: Path, option: str = "-d") -> Config:
    """Read a file of options.

    Raises:
        UsageError: the file, the line, what is wrong and what would be right.
    """
    source = read(path, option)
    return options(source, source.entries(source.root, "the file"))


def options(source: Source, entries: Iterable[Entry]) -> Config:
    """Pure: the options among these keys, all of which must be options."""
    entries = tuple(entries)
    foreign = next((entry for entry in entries if entry.key in _OF_OPENCHAOS), None)
    if foreign is not None:
        raise UsageError(
            f"{foreign.where}: {foreign.key} is of an OpenChaos driver file; write system: NAME instead, the machines"
            " in a file of their own for nodes-file:, and the system's keys below settings: (docs/guide/openchaos.md)"
        )
    reading = _Reading(source)
    for entry in entries:
        reading.take(entry)
    return reading.config()


class _Reading:
    """Takes one entry after the other to where it belongs."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._keys = known_keys()
        self._fields = _fields()
        self._said: dict[str, dict[str, Any]] = {"values": {}, "backend_options": {}, "settings": {}, "bug": {}}
        self._origins: dict[str, str] = {}

    def config(self) -> Config:
        """All that was taken."""
        said = self._said
        return Config(
            values=said["values"],
            backend_options=said["backend_options"],
            settings=said["settings"],
            bug=said["bug"].get("bug"),
            origins=self._origins,
        )

    def take(self, entry: Entry) -> None:
        """One key of the file's top."""
        field = self._keys.get(entry.key)
        if field is None:
            raise unknown_key_error(entry, self._keys, "see chaos run --help; keys of the system stand below settings:")
        if field == "settings":
            for inner in self._source.entries(entry.value, entry.key):
                self._keep("settings", f"settings.{inner.key}", inner.key, inner, self._source.text)
        elif field == "backend_options":
            for inner in self._source.entries(entry.value, entry.key):
                if inner.key not in BACKEND_OPTIONS:
                    raise unknown_key_error(inner, BACKEND_OPTIONS)
                self._backend(inner.key, inner)
        elif field in BACKEND_OPTIONS:
            self._backend(field, entry)
        elif field == "bug":
            self._keep("bug", field, field, entry, self._source.text)
        else:
            self._option(field, entry)

    def _option(self, field: str, entry: Entry) -> None:
        """An option of a run; a nemesis may have parameters or be a sequence of steps."""
        if field == "nemesis" and not isinstance(entry.value, yaml.ScalarNode):
            if not is_sequence(self._source, entry.value):
                self._keep("values", field, field, entry, lambda node, _: names_of(self._source, node))
                return
            self._keep("values", field, "sequence", entry, lambda node, _: steps_of(self._source, node))
            self._said["values"]["nemesis"] = SEQUENCE
            self._origins["sequence"] = entry.where
        elif not (_is_null(entry.value) and NoneType in get_args(self._fields[field])):
            kind = self._fields[field]
            self._keep("values", field, field, entry, lambda node, what: self._value(node, what, field, kind))

    def _backend(self, field: str, entry: Entry) -> None:
        kind = BACKEND_OPTIONS[field]
        self._keep("backend_options", field, field, entry, lambda node, what: self._value(node, what, field, kind))

    def _keep(self, into: str, origin: str, name: str, entry: Entry, value: Callable[[yaml.Node, str], Any]) -> None:
        """Keep one value, unless another key of the file has said the same thing already."""
        if origin in self._origins:
            raise UsageError(f"{entry.where}: {entry.key} is said in {self._origins[origin]} already; keep one of them")
        self._said[into][name] = value(entry.value, entry.key)
        self._origins[origin] = entry.where

    def _value(self, node: yaml.Node, what: str, field: str, kind: Any) -> Any:
        """One value of a field's type, within the field's bounds."""
        source = self._source
        if field in ASKED:
            return amount_in(source, node, what, ASKED[field])
        if field in FIELDS:
            return gate_in(source, node, what, field)
        if get_origin(kind) is Literal:
            if (text := source.text(node, what)) not in get_args(kind):
                raise source.wrong(node, what, f"one of {', '.join(get_args(kind))}")
            return text
        if get_origin(kind) is tuple:
            return tuple(source.scalar(each, what, str) for each in source.items(node, what))
        plain = next((each for each in get_args(kind) if each is not NoneType), kind)
        return source.scalar(node, what, plain)


def _is_null(node: yaml.Node) -> bool:
    return node.tag == "tag:yaml.org,2002:null"
