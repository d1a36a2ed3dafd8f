"""A broker's line to the controllers: whom to ask, and asking the next one when nothing comes back.

Requests are repeated by their senders until the metadata shows that they were done, so no answer is waited for here.
"""

from collections.abc import Sequence

from cluster.systems.minimq.protocol.io import Send
from cluster.systems.minimq.protocol.messages import Answer, Ask, ControllerRequest, Metadata, Refused


class ControllerLink:
    """Asks one controller until it stays silent or names another."""

    def __init__(self, controllers: Sequence[str]) -> None:
        self._controllers = tuple(controllers)
        self._at = 0
        self._number = 0
        self._heard = True

    def ask(self, request: ControllerRequest) -> Send:
        """The request as a message to the controller in favour."""
        self._number += 1
        return Send(to=self._controllers[self._at], body=Ask(number=self._number, request=request))

    def look(self) -> None:
        """Once a period: turn to the next controller if this one said nothing since the last look."""
        if not self._heard:
            self._at = (self._at + 1) % len(self._controllers)
        self._heard = False

    def on_answer(self, sender: str, answer: Answer) -> Metadata | None:
        """Note who answered; returns the metadata that came with it."""
        body = answer.answer
        if isinstance(body, Refused) and body.reason == "not-leader":
            if sender != self._controllers[self._at]:
                return None
            if body.leader in self._controllers and body.leader != sender:
                self._at = self._controllers.index(body.leader)
                self._heard = True
            return None
        self._heard = self._heard or sender == self._controllers[self._at]
        return getattr(body, "metadata", None)
