"""One broker's own copy: its log, how much of it is durable, what it knows to be confirmed, and what it wants done.

Master and follower are roles that act on the same replica, one after the other; what must outlive a change of role is
here. Does not know who is master.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from cluster.systems.minimq.protocol.broker_messages import Polled, Record, RejectedReason
from cluster.systems.minimq.protocol.io import Effect, Reply, Send, SetTimer, Truncate, Write
from cluster.systems.minimq.replication import broker_rules
from cluster.systems.minimq.storage.commit_log import CommitLog, QueueKey

BODY_BYTES_MAX: Final = 1 << 20
FETCH_BYTES_MAX: Final = 1 << 20
FETCH_RECORDS_MAX: Final = 512
READ_RECORDS_MAX: Final = 1024
WAITING_MAX: Final = 16384
"""Requests that wait at one broker; beyond it new ones are refused as busy."""


class BrokerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How safe and how patient a broker is.

    With ``sync_flush`` only durable records count as held; with ``sync_replication`` only confirmed ones are
    acknowledged. A follower that has not caught up for ``lag_max_ms`` leaves the SyncStateSet.
    """

    min_in_sync: int = 2
    sync_flush: bool = True
    sync_replication: bool = True
    request_timeout_ms: int = 3000
    lag_max_ms: int = 2000
    heartbeat_ms: int = 300
    tick_ms: int = 100
    fetch_park_ms: int = 300
    fetch_retry_ms: int = 800
    wait_max_ms: int = 30000
    groups: int = 1


class Replica:
    """A broker's log with its durability, and the effects that wait to be handed out."""

    def __init__(self, name: str, settings: BrokerSettings, records: Iterable[Record]) -> None:
        self.name = name
        self.settings = settings
        self.log = CommitLog(records)
        self.now_ms = 0
        self.epoch = 0
        self.master: str | None = None
        self.confirmed = 0
        self._issued = 0
        self._durable_end = self.log.end
        self._writing: deque[tuple[int, int]] = deque()
        self._out: list[Effect] = []

    @property
    def held(self) -> int:
        """The end of what this replica may count as its own."""
        return broker_rules.held_end(self.log.end, self._durable_end, sync_flush=self.settings.sync_flush)

    @property
    def readable_end(self) -> int:
        """The end of what readers may see here."""
        return broker_rules.readable_end(self.confirmed, self.log.end)

    def append(self, record: Record) -> int:
        """Add a record and have it written; returns its position."""
        index = self.log.append(record)
        self._issued += 1
        self._writing.append((self._issued, index + 1))
        self._out.append(Write(token=self._issued, record=record))
        return index

    def truncate(self, start: int) -> None:
        """Remove the records at ``start`` and above, from memory now and from the store in its order."""
        if start >= self.log.end:
            return
        self.log.truncate(start)
        self._issued += 1
        self._durable_end = min(self._durable_end, start)
        self.confirmed = min(self.confirmed, start)
        while self._writing and self._writing[-1][1] > start:
            self._writing.pop()
        self._out.append(Truncate(token=self._issued, start=start))

    def on_written(self, token: int) -> None:
        """All writes up to ``token`` are durable."""
        while self._writing and self._writing[0][0] <= token:
            self._durable_end = self._writing.popleft()[1]

    def confirm(self, position: int) -> None:
        """Everything below ``position``, as far as it is here, is confirmed."""
        if position > self.confirmed:
            self.confirmed = max(self.confirmed, min(position, self.log.end))

    def polled(self, key: QueueKey, offset: int, records_max: int) -> Polled:
        """What a reader may see from ``offset`` on."""
        records = self.log.read(key, offset, self.readable_end, min(records_max, READ_RECORDS_MAX), FETCH_BYTES_MAX)
        return Polled(records=records, end=self.log.queue_end(key, self.readable_end), epoch=self.epoch)

    def send(self, to: str, body: msgspec.Struct) -> None:
        """Have a message sent."""
        self._out.append(Send(to=to, body=body))

    def reply(self, request_id: str, body: msgspec.Struct) -> None:
        """Answer a client."""
        self._out.append(Reply(id=request_id, body=body))

    def set_timer(self, name: str, delay_ms: int) -> None:
        """Have a timer set."""
        self._out.append(SetTimer(name=name, delay_ms=delay_ms))

    def take(self) -> list[Effect]:
        """The effects since the last call, in order."""
        out, self._out = self._out, []
        return out


class ClientError(Exception):
    """A request is certainly not done."""

    def __init__(self, reason: RejectedReason) -> None:
        super().__init__(reason)
        self.reason: RejectedReason = reason
