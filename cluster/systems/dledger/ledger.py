"""DLedger's own requests: append an entry, get one by its index. RocketMQ's remoting carries them, with JSON inside."""

from typing import Final, TypeVar

import msgspec

from chaos.core.client import Definite, Indefinite
from cluster.systems.dledger.launch import PORT
from cluster.systems.dledger.outcomes import definite_of, of_append
from cluster.systems.dledger.settings import GROUP
from cluster.systems.rocketmq.connection import Link

APPEND: Final = 50001
GET: Final = 50002
SUCCESS: Final = 200
OUT_OF_RANGE: Final = 410
NOOP: Final = 2
"""The magic of an entry that a leader appends by itself."""

_BYTE: Final = 0xFF
_HALF: Final = 0x80

SaidT = TypeVar("SaidT", bound="Said")


class Said(msgspec.Struct, frozen=True):
    """What every answer holds: DLedger's own code."""

    code: int = SUCCESS


class Appended(Said, frozen=True):
    """The answer to an append; -1: no index."""

    index: int = -1


class Entry(msgspec.Struct, frozen=True):
    """An entry of the log."""

    index: int
    magic: int = 0
    body: bytes | list[int] | None = None

    @property
    def content(self) -> bytes:
        """The body. Early versions write it as Base64, later ones as numbers from -128 to 127."""
        return bytes(number & _BYTE for number in self.body) if isinstance(self.body, list) else self.body or b""


class Got(Said, frozen=True):
    """The answer to a request for an entry."""

    entries: list[Entry] | None = None


class Ledger:
    """The way to a node's log."""

    def __init__(self, name: str, host: str, port: int = PORT) -> None:
        self._name = name
        self._link = Link(host, port)

    async def append(self, body: bytes, deadline_ns: int) -> Appended:
        """Append an entry; its answer, whatever that says.

        Raises:
            Definite: it was certainly not appended. Indefinite: nobody knows.
        """
        answer = await self._link.request(APPEND, {}, deadline_ns, self._request(body=_signed(body)))
        if answer.code != SUCCESS:
            raise of_append(answer.code, remoting=True)
        try:
            return _decoded(answer.body, Appended)
        except msgspec.DecodeError as error:
            raise Indefinite(f"malformed answer: {error}") from None

    async def get(self, index: int, deadline_ns: int) -> Entry | None:
        """The entry with an index; None if the log ends before it.

        Raises:
            Definite: the node refused. Indefinite: no answer.
        """
        answer = await self._link.request(GET, {}, deadline_ns, self._request(beginIndex=index))
        if answer.code != SUCCESS:
            raise definite_of(answer.code, remoting=True)
        try:
            got = _decoded(answer.body, Got)
        except msgspec.DecodeError as error:
            raise Definite(f"malformed answer: {error}") from None
        if got.code == OUT_OF_RANGE:
            return None
        if got.code != SUCCESS:
            raise definite_of(got.code)
        if not got.entries or got.entries[0].index != index:
            raise Definite(f"malformed answer: no entry {index}")
        return got.entries[0]

    def _request(self, **fields: object) -> bytes:
        return msgspec.json.encode({"group": GROUP, "remoteId": self._name, **fields})

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        self._link.close()


def _signed(body: bytes) -> list[int]:
    """A body as every version takes it."""
    return [number - 2 * _HALF if number >= _HALF else number for number in body]


def _decoded(body: bytes, kind: type[SaidT]) -> SaidT:
    return msgspec.json.decode(body, type=kind)


def appended_at(said: Appended) -> int:
    """The index of an entry that was appended.

    Raises:
        Definite: it was certainly not appended. Indefinite: nobody knows.
    """
    if said.code != SUCCESS:
        raise of_append(said.code)
    if said.index < 0:
        raise Indefinite("acknowledged without an index")
    return said.index
