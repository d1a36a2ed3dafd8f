"""Claims that a node repeats are written once.

A node that knows of a thousand partitions says the same of most of them every second. An observation whose claims are
those of the same node's last one is written without them (``Observation.repeated``); who reads puts them back.
"""

from typing import Final

from msgspec.structs import replace

from chaos.core.events import Claim, Event, Observation

MANY: Final = 16
"""Fewer claims than this are written each time: a line then says by itself what the node said."""


class ClaimWriter:
    """Leaves out claims that are repeated, of events in the order in which they are written."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Claim, ...]] = {}

    def shortened(self, event: Event) -> Event:
        """The event as it is written."""
        if not isinstance(event, Observation) or event.claims is None:
            return event
        before, self._last[event.node] = self._last.get(event.node), event.claims
        if len(event.claims) < MANY or event.claims != before:
            return event
        return replace(event, claims=None, repeated=True)


class ClaimReader:
    """Puts back what ``ClaimWriter`` left out, of events in the order in which they were written."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Claim, ...]] = {}

    def whole(self, event: Event) -> Event:
        """The event as it was observed. Claims that are repeated are one and the same object."""
        if not isinstance(event, Observation):
            return event
        if event.repeated:
            return replace(event, claims=self._last.get(event.node), repeated=False)
        if event.claims is not None:
            if event.claims == self._last.get(event.node):
                return replace(event, claims=self._last[event.node])
            self._last[event.node] = event.claims
        return event
