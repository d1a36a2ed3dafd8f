"""JetStream over requests: the API by name, messages into streams and out of them.

Source: github.com/nats-io/nats-architecture-and-design (ADR-8, ADR-31) and server/jetstream_api.go.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import now_ns
from cluster.systems._shared.link import Link
from cluster.systems.nats.outcomes import ApiError, outcome
from cluster.systems.nats.protocol import NO_RESPONDERS, Message, Request, Requests

PORT: Final = 4222
NO_MESSAGE: Final = 10037
NO_STREAM: Final = 10059
EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
MESSAGE_ID: Final = "Nats-Msg-Id"
_API: Final = "$JS.API"
_NOT_FOUND: Final = 404
_SEQUENCE: Final = "Nats-Sequence"
PULL_NS: Final = 500_000_000
"""So long a pull waits for a message."""
_EXPIRED: Final = 408
_ACKNOWLEDGED_IT: Final = b"+ACK"
_ACK_WORDS: Final = 9
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})

AnswerT = TypeVar("AnswerT")


class Refusal(msgspec.Struct, frozen=True):
    """An answer as far as it tells of an error."""

    error: ApiError | None = None


class Stored(msgspec.Struct, frozen=True):
    """A message in a stream. ``seq``: its number there; a key's revision is that of its last message."""

    seq: int
    data: bytes = b""


class Pulled(msgspec.Struct, frozen=True):
    """A message that a consumer gave. ``reply``: where its acknowledgement goes. ``delivery``: its count, from 1."""

    body: bytes
    reply: str
    delivery: int


class _Got(msgspec.Struct):
    message: Stored


class _Acknowledged(msgspec.Struct):
    seq: int


class _Purged(msgspec.Struct):
    purged: int = 0


class State(msgspec.Struct, frozen=True):
    """What a stream holds. ``subjects``: subject → messages, of those that were asked for.

    ``deleted``: sequences without a message between the first and the last, where these were asked for.
    """

    last_seq: int
    first_seq: int = 0
    subjects: dict[str, int] = {}
    deleted: list[int] | None = None


class Answerer(msgspec.Struct, frozen=True):
    """Who leads a stream: the server that tells of it."""

    leader: str = ""


class Info(msgspec.Struct, frozen=True):
    """What a stream's leader says of it."""

    state: State
    cluster: Answerer = Answerer()


