"""What is known of each node's process and answers, from the events: who ended, who answered the observer, and when.

Made once per run beside the timeline. The module does not judge: ``checkers.recovery.recovery`` does.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from chaos.core.events import Event, Evidence, Note, Observation
from chaos.core.node_notes import NODE_ENDED, NODES_LOOKED_AT, OBSERVER_ENDED, Look


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A process that was found ended at ``seen_ns`` though nothing had ended it since its last start.

    ``excuse``: why that may not be the system's doing (memory ran out, a file is missing); empty if nothing is known.
    """

    node: str
    seen_ns: int
    last_line: str
    excuse: str = ""


class Heard(msgspec.Struct, frozen=True):
    """A stretch over which a node answered the observer each time, or never: from its first question to its last."""

    first_ns: int
    last_ns: int
    answered: bool


class NodeStates(msgspec.Struct, frozen=True, kw_only=True):
    """``ended``: one per node, the latest word. ``heard``: node → stretches in order of time. ``looks``: likewise.

    ``blind``: whether the observer ended by itself, so that nothing was heard from then on.
    """

    ended: tuple[Ended, ...] = ()
    heard: dict[str, tuple[Heard, ...]] = {}
    looks: tuple[Look, ...] = ()
    blind: bool = False


def failed_of(evidence: Evidence | None) -> dict[str, str]:
    """Of a heal that was not proven: node → ``ENDED``, ``SILENT``, or why the harness could not heal it."""
    found: dict[str, Any] = evidence.details.get("failed", {}) if evidence is not None else {}
    return {str(name): str(why) for name, why in found.items()}


def node_states(events: Iterable[Event]) -> NodeStates:
    """Sum up the events, which are in order of time."""
    ended: dict[str, Ended] = {}
    heard: dict[str, list[Heard]] = {}
    looks: list[Look] = []
    blind = False
    for event in events:
        if isinstance(event, Observation):
            _hear(heard.setdefault(event.node, []), event)
        elif isinstance(event, Note) and event.name == NODE_ENDED and event.node is not None:
            ended[event.node] = Ended(
                node=event.node,
                seen_ns=event.time_ns,
                last_line=str(event.data.get("last_line", "")),
                excuse=str(event.data.get("excuse", "")),
            )
        elif isinstance(event, Note) and event.name == NODES_LOOKED_AT:
            looks.append(msgspec.convert(event.data, Look))
        elif isinstance(event, Note) and event.name == OBSERVER_ENDED:
            blind = True
    return NodeStates(
        ended=tuple(ended.values()),
        heard={name: tuple(own) for name, own in sorted(heard.items())},
        looks=tuple(looks),
        blind=blind,
    )


def _hear(own: list[Heard], seen: Observation) -> None:
    if own and own[-1].answered == seen.alive:
        own[-1] = Heard(own[-1].first_ns, seen.asked_ns, seen.alive)
    else:
        own.append(Heard(seen.asked_ns, seen.asked_ns, seen.alive))
