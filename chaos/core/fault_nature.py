"""What a history says of a fault beside its times: its kind, whom and how, and what that kind does.

Every event of a fault carries it, so that a history is judged and drawn without the fault's own module. Histories of
older versions and of other tools give names alone: ``of_name`` is the one place that reads them.
"""

from typing import Any, Final, Literal

import msgspec

Hits = Literal["nodes", "links", "clock", "disk", "client", "system"]
"""What a fault is done to."""

Colour = Literal["red", "peach", "brown", "magenta", "violet", "yellow", "green", "blue", "grey"]
"""The groups of faults that a report draws alike."""


class Nature(msgspec.Struct, frozen=True, kw_only=True):
    """What a kind of fault does.

    ``verb``: what it does to a node ("suspended"). ``cuts``: it separates nodes by their links, one way or both.
    ``silences``: while it lasts nothing at all passes between its targets and the others, either way. ``restarts``:
    processes end and are started again. ``forgets``: the system is told to forget how things were before. ``colour``:
    the group that reports draw alike.
    """

    verb: str = "hit"
    hits: Hits | None = None
    cuts: bool = False
    silences: bool = False
    restarts: bool = False
    forgets: bool = False
    colour: Colour = "grey"


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Which fault it is: the kind, the selector that chose its targets, the roles it chose among, and how.

    ``heals``: false if it stays in force until the final reads are over (SEMANTICS 17b).
    """

    kind: str = ""
    selector: str = ""
    roles: tuple[str, ...] = ()
    params: dict[str, Any] = {}
    nature: Nature = Nature()
    heals: bool = True


_SELECTORS: Final = ("minor", "major", "random", "all", "leader", "follower", "fixed")

_CUT: Final = Nature(verb="cut off", hits="links", cuts=True, silences=True, colour="violet")
_ONE_WAY: Final = Nature(verb="cut off", hits="links", cuts=True, colour="violet")
_SUSPENDED: Final = Nature(verb="suspended", hits="nodes", silences=True, colour="yellow")
_WORDS: Final = (
    ("partition-in", "partition-in", _ONE_WAY),
    ("partition-out", "partition-out", _ONE_WAY),
    ("one-way-partition", "partition-in", _ONE_WAY),
    ("partition", "partition", _CUT),
    ("ring", "partition", _CUT),
    ("bridge", "partition", _CUT),
    ("disconnect", "disconnect", Nature(verb="taken off the network", hits="nodes", silences=True, colour="magenta")),
    ("kill", "kill", Nature(verb="killed", hits="nodes", silences=True, restarts=True, colour="red")),
    ("restart", "restart", Nature(verb="restarted", hits="nodes", restarts=True, colour="brown")),
    ("stop", "stop", Nature(verb="stopped", hits="nodes", silences=True, restarts=True, colour="peach")),
    ("suspend", "suspend", _SUSPENDED),
    ("pause", "suspend", _SUSPENDED),
    ("loss", "loss", Nature(hits="links", colour="green")),
    ("delay", "delay", Nature(hits="links", colour="blue")),
)
"""A word of a name, the kind that it was, and what that did. Closed: whoever writes events now says it there."""


def of_name(name: str) -> Identity:
    """What the name of a fault tells, where nothing else does: ``leader-kill@broker``, Jepsen's ``partition``."""
    base, _, suffix = name.partition("@")
    selector, _, _ = base.partition("-")
    kind, nature = next(((kind, nature) for word, kind, nature in _WORDS if word in base), ("", Nature()))
    return Identity(
        kind=kind,
        selector=selector if selector in _SELECTORS else "",
        roles=tuple(role for role in suffix.split("+") if role),
        nature=nature,
    )


def identity_of(identity: Identity | None, name: str) -> Identity:
    """What is written, or of an older history what the name tells."""
    return identity if identity is not None else of_name(name)
