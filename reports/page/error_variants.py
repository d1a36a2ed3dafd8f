"""Errors whose texts differ in numbers alone: told as one, with how many there are. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

APART: Final = 3
"""So few variants stay as they are: their numbers may be codes, which mean different things."""
_NUMBER: Final = re.compile(r"\d+(?:…)?")


def labels_of(texts: Iterable[str]) -> Mapping[str, str]:
    """Each text and what it is told as: itself, or what it shares with many others, without its numbers."""
    kinds: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        kinds.setdefault(_NUMBER.sub("…", text), []).append(text)
    return {
        text: text if len(alike) <= APART else f"({len(alike)} variants) {kind}"
        for kind, alike in kinds.items()
        for text in alike
    }
