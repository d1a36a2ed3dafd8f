"""A sequence of faults as it stands in a YAML file: a list of steps, or a mapping with ``steps`` and ``repeat``.

Each error names the line. The module refuses to know what a step does: ``nemesis.plan.sequence`` does.
"""

from typing import Any, Final

import yaml

from chaos.core.errors import UsageError
from chaos.core.strict_yaml import Source, unknown
from nemesis.plan.sequence import UNTIL, Step, Steps, wrong_with

EXAMPLE: Final = "{at: 10, nemesis: leader-kill@broker, duration: 20}"
_KEYS: Final = {"nemesis": str, "duration": float, "at": float, "after": float}


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
            raise unknown(entry, ("steps", "repeat"))
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
            raise unknown(entry, _KEYS)
        said[entry.key] = source.scalar(entry.value, entry.key, _KEYS[entry.key])
    missing = next((key for key in ("nemesis", "duration") if key not in said), None)
    if missing is not None:
        raise UsageError(f"{source.where(node)}: this step has no {missing}; write it as {EXAMPLE}")
    step = Step(**said)
    if (what := wrong_with(step)) is not None:
        raise UsageError(f"{source.where(node)}: this step: {what}")
    return step
