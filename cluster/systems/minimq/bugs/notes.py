"""What a bent rule really did: the injected truth that a verdict can be held against.

A rule sees numbers, not who decides; so the cores' entrances say whose event is being decided, and a note takes the
node, its epoch and, for a position of the log, the record from there. Notes are bounded and each is kept once.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

import msgspec

from cluster.systems.minimq.consensus.controller import Controller
from cluster.systems.minimq.protocol.broker_messages import Produce, Record
from cluster.systems.minimq.replication.broker import Broker
from cluster.systems.minimq.storage.commit_log import CommitLog

NOTES_MAX: Final = 1024

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Notes:
    """The notes of one bug in one process.

    ``core``: whose event is being decided; ``produce``: the message that a master is deciding about; ``wall_ns``: the
    wall clock of the node.
    """

    def __init__(self, bug: str) -> None:
        self.bug = bug
        self._waiting: deque[str] = deque(maxlen=NOTES_MAX)
        self._known: dict[str, None] = {}
        self.core: Broker | Controller | None = None
        self.wall_ns: Callable[[], int] = time.time_ns
        self.produce = Produce(topic="", queue=0, body=b"")

    @property
    def broker(self) -> Broker:
        """The broker whose event is being decided."""
        assert isinstance(self.core, Broker), "this rule is a broker's"
        return self.core

    @property
    def log(self) -> CommitLog:
        """That broker's log."""
        return self.broker.replica.log

    def enter(self, entrance: Callable[_P, _T]) -> Callable[_P, _T]:
        """A method that first says who decides, and about which message."""

        def entered(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            for value in args:
                if isinstance(value, Broker | Controller):
                    self.core = value
                elif isinstance(value, Produce):
                    self.produce = value
            return entrance(*args, **kwargs)

        return entered

    def note(self, record: Record | None = None, **facts: Any) -> None:
        """Keep that the rule was bent just now, about this record of a broker's log."""
        told: dict[str, Any] = {"bug": self.bug}
        if isinstance(self.core, Broker):
            told |= {"node": self.core.name, "epoch": self.core.epoch}
        elif self.core is not None:
            told |= {"node": self.core.name, "term": self.core.raft.term}
        if record is not None:
            told |= {"topic": record.topic, "queue": record.queue, "offset": record.offset}
        text = msgspec.json.encode(told | facts).decode()
        if text in self._known:
            return
        self._waiting.append(text)
        self._known[text] = None
        if len(self._known) > NOTES_MAX:
            del self._known[next(iter(self._known))]

    def take(self) -> list[str]:
        """The notes since the last call, a JSON object each."""
        taken = list(self._waiting)
        self._waiting.clear()
        return taken
