"""Thresholds, ``fail-on`` and allowed findings as people give them: checked, with the place of what is wrong. Pure."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, Final

import yaml

from chaos.core.errors import UsageError
from chaos.core.gate import ANOMALIES, FAIL_ON, THRESHOLDS, UNKNOWN, Allowed, Gates
from chaos.core.strict_yaml import Source, unknown_key_error
from chaos.gate.threshold import Threshold, nearest, parse

FIELDS: Final = ("thresholds", "fail_on", "allow")
"""The options that say what is wanted of a run and change nothing of how it is made."""
_KEYS: Final = ("anomaly", "system", "reason", "until")
_MANY: Final = 12
"""Names that an error line may list."""


def gates_in(values: Mapping[str, Any]) -> Gates:
    """The gates among options by field name."""
    return Gates(
        thresholds=tuple(values.get("thresholds", ())),
        fail_on=tuple(values.get("fail_on", FAIL_ON)),
        allow=tuple(values.get("allow", ())),
    )


def checked_threshold(text: str, place: str, *, own_faults: bool = True) -> str:
    """A threshold as it is stored.

    Args:
        text: as it was written.
        place: where, for the message.
        own_faults: the faults are those of chaos; False: of another tool, with names of its own.

    Raises:
        UsageError: it is none, or names an anomaly or fault that nobody knows.
    """
    try:
        one = parse(text)
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None
    if one.figure == "anomalies" and one.of:
        _checked_anomaly(one.of, place)
    if one.figure in ("rto", "rpo") and one.of and own_faults:
        _checked_fault(one.of, place)
    return one.text


def _checked_anomaly(name: str, place: str) -> None:
    from checkers.anomalies.catalogue import kinds

    known = kinds()
    if name not in known:
        raise UsageError(f"{place}: no anomaly {name!r}{_guess(name, known, 'see chaos list anomalies')}")


def _checked_fault(name: str, place: str) -> None:
    from chaos.gate.measure import base_name
    from nemesis.plan.nemesis_names import catalog

    known = catalog()
    if base_name(name) not in known:
        raise UsageError(f"{place}: no fault {name!r}{_guess(base_name(name), known, 'see chaos list nemeses')}")


def _guess(word: str, known: Iterable[str], else_see: str) -> str:
    """The nearest name, or where all are listed if they are many."""
    names = tuple(known)
    guess = nearest(word, names)
    return guess if guess.startswith("; did you mean") or len(names) <= _MANY else f"; {else_see}"


def checked_operations(thresholds: Iterable[str], has: Iterable[str], place: str, what: str) -> None:
    """Refuse a threshold on an operation that nobody will do.

    Args:
        thresholds: as they are stored.
        has: the operations that there are.
        place: what stands before the threshold in the message, e.g. ``--threshold``.
        what: who has these operations.

    Raises:
        UsageError: naming the threshold and the nearest operation.
    """
    words = tuple(has)
    for one in map(parse, thresholds):
        if _of_operation(one) and one.of not in words:
            raise UsageError(f"{place} {one.text}: {what} has no operation {one.of!r}{nearest(one.of, words)}")


def _of_operation(one: Threshold) -> bool:
    from chaos.gate.threshold import FIGURES

    return FIGURES[one.figure].of == "operation"


def checked_fail_on(names: Iterable[str], place: str) -> tuple[str, ...]:
    """What fails a build, each once.

    Raises:
        UsageError: neither an anomaly nor a word of ours.
    """
    found = tuple(dict.fromkeys(name.strip() for name in names))
    from checkers.anomalies.catalogue import kinds

    words = (ANOMALIES, THRESHOLDS, UNKNOWN)
    for name in found:
        if name not in words and name not in kinds():
            guess = _guess(name, (*words, *kinds()), f"give {', '.join(words)}, or one of chaos list anomalies")
            raise UsageError(f"{place}: nothing to fail on is called {name!r}{guess}")
    return found


def gate_in(source: Source, node: yaml.Node, what: str, field: str) -> tuple[Any, ...]:
    """The value of one of ``FIELDS`` in a file.

    Raises:
        UsageError: file, line, what is wrong and what would be right.
    """
    nodes = source.items(node, what)
    if field == "allow":
        return tuple(_allowed(source, each, what) for each in nodes)
    texts = [(source.text(each, what), source.where(each)) for each in nodes]
    if field == "thresholds":
        return tuple(checked_threshold(text, f"{where}: threshold {text}") for text, where in texts)
    names = (name for text, where in texts for name in checked_fail_on((text,), f"{where}: {what}"))
    return tuple(dict.fromkeys(names))


def _allowed(source: Source, node: yaml.Node, what: str) -> Allowed:
    from chaos import plugins

    said: dict[str, str] = {}
    where: dict[str, str] = {}
    for entry in source.entries(node, f"a finding of {what}"):
        if entry.key not in _KEYS:
            raise unknown_key_error(entry, _KEYS)
        said[entry.key], where[entry.key] = source.text(entry.value, entry.key), entry.where
    missing = [key for key in _KEYS[:3] if not said.get(key, "").strip()]
    if missing:
        raise UsageError(
            f"{source.where(node)}: this finding of {what} has no {missing[0]}; write {{anomaly: stale-tail,"
            " system: minimq, reason: WHY, until: 2030-01-31}"
        )
    _checked_anomaly(said["anomaly"], where["anomaly"])
    if said["system"] not in (systems := plugins.names("systems")):
        raise UsageError(f"{where['system']}: no system {said['system']!r}{nearest(said['system'], systems)}")
    if "until" in said:
        try:
            said["until"] = date.fromisoformat(said["until"]).isoformat()
        except ValueError:
            raise UsageError(f"{where['until']}: until {said['until']!r}: give a day as in 2030-01-31") from None
    return Allowed(**said)
