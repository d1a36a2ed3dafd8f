"""The way to a server, and what servers say of themselves."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite
from cluster.systems._shared.link import Link, seconds_until
from cluster.systems._shared.routing import Route, Served
from cluster.systems.zookeeper.jute import Answer, Jute, Request
from cluster.systems.zookeeper.outcomes import outcome

CLIENT_PORT: Final = 2181
_LINE: Final = re.compile(r"^([^\s:=]+(?: \w+)*)[:=\t]\s*(.*)$", re.MULTILINE)
_CONNECT_S: Final = 1.0
_MOST_BYTES: Final = 1 << 20
_EPOCH_BITS: Final = 32


class Server(Link[Request, Answer]):
    """The way to a server."""

    def __init__(self, host: str, port: int = CLIENT_PORT) -> None:
        super().__init__(host, port, Jute)
        self._place = host, port

    async def call(self, request: Request, deadline_ns: int, *, write: bool = False) -> Answer:
        """One request, one answer. ``write``: it changes something.

        Raises:
            Definite: nothing was changed. Indefinite: nobody knows.
        """
        answer = await self.ask(request, deadline_ns)
        if answer.error:
            raise outcome(answer.error, write=write)
        return answer

    async def word(self, word: str, deadline_ns: int) -> dict[str, str]:
        """Ask by one of ZooKeeper's four-letter words; the lines of the answer.

        Raises:
            Definite: there is no answer.
        """
        try:
            async with asyncio.timeout(min(_CONNECT_S, seconds_until(deadline_ns))):
                reader, writer = await asyncio.open_connection(*self._place)
        except ConnectionRefusedError:
            raise Definite("connect: refused") from None
        except (OSError, TimeoutError) as error:
            raise Definite(f"connect: {getattr(error, 'strerror', None) or 'no answer'}") from None
        try:
            async with asyncio.timeout(seconds_until(deadline_ns)):
                writer.write(word.encode())
                text = (await reader.read(_MOST_BYTES)).decode(errors="replace")
                while more := await reader.read(_MOST_BYTES):
                    text += more.decode(errors="replace")
        except (OSError, TimeoutError):
            raise Definite("no answer before the deadline") from None
        finally:
            writer.close()
        if "not currently serving requests" in text:
            raise Definite("not serving")
        return fields(text)


class State(NamedTuple):
    """What a server says of itself. ``mode``: leader, follower, observer; ``epoch``: of the last transaction it has."""

    mode: str
    epoch: int


async def state_of(server: Server, deadline_ns: int) -> State:
    """Ask a server. Raises Definite if it does not say."""
    said = await server.word("srvr", deadline_ns)
    try:
        return State(said["Mode"], int(said["Zxid"], 16) >> _EPOCH_BITS)
    except (KeyError, ValueError) as error:
        raise Definite(f"malformed answer: {error}") from None


class Ensemble:
    """Every server, by name. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, servers: Mapping[str, Server]) -> None:
        self.servers = dict(servers)

    async def ask(self, deadline_ns: int) -> Route | None:
        """The leader of the newest epoch among those that answer; None if nobody does."""
        asked = [state_of(server, deadline_ns) for server in self.servers.values()]
        states = await asyncio.gather(*asked, return_exceptions=True)
        for state in states:
            if isinstance(state, BaseException) and not isinstance(state, Definite | Indefinite):
                raise state
        heard = {name: state for name, state in zip(self.servers, states, strict=True) if isinstance(state, State)}
        if not heard:
            return None
        leader = leading(heard)
        return Route((Served(leader, tuple(name for name in self.servers if name != leader)),))

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for server in self.servers.values():
            server.close()


def leading(heard: Mapping[str, State]) -> str | None:
    """Who leads in the newest epoch, of those that say that they do. Pure."""
    leaders = [(state.epoch, name) for name, state in heard.items() if state.mode == "leader"]
    return max(leaders, default=(0, None))[1]


def fields(text: str) -> dict[str, str]:
    """The lines ``name: value``, ``name=value`` and name, tab, value of an answer. Pure."""
    return {name: value.strip() for name, value in _LINE.findall(text)}


def numbers(names: Sequence[str]) -> dict[str, int]:
    """The number of each server, from 1. Pure."""
    return {name: number for number, name in enumerate(names, 1)}
