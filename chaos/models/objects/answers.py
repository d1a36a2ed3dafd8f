"""How the objects' models store what a read returned, and what they have in common."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chaos.core.model import PackedArgument, PackedResult

UNTOLD: Final = -1
"""The column ``answer`` of an operation that told its client nothing of the object."""
ABSENT: Final = 0
"""The client was told that nothing is there."""
TOLD: Final = 1

NO_ARGUMENT: Final = PackedArgument(0, 0, 0)
NO_RESULT: Final = PackedResult(UNTOLD, UNTOLD, UNTOLD)


class Found(msgspec.Struct):
    """What a read found; None: nothing was ever written there."""

    value: int | None = None


def packed_found(found: Found | None) -> PackedResult:
    """The number, and whether there is one."""
    if found is None:
        return NO_RESULT
    if found.value is None:
        return PackedResult(0, ABSENT, 0)
    return PackedResult(found.value, TOLD, 0)


def found_text(row: Mapping[str, Any]) -> str:
    """`` -> 7``, `` -> nil``, or nothing."""
    answer = row["answer"]
    return "" if answer == UNTOLD else f" -> {row['found'] if answer == TOLD else 'nil'}"
