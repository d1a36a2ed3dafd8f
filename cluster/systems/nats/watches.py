"""Watches of NATS: the stream of a bucket that keeps every revision, followed from a revision on.

As client libraries watch a bucket, an ephemeral consumer sends what it has to a subject of a connection of its own,
unasked and without acknowledgements. Messages are numbered by the consumer, and heartbeats come where there are none:
a number that is missing, or silence, ends the watch, and a library would make another one. A watch changes nothing, so
whatever ends it sooner is a failure, with all events that came until then.

A consumer that is to begin at a revision which is not there yet begins with the next message. So whoever watches asks
the leader first how far the stream goes.
"""

import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from chaos.core.client import Definite, Received
from chaos.core.clock import now_ns
from chaos.core.op import Invocation
from chaos.models.coordination.watch import DELETED, NOT_TOLD, UNNAMED, Event, Events, F, Written
from cluster.systems.nats import buckets
from cluster.systems.nats.jetstream import JetStream, Refusal, position_of
from cluster.systems.nats.outcomes import outcome
from cluster.systems.nats.protocol import NO_RESPONDERS, Message
from cluster.systems.nats.reads import looking_first
from cluster.systems.nats.subscription import Subscription, subscribed

NOT_THERE_YET: Final = "the stream does not go so far yet"
SILENT: Final = "no heartbeat came"
HEARTBEAT_NS: Final = 250_000_000
SILENT_NS: Final = 3 * HEARTBEAT_NS
_GONE_AFTER_NS: Final = 2_000_000_000
_NS_PER_MS: Final = 1_000_000
_SPARE_NS: Final = 100 * _NS_PER_MS
"""A watch ends so long before the deadline of its operation at the latest."""
_OPERATION: Final = "KV-Operation"
_DELETES: Final = ("DEL", "PURGE")
_DELETE: Final[Mapping[str, str]] = MappingProxyType({_OPERATION: "DEL"})
_HEARTBEAT: Final = 100
_LAST: Final = "Nats-Last-Consumer"


class Watches:
    """What a client does with spaces. ``mark``: of the run."""

    def __init__(self, mark: str, settings: Mapping[str, str]) -> None:
        self._mark = mark
        self._buckets = buckets.number_of(settings)

    async def perform(self, server: JetStream, op: Invocation, deadline_ns: int, received: Received) -> None:
        """Do one operation. Raises Definite or Indefinite."""
        bucket = buckets.bucket(self._mark, op.key % self._buckets)
        space = buckets.key_in(bucket, f"spaces.{op.key}.")
        if op.f is F.PUT:
            received.result = await _put(server, space, op, deadline_ns)
            return
        told = received.result = Events([])
        stream, every, first = buckets.stream_of(bucket), f"{space}>", op.argument.revision
        with looking_first():
            last = (await server.info(stream, every, deadline_ns)).state.last_seq
        if first > last + 1:
            raise Definite(f"{NOT_THERE_YET}: {first} is asked for, and {last} is the last one")
        until_ns = min(now_ns() + op.argument.listen_ms * _NS_PER_MS, deadline_ns - _SPARE_NS)
        inbox = f"_INBOX.{uuid.uuid4().hex}"
        async with subscribed(server.host, server.port, (f"{inbox}.answer", f"{inbox}.events"), until_ns) as open_one:
            asked = msgspec.json.encode(consumer_config(stream, f"{inbox}.events", every, first))
            open_one.publish(f"$JS.API.CONSUMER.CREATE.{stream}", f"{inbox}.answer", asked)
            await _follow(open_one, space, told, until_ns)


def consumer_config(stream: str, to: str, subjects: str, first: int) -> dict[str, Any]:
    """What the consumer of a watch is made with: one server keeps it, and removes it when nobody listens any more."""
    own = {
        "deliver_subject": to,
        "deliver_policy": "by_start_sequence",
        "opt_start_seq": first,
        "filter_subject": subjects,
        "ack_policy": "none",
        "replay_policy": "instant",
        "max_deliver": 1,
        "idle_heartbeat": HEARTBEAT_NS,
        "inactive_threshold": _GONE_AFTER_NS,
        "num_replicas": 1,
        "mem_storage": True,
    }
    return {"stream_name": stream, "config": own}


async def _follow(events: Subscription, space: str, told: Events, until_ns: int) -> None:
    """Note all events until an instant. Raises Definite: the watch ended sooner."""
    made, number, heard_ns = False, 0, now_ns()
    while True:
        message = await events.next(min(until_ns, heard_ns + SILENT_NS) if made else until_ns)
        if message is None and now_ns() < until_ns:
            raise Definite(SILENT)
        if message is None:
            break
        heard_ns = now_ns()
        if message.subscription == 1:
            _check_made(message)
            made = True
        elif message.status == _HEARTBEAT:
            _check_none_is_missing(message.headers.get(_LAST, str(number)), number)
        else:
            position = position_of(message.reply)
            if message.status is not None or position is None:
                raise Definite(f"malformed message: status {message.status}, {message.reply[:40]!r}")
            _check_none_is_missing(str(position.delivered - 1), number)
            number = position.delivered
            told.events.append(_event(message, position.sequence, space, told.batches))
            told.batches += 1
    if not made:
        raise Definite("no watch was made in time")


def _check_made(answer: Message) -> None:
    """See that a consumer was made. Raises Definite."""
    if answer.status is not None:
        raise outcome(None, write=False) if answer.status == NO_RESPONDERS else Definite(f"status {answer.status}")
    try:
        refusal = msgspec.json.decode(answer.body, type=Refusal)
    except msgspec.DecodeError as error:
        raise Definite(f"malformed answer: {error}") from None
    if refusal.error is not None:
        raise outcome(refusal.error, write=False)


def _check_none_is_missing(sent: str, came: int) -> None:
    """See that as many messages came as the consumer has sent. Raises Definite."""
    if sent != str(came):
        raise Definite(f"{came} messages of the watch came, and {sent} were sent")


def _event(message: Message, revision: int, space: str, batch: int) -> Event:
    """A message as an event. NATS never says what was there before. Raises Definite if a value is none."""
    name = message.subject.removeprefix(space)
    deleted = message.headers.get(_OPERATION) in _DELETES
    if not deleted and not message.body.isdigit():
        raise Definite("malformed message: a value that nobody writes")
    return Event(
        batch=batch,
        revision=revision,
        entry=int(name) if len(name) < len(message.subject) and name.isdigit() else UNNAMED,
        value=DELETED if deleted else int(message.body),
        previous_revision=NOT_TOLD,
    )


async def _put(server: JetStream, space: str, op: Invocation, deadline_ns: int) -> Written:
    """One change. A deletion is a message too, also of what is not there. Raises Definite or Indefinite."""
    (change,) = op.argument.changes
    subject = f"{space}{change.entry}"
    if change.value == DELETED:
        return Written(revision=await server.publish(subject, b"", deadline_ns, headers=_DELETE), effects=1)
    return Written(revision=await server.publish(subject, b"%d" % change.value, deadline_ns), effects=1)
