"""The protocol of NATS' clients: frames out of bytes, and requests whose answers come to an inbox.

Text lines, some with a payload behind them. A request is a message that names the subject where it wants its answer:
one below this connection's inbox, whose last word is the request's number. Does not know JetStream.
Source: docs.nats.io/reference/reference-protocols/nats-protocol.
"""

import re
import uuid
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from cluster.systems._shared.link import Malformed

NO_RESPONDERS: Final = 503
"""The status of an answer by the server itself: nobody was there to be given the request."""

_LINE: Final = b"\r\n"
_LONGEST_LINE: Final = 1 << 20
_LONGEST_PAYLOAD: Final = 64 << 20
_VERSION: Final = "NATS/1.0"
_SUBJECT: Final = re.compile(r"[^\s]+")
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
_FIRST_OWN: Final = 2
"""The least number of a request's own subscription; 1 is that of the inbox."""
_CONNECT: Final = msgspec.json.encode(
    {
        "verbose": False,
        "pedantic": False,
        "headers": True,
        "no_responders": True,
        "echo": True,
        "protocol": 1,
        "lang": "python",
        "version": "1",
        "name": "chaos",
    }
)


class Message(NamedTuple):
    """A message.

    ``status``: of a server's own answer, such as 503; None: somebody sent it. ``reply``: where an answer to it is
    wanted. ``subscription``: by whose number it came.
    """

    subject: str
    body: bytes = b""
    headers: Mapping[str, str] = _NO_HEADERS
    status: int | None = None
    reply: str = ""
    subscription: int = 0


class Ping(NamedTuple):
    """The server wants to know whether this end still lives."""


class Refused(NamedTuple):
    """What the server says before it ends the connection."""

    text: str


Frame = Message | Ping | Refused


class Request(NamedTuple):
    """A message that wants one answer. ``renamed``: the answer does not come under the subject that was asked for."""

    subject: str
    body: bytes = b""
    headers: Mapping[str, str] = _NO_HEADERS
    renamed: bool = False


class Frames:
    """What a server sends, in pieces of any size."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are whole now; greetings and what answers a ping are left out.

        Raises:
            Malformed: a server of NATS does not send that.
        """
        self._data += data
        out: list[Frame] = []
        at = 0
        while (end := self._data.find(_LINE, at)) >= 0:
            line = bytes(self._data[at:end]).decode(errors="replace")
            behind = end + len(_LINE)
            word, _, rest = line.partition(" ")
            word = word.upper()
            if word in ("MSG", "HMSG"):
                frame, behind = self._message(word, rest.split(), behind)
                if frame is None:
                    break
                out.append(frame)
            elif word == "PING":
                out.append(Ping())
            elif word == "-ERR":
                out.append(Refused(rest.strip("' ")))
            elif word not in ("INFO", "PONG", "+OK"):
                raise Malformed(f"no NATS: a line that begins with {line[:20]!r}")
            at = behind
        del self._data[:at]
        if at == 0 and len(self._data) > _LONGEST_LINE and _LINE not in self._data[:_LONGEST_LINE]:
            raise Malformed("no NATS: a line without an end")
        return out

    def _message(self, word: str, words: list[str], start: int) -> tuple[Message | None, int]:
        """The message with its payload from ``start`` on, and where the next frame begins; None if it is not whole."""
        sizes = 2 if word == "HMSG" else 1
        if len(words) not in (sizes + 2, sizes + 3) or not all(size.isdecimal() for size in words[-sizes:]):
            raise Malformed(f"no NATS: {word} {' '.join(words)[:40]!r}")
        head, total = int(words[-sizes]) if sizes > 1 else 0, int(words[-1])
        if not head <= total <= _LONGEST_PAYLOAD:
            raise Malformed(f"no NATS: {word} of {total} bytes, {head} of headers")
        end = start + total
        if len(self._data) < end + len(_LINE):
            return None, start
        if self._data[end : end + len(_LINE)] != _LINE:
            raise Malformed("no NATS: a payload that is longer than it says")
        status, headers = headers_of(bytes(self._data[start : start + head])) if head else (None, _NO_HEADERS)
        body = bytes(self._data[start + head : end])
        reply = words[2] if len(words) == sizes + 3 else ""
        subscription = int(words[1]) if words[1].isdecimal() else 0
        return Message(words[0], body, headers, status, reply, subscription), end + len(_LINE)


