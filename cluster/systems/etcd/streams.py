"""A request to a member's gateway whose answer has no end: lines of JSON, on a connection of its own."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

import msgspec

from chaos.core.client import Definite
from cluster.systems._shared.http import OK
from cluster.systems.etcd.outcomes import outcome

_MOST_BYTES: Final = 16 << 20
"""No line of an answer is longer."""
_END: Final = b"\r\n"
_HEX: Final = 16


class StreamError(msgspec.Struct):
    """What a stream says instead of a result."""

    message: str = "an error without a message"


async def lines_of(host: str, port: int, path: str, body: Mapping[str, Any]) -> AsyncGenerator[bytes]:
    """The lines as they come; the connection is closed when nobody asks for more.

    Raises:
        Definite: the member was not reached, refused, or ended it.
    """
    sent = msgspec.json.encode(body)
    writer = None
    try:
        reader, writer = await asyncio.open_connection(host, port, limit=_MOST_BYTES)
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(sent)}\r\n\r\n"
        writer.write(head.encode() + sent)
        status = int((await reader.readuntil(2 * _END)).split()[1])
        rest = b""
        while size := int((await reader.readuntil(_END)).strip(), _HEX):
            rest += (await reader.readexactly(size + len(_END)))[:size]
            if status != OK:
                raise outcome(rest, write=False)
            *lines, rest = rest.split(b"\n")
            for line in lines:
                yield line
            if len(rest) > _MOST_BYTES:
                raise Definite("malformed message: a line without an end")
    except asyncio.IncompleteReadError:
        raise Definite("the connection was closed") from None
    except (OSError, ValueError, LookupError, asyncio.LimitOverrunError) as error:
        raise Definite(f"{type(error).__name__}: the watch broke") from None
    finally:
        if writer is not None:
            writer.transport.abort()
