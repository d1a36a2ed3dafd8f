"""RESP 2, Redis' protocol: commands go out together, and their replies come back together.

Source: redis.io/docs/latest/develop/reference/protocol-spec.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from cluster.systems._shared.link import Malformed

_LINE: Final = b"\r\n"

Commands = tuple[tuple[str | int, ...], ...]
"""What is sent at once, each command with its arguments."""


class Refusal(NamedTuple):
    """A reply that is an error. ``text``: its code and the rest of it."""

    text: str


Reply = int | str | None | Refusal | list["Reply"]


class _Partial(Exception):  # noqa: N818 - it is none
    """There is more to come."""


class Resp:
    """One connection's RESP; implements ``cluster.systems._shared.link.Codec``. One request at a time."""

    greeting = b""

    def __init__(self) -> None:
        self._number = 0
        self._wanted = 0
        self._data = bytearray()

    def encode(self, number: int, request: Commands) -> bytes:
        """The commands; so many replies are the next ones."""
        self._number, self._wanted = number, len(request)
        return b"".join(map(encode_command, request))

    def feed(self, data: bytes) -> list[tuple[int, list[Reply]]]:
        """The replies to all commands if they are whole now."""
        self._data += data
        replies = decode_replies(bytes(self._data), self._wanted)
        if replies is None:
            return []
        self._data.clear()
        return [(self._number, replies)]


def encode_command(command: tuple[str | int, ...]) -> bytes:
    """A command on the wire. Pure."""
    words = [str(word).encode() for word in command]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def decode_replies(data: bytes, wanted: int) -> list[Reply] | None:
    """So many replies; None if they are not whole. Pure.

    Raises:
        Malformed: this is no RESP, or there is more than was asked for.
    """
    reader = _Reader(data)
    try:
        replies = [reader.reply() for _ in range(wanted)]
    except _Partial:
        return None
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no RESP: {error}") from None
    if reader.left():
        raise Malformed(f"no RESP: {reader.left()} bytes behind {wanted} replies")
    return replies


class _Reader:
    """A place in what has come."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def left(self) -> int:
        """Bytes behind the place."""
        return len(self._data) - self._at

    def reply(self) -> Reply:
        """The next reply."""
        line = self._line()
        kind, rest = line[:1], line[1:].decode(errors="replace")
        if kind == b"+":
            return rest
        if kind == b"-":
            return Refusal(rest)
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self._text(int(rest))
        if kind == b"*":
            return None if int(rest) < 0 else list(self._several(int(rest)))
        raise ValueError(f"a reply that begins with {line[:20]!r}")

    def _several(self, number: int) -> Iterator[Reply]:
        for _ in range(number):
            yield self.reply()

    def _line(self) -> bytes:
        end = self._data.find(_LINE, self._at)
        if end < 0:
            raise _Partial
        line, self._at = self._data[self._at : end], end + len(_LINE)
        return line

    def _text(self, length: int) -> str | None:
        if length < 0:
            return None
        end = self._at + length
        if len(self._data) < end + len(_LINE):
            raise _Partial
        text, self._at = self._data[self._at : end].decode(errors="replace"), end + len(_LINE)
        return text