def headers_of(data: bytes) -> tuple[int | None, dict[str, str]]:
    """The status and the headers in front of a payload. Pure.

    Raises:
        Malformed: these are none.
    """
    first, *lines = data.decode(errors="replace").split("\r\n")
    if not first.startswith(_VERSION):
        raise Malformed(f"no NATS: headers that begin with {first[:20]!r}")
    status = first[len(_VERSION) :].split()
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip(): value.strip() for name, _, value in pairs}
    return (int(status[0]) if status and status[0].isdecimal() else None), headers


def publish_frame(subject: str, reply: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    """A message on the wire. Pure.

    Raises:
        Malformed: the protocol cannot say it.
    """
    if not _SUBJECT.fullmatch(subject):
        raise Malformed(f"no subject: {subject!r}")
    if not headers:
        return f"PUB {subject} {reply} {len(body)}\r\n".encode() + body + _LINE
    if any("\n" in word or "\r" in word for pair in headers.items() for word in pair):
        raise Malformed("a header of several lines")
    head = "\r\n".join([_VERSION, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode()
    return f"HPUB {subject} {reply} {len(head)} {len(head) + len(body)}\r\n".encode() + head + body + _LINE


def greeting(subjects: Sequence[str]) -> bytes:
    """Who opens a connection, and that it hears what comes to these subjects, numbered from 1. Pure."""
    heard = (f"SUB {subject} {number}\r\n" for number, subject in enumerate(subjects, 1))
    return b"CONNECT %s\r\n" % _CONNECT + "".join(heard).encode()


class Requests:
    """One connection's requests; implements ``cluster.systems._shared.link.Codec``.

    An answer is known by the subject that it comes under, or where it comes under another by a subscription of its own.
    A ping of the server is answered with the next request: a server sends one every two minutes and ends a connection
    that has left two unanswered, so only one that nobody uses any more.
    """

    def __init__(self) -> None:
        self._inbox = f"_INBOX.{uuid.uuid4().hex}"
        self._frames = Frames()
        self._pings = 0

    @property
    def greeting(self) -> bytes:
        """Who this is, and that it hears what comes to its inbox."""
        return greeting((f"{self._inbox}.*",))

    def encode(self, number: int, request: Request) -> bytes:
        """The request, and behind pings what they wait for. Raises Malformed."""
        reply, own = f"{self._inbox}.{number}", b""
        if request.renamed:  # outside of the inbox, so that it does not come twice; the subscription ends with it
            reply, name = f"{self._inbox}-{number}", number + _FIRST_OWN
            own = f"SUB {reply} {name}\r\nUNSUB {name} 1\r\n".encode()
        sent = own + publish_frame(request.subject, reply, request.body, request.headers)
        pings, self._pings = self._pings, 0
        return b"PONG\r\n" * pings + sent

    def feed(self, data: bytes) -> list[tuple[int, Message]]:
        """The answers that are whole now.

        Raises:
            Malformed: these are not NATS' bytes, or the server ends the connection.
        """
        out = []
        for frame in self._frames.feed(data):
            if isinstance(frame, Ping):
                self._pings += 1
            elif isinstance(frame, Refused):
                raise Malformed(f"the server says {frame.text}")
            elif frame.subscription >= _FIRST_OWN:
                out.append((frame.subscription - _FIRST_OWN, frame))
            else:
                inbox, _, number = frame.subject.rpartition(".")
                if inbox == self._inbox and number.isdecimal():
                    out.append((int(number), frame))
        return out
