"""The smallest stories that hold one anomaly of transactions each.

A story is a few transactions, ``Part``: what each does, when it begins and when it is over. ``ax1`` appends 1 to key x,
``wx1`` writes it, ``rx12`` reads the list of 1 and 2 (or the register's 1), ``rx`` nothing. Instants order the parts of
one story; everybody else waits. Keys are fresh ones. docs/reference/transactions.md has the definitions.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple


class Part(NamedTuple):
    """One transaction of a story."""

    text: str
    begin: int
    end: int
    fate: str = "ok"


class Micro(NamedTuple):
    """A micro-operation of a story. ``word``: append, w or r. ``digits``: what it brings or reads."""

    word: str
    key: str
    digits: str


_WORDS: Final = {"a": "append", "w": "w", "r": "r"}


def micros(part: Part) -> Iterator[Micro]:
    """What a part does."""
    for word in part.text.split():
        yield Micro(_WORDS[word[0]], word[1], word[2:])


Story = tuple[Part, ...]

LISTS: Final[Mapping[str, Story]] = {
    "G0": (Part("ax1 ay2", 0, 3), Part("ay1 ax2", 1, 2), Part("rx12 ry12", 4, 5)),
    "G1a": (Part("ax1", 0, 1, "fail"), Part("rx1", 2, 3)),
    "G1b": (Part("ax1 ax2", 0, 3), Part("rx1", 1, 2), Part("rx12", 4, 5)),
    "G1c": (Part("ax1 ry1", 0, 3), Part("ay1 rx1", 1, 2)),
    "G-single-item": (Part("ax1 ay1", 0, 3), Part("rx1 ry", 1, 2)),
    "G-nonadjacent-item": (Part("ax1", 0, 7), Part("ay1", 1, 6), Part("rx1 ry", 2, 5), Part("ry1 rx", 3, 4)),
    "G2-item": (Part("rx ay1", 0, 3), Part("ry ax1", 1, 2)),
    "G0-realtime": (Part("ax1", 0, 1), Part("ax2", 2, 3), Part("rx21", 4, 5)),
    "G1c-realtime": (Part("rx1", 0, 1), Part("ax1", 2, 3)),
    "G-single-item-realtime": (Part("ax1", 0, 1), Part("rx", 2, 3)),
    "G-nonadjacent-item-realtime": (
        *(Part("ay1", 0, 3), Part("ax1", 1, 6)),
        *(Part("rx1 ry", 2, 7), Part("rx", 4, 5)),
    ),
    "G2-item-realtime": (Part("ay1", 0, 2), Part("ax1 ry", 1, 5), Part("rx", 3, 4)),
    "dirty-update": (Part("ax1", 0, 1, "fail"), Part("ax2", 2, 3), Part("rx12", 4, 5)),
    "duplicate-elements": (Part("ax1", 0, 1), Part("rx11", 2, 3)),
    "future-read": (Part("rx1 ax1", 0, 1),),
    "incompatible-order": (Part("ax1", 0, 7), Part("ax2", 1, 6), Part("rx1", 2, 3), Part("rx2", 4, 5)),
    "internal": (Part("ax1", 0, 1), Part("ax2 rx1", 2, 3)),
    "lost-update": (Part("rx ax1", 0, 3), Part("rx ax2", 1, 2), Part("rx12", 4, 5)),
    "phantom": (Part("ax1", 0, 1), Part("rx12", 2, 3)),
}

REGISTERS: Final[Mapping[str, Story]] = {
    "G1a": (Part("wx1", 0, 1, "fail"), Part("rx1", 2, 3)),
    "G1b": (Part("wx1 wx2", 0, 3), Part("rx1", 1, 2)),
    "G1c": (Part("wx1 ry1", 0, 3), Part("wy1 rx1", 1, 2)),
    **{
        name: tuple(part._replace(text=part.text.replace("a", "w")) for part in LISTS[name])
        for name in (
            *("G-single-item", "G-nonadjacent-item", "G2-item", "G1c-realtime", "G-single-item-realtime"),
            *("G-nonadjacent-item-realtime", "G2-item-realtime"),
        )
    },
    "future-read": (Part("rx1 wx1", 0, 1),),
    "internal": (Part("wx1", 0, 1), Part("wx2 rx1", 2, 3)),
    "lost-update": (Part("rx wx1", 0, 3), Part("rx wx2", 1, 2)),
    "phantom": (Part("rx1", 0, 1),),
}

STORIES: Final[Mapping[str, Mapping[str, Story]]] = {"list-append": LISTS, "rw-register": REGISTERS}
PLANTED: Final = {model: tuple(stories) for model, stories in STORIES.items()}
LONGEST: Final = max(len(story) for stories in STORIES.values() for story in stories.values())
"""Transactions of a story at most."""
