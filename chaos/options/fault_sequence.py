"""Faults as they stand in a YAML file: names with parameters, or a sequence of steps.

``{random-loss@broker: {probability: 0.5}, leader-kill: }`` is ``random-loss:probability=0.5@broker,leader-kill`` of the
command line. A sequence is a list of steps, or a mapping with ``steps`` and ``repeat``. Each error names the
line. What a fault does, ``nemesis.plan`` knows.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

from chaos.basics.amounts import DAY_S, Amount
from chaos.core.errors import UsageError
from chaos.core.strict_yaml import Entry, Source, unknown_key_error, word
from chaos.options.yaml_amounts import amount_in
from nemesis.faults.params import Param
from nemesis.plan.nemesis_names import params_named
from nemesis.plan.sequence import UNTIL, Step, Steps, wrong_with

EXAMPLE: Final = "{at: 10, nemesis: leader-kill@broker, duration: 20}"
_WORDS: Final = re.compile(r"\w+(\+\w+)*")
_KEYS: Final = ("nemesis", "duration", "at", "after", "when", "within")
_TIME: Final = Amount("duration", 0, 30 * DAY_S)
_OF_SEQUENCE: Final = ("steps", "repeat")
WITH_PARAMETERS: Final = "{random-loss@broker: {probability: 0.5}}"


def is_sequence(source: Source, node: yaml.Node) -> bool:
    """Whether a nemesis that is no plain word is a sequence of steps; else it is a mapping of names to parameters."""
    if isinstance(node, yaml.SequenceNode):
        return True
    entries = source.entries(node, "nemesis")
    return any(one.key in _OF_SEQUENCE or isinstance(one.value, yaml.SequenceNode) for one in entries)


def names_of(source: Source, node: yaml.Node) -> str:
    """The text of a nemesis, as the command line has it, out of a word or of a mapping of names to parameters.

    Raises:
        UsageError: the file, the line, what is wrong and what would be right.
    """
    if not isinstance(node, yaml.MappingNode):
        return str(source.scalar(node, "nemesis", str))
    found = [_with_parameters(source, entry) for entry in source.entries(node, "nemesis")]
    if not found:
        raise UsageError(f"{source.where(node)}: no nemesis is named; write {WITH_PARAMETERS}, or nemesis: noop")
    return ",".join(found)


def _with_parameters(source: Source, entry: Entry) -> str:
    """One name with its parameters, which stand before the roles."""
    if ":" in entry.key or "," in entry.key:
        raise UsageError(f"{entry.where}: {entry.key}: parameters stand in a mapping, as {WITH_PARAMETERS}")
    if isinstance(entry.value, yaml.ScalarNode) and not entry.value.value:
        return entry.key
    known = params_named(entry.key)
    params = [f"{one.key}={_value(source, one, known)}" for one in source.entries(entry.value, entry.key)]
    name, at, roles = entry.key.partition("@")
    return f"{name}{':' if params else ''}{','.join(params)}{at}{roles}"


def _value(source: Source, entry: Entry, known: Mapping[str, Param]) -> str:
    """A parameter's value as it is typed: a number, words, or a text."""
    param = known.get(entry.key)
    if param is not None and param.pattern and isinstance(entry.value, yaml.ScalarNode):
        said = str(entry.value.value)
    elif word(entry.value) in ("a whole number", "a number"):
        said = f"{source.scalar(entry.value, entry.key, float):.12g}"
    elif word(entry.value) == "text" and _WORDS.fullmatch(entry.value.value):
        said = str(entry.value.value)
    else:
        raise source.wrong(entry.value, entry.key, "a number, or words joined by +")
    if param is not None and param.value(said) is None:
        raise UsageError(f"{entry.where}: {entry.key} {said}: {param.instead_of(said)}")
    return said


def steps_of(source: Source, node: yaml.Node) -> Steps:
    """The sequence that a node holds.

    Raises:
        UsageError: the file, the line, what is wrong and what would be right.
    """
    if isinstance(node, yaml.SequenceNode):
        return Steps(steps=_steps(source, node))
    found: dict[str, Any] = {}
    for entry in source.entries(node, "nemesis"):
        if entry.key == "steps":
            found["steps"] = _steps(source, entry.value)
        elif entry.key == "repeat":
            found["repeat"] = _repeat(source, entry.value)
        else:
            raise unknown_key_error(entry, _OF_SEQUENCE)
    if "steps" not in found:
        raise UsageError(f"{source.where(node)}: nemesis has no steps; write steps: [{EXAMPLE}]")
    return Steps(**found)


def _repeat(source: Source, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode) and node.value == UNTIL:
        return UNTIL
    number = source.scalar(node, "repeat", int)
    if number < 1:
        raise source.wrong(node, "repeat", f"at least 1, or {UNTIL}")
    return number


def _steps(source: Source, node: yaml.Node) -> tuple[Step, ...]:
    found = tuple(_step(source, each) for each in source.items(node, "nemesis"))
    if not found:
        raise UsageError(f"{source.where(node)}: no step is in the list; write {EXAMPLE}, or nemesis: noop")
    return found


def _step(source: Source, node: yaml.Node) -> Step:
    said: dict[str, Any] = {}
    for entry in source.entries(node, "a step"):
        if entry.key not in _KEYS:
            raise unknown_key_error(entry, _KEYS)
        if entry.key == "nemesis":
            said[entry.key] = names_of(source, entry.value)
        elif entry.key == "when":
            said[entry.key] = str(source.scalar(entry.value, "when", str))
        else:
            said[entry.key] = amount_in(source, entry.value, entry.key, _TIME)
    missing = next((key for key in ("nemesis", "duration") if key not in said), None)
    if missing is not None:
        raise UsageError(f"{source.where(node)}: this step has no {missing}; write it as {EXAMPLE}")
    step = Step(**said)
    if (what := wrong_with(step)) is not None:
        raise UsageError(f"{source.where(node)}: this step: {what}")
    return step