class ApiRefused(Definite):
    """The API says no."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(str(error))
        self.error = error


class JetStream(Link[Request, Message]):
    """The way to a server. Each call is one request."""

    def __init__(self, host: str, port: int = PORT) -> None:
        super().__init__(host, port, Requests)
        self.host, self.port = host, port

    async def api(self, name: str, body: Mapping[str, Any] | None, kind: type[AnswerT], deadline_ns: int) -> AnswerT:
        """Ask the API. ``name``: of the request, as it stands behind ``$JS.API``. It may be asked twice, or reads only.

        Raises:
            ApiRefused: it says no.
            Definite: nobody was there to be asked, or the answer is none.
            Indefinite: there was no answer.
        """
        asked = Request(f"{_API}.{name}", b"" if body is None else msgspec.json.encode(body))
        answer = await self.ask(asked, deadline_ns)
        return _read(answer, kind, write=False)

    async def publish(
        self,
        subject: str,
        body: bytes,
        deadline_ns: int,
        *,
        expected: int | None = None,
        message_id: str = "",
        expiring: bool = False,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> int:
        """Store a message; its number in the stream.

        Args:
            subject: which the stream must have.
            body: of the message.
            deadline_ns: when to give up.
            expected: the number of the subject's last message, else it is not stored.
            message_id: of all messages with it only the first is stored, and the others get its number.
            expiring: messages of the stream end by their age.
            headers: more of them.

        Raises:
            Definite: it was not stored. Indefinite: nobody knows.
        """
        sent = {**headers} if expected is None else {**headers, EXPECTED: str(expected)}
        sent |= {MESSAGE_ID: message_id} if message_id else {}
        answer = await self.ask(Request(subject, body, sent), deadline_ns)
        return _read(answer, _Acknowledged, write=True, expected=expected, expiring=expiring).seq

    async def purge(self, stream: str, subject: str, deadline_ns: int, *, below: int = 0) -> int:
        """Remove the messages of a subject; how many these were.

        Args:
            stream: which has them.
            subject: theirs.
            deadline_ns: when to give up.
            below: only those with a lower number; 0: all.

        Raises:
            Definite: none was removed. Indefinite: nobody knows.
        """
        which = {"filter": subject, **({"seq": below} if below else {})}
        asked = Request(f"{_API}.STREAM.PURGE.{stream}", msgspec.json.encode(which))
        return _read(await self.ask(asked, deadline_ns), _Purged, write=True).purged

    async def last(self, stream: str, subject: str, deadline_ns: int) -> Stored | None:
        """The last message of a subject, as the stream's leader has it; None if there is none. Raises as ``api``."""
        return await self._held(stream, {"last_by_subj": subject}, deadline_ns)

    async def message(self, stream: str, sequence: int, deadline_ns: int) -> Stored | None:
        """A message as the stream's leader has it; None if it has none there. Raises as ``api``."""
        return await self._held(stream, {"seq": sequence}, deadline_ns)

    async def following(self, stream: str, subject: str, sequence: int, deadline_ns: int) -> Stored | None:
        """The first message of a subject from a sequence on, likewise."""
        return await self._held(stream, {"seq": sequence, "next_by_subj": subject}, deadline_ns)

    async def _held(self, stream: str, which: Mapping[str, Any], deadline_ns: int) -> Stored | None:
        try:
            return (await self.api(f"STREAM.MSG.GET.{stream}", which, _Got, deadline_ns)).message
        except ApiRefused as refused:
            if refused.error.err_code == NO_MESSAGE:
                return None
            raise

    async def last_of_any(self, stream: str, subject: str, deadline_ns: int) -> Stored | None:
        """The same, as any server that keeps the stream has it: the answer may be old. Raises as ``api``."""
        return await self._direct(Request(f"{_API}.DIRECT.GET.{stream}.{subject}"), deadline_ns)

    async def message_of_any(self, stream: str, sequence: int, deadline_ns: int) -> Stored | None:
        """A message as any server that keeps the stream has it, whichever is asked. Raises as ``api``."""
        return await self._direct(Request(f"{_API}.DIRECT.GET.{stream}", b'{"seq":%d}' % sequence), deadline_ns)

    async def _direct(self, request: Request, deadline_ns: int) -> Stored | None:
        answer = await self.ask(request, deadline_ns)
        if answer.status == _NOT_FOUND:
            return None
        if answer.status is not None:
            raise outcome(_of_status(answer), write=False)
        sequence = answer.headers.get(_SEQUENCE, "")
        if not sequence.isdecimal():
            raise Definite(f"malformed answer: {_SEQUENCE} is {sequence[:20]!r}")
        return Stored(int(sequence), answer.body)

    async def pull(self, stream: str, consumer: str, deadline_ns: int) -> Pulled | None:
        """The next message of a consumer; None if it has none to give for ``PULL_NS``.

        With ``no_wait`` it would be answered at once. But a server of 2.9 that counts a message which is not there, as
        one did after a failover, says then for ever that requests are pending.

        Raises:
            Definite: nothing was given. Indefinite: nobody knows.
        """
        expires_ns = max(1, min(PULL_NS, (deadline_ns - now_ns()) // 2))
        body = b'{"batch":1,"expires":%d}' % expires_ns
        asked = Request(f"{_API}.CONSUMER.MSG.NEXT.{stream}.{consumer}", body, renamed=True)
        answer = await self.ask(asked, deadline_ns)
        if answer.status == _EXPIRED:
            return None
        if answer.status is not None:
            raise outcome(_of_status(answer), write=False)
        delivery = delivery_of(answer.reply)
        if delivery is None:
            raise Indefinite(f"malformed answer: {answer.reply[:40]!r} is no place for an acknowledgement")
        return Pulled(answer.body, answer.reply, delivery)

    async def acknowledge(self, pulled: Pulled, deadline_ns: int) -> None:
        """Acknowledge a message; returning means that its consumer's leader says so.

        Raises:
            Definite: nobody was there to be told. Indefinite: nobody knows.
        """
        answer = await self.ask(Request(pulled.reply, _ACKNOWLEDGED_IT), deadline_ns)
        if answer.status is not None:
            raise outcome(_of_status(answer), write=True)

    async def info(self, stream: str, subjects: str, deadline_ns: int) -> Info:
        """What a stream's leader says of it and of the subjects that match a pattern. Raises as ``api``."""
        return await self.api(f"STREAM.INFO.{stream}", {"subjects_filter": subjects}, Info, deadline_ns)

    async def extent(self, stream: str, deadline_ns: int) -> Info:
        """What a stream's leader says of it and of the sequences that have no message. Raises as ``api``."""
        return await self.api(f"STREAM.INFO.{stream}", {"deleted_details": True}, Info, deadline_ns)


class Position(NamedTuple):
    """Where a message that a consumer sent stands: in the stream, and among those that the consumer has sent."""

    sequence: int
    delivered: int


def position_of(reply: str) -> Position | None:
    """The position of a message by the subject for its acknowledgement; None if it is none. Pure."""
    words = reply.split(".")
    if words[:2] != ["$JS", "ACK"] or len(words) < _ACK_WORDS:
        return None
    own = words[5:7] if len(words) == _ACK_WORDS else words[7:9]
    return Position(*map(int, own)) if all(word.isdecimal() for word in own) else None


def delivery_of(reply: str) -> int | None:
    """How often a message was given by now, as the subject for its acknowledgement says; None if it is none. Pure.

    It is ``$JS.ACK.<stream>.<consumer>.<deliveries>.…`` with nine words; a longer form has two more in front.
    """
    words = reply.split(".")
    if words[:2] != ["$JS", "ACK"] or len(words) < _ACK_WORDS:
        return None
    deliveries = words[4 if len(words) == _ACK_WORDS else 6]
    return int(deliveries) if deliveries.isdecimal() else None


def _of_status(answer: Message) -> ApiError | None:
    """The error that a server's own answer stands for; None if nobody was there to be asked."""
    if answer.status == NO_RESPONDERS:
        return None
    return ApiError(code=answer.status or 0, description="status")


def _read(
    answer: Message, kind: type[AnswerT], *, write: bool, expected: int | None = None, expiring: bool = False
) -> AnswerT:
    """What an answer says. Raises ApiRefused, Definite or Indefinite."""
    if answer.status is not None:
        raise outcome(_of_status(answer), write=write, expected=expected)
    try:
        refusal = msgspec.json.decode(answer.body, type=Refusal)
        if refusal.error is not None:
            if write:
                raise outcome(refusal.error, write=True, expected=expected, expiring=expiring)
            raise ApiRefused(refusal.error)
        return msgspec.json.decode(answer.body, type=kind)
    except msgspec.DecodeError as error:
        raise (Indefinite if write else Definite)(f"malformed answer: {error}") from None
