"""Several names in one sentence: ``b1, b2 and b3``."""

from collections.abc import Sequence
from typing import Final

_PAIR: Final = 2


def join_names(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``; empty for none."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def listed_all(names: Sequence[str]) -> str:
    """As the subject of what each of them did: ``a``, ``a and b both``, ``a, b and c all``."""
    word = "" if len(names) < _PAIR else " both" if len(names) == _PAIR else " all"
    return f"{join_names(names)}{word}"
