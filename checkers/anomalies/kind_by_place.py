"""An anomaly as a row of a table whose order says how strong it is."""

from typing import Any

from chaos.core.anomaly_kind import AnomalyKind


def kind(name: str, words: tuple[str, str], meaning: str, expected: str, **more: Any) -> AnomalyKind:
    """A kind whose strength is its place in the tables of the catalogue."""
    return AnomalyKind(name=name, one=words[0], many=words[1], meaning=meaning, expected=expected, strength=0, **more)
