"""The way to a server, and what servers say of themselves.

Nothing is sent on a connection before the server has given it a session. So a server without a quorum, which closes
connections instead, refuses for certain.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import ns_from_now
from chaos.core.time_limit import until
from cluster.systems._shared.link import (
    CONNECT_TIMEOUT_S,
    NO_ANSWER,
    Connection,
    Link,
    Malformed,
    connecting,
)
from cluster.systems._shared.routing import Route, route_over
from cluster.systems.zookeeper.jute import SESSION, Answer, Jute, Request, Session, session_of
from cluster.systems.zookeeper.outcomes import outcome

CLIENT_PORT: Final = 2181
_MARK: Final = re.compile("[:=]")
NO_SESSION: Final = "no session"
"""How the error begins where a server closes a connection instead of giving it a session."""
_SESSION_S: Final = 2.0
_MOST_BYTES: Final = 1 << 20
_EPOCH_BITS: Final = 32
_AT_ONCE: Final = 500


class Server(Link[Request, Answer]):
    """The way to a server. ``place``: its address and port."""

    def __init__(self, host: str, port: int = CLIENT_PORT) -> None:
        super().__init__(host, port, Jute)
        self.place = host, port

    async def call(self, request: Request, deadline_ns: int, *, write: bool = False) -> Answer:
        """One request, one answer. ``write``: it changes something.

        Raises:
            Definite: nothing was changed. Indefinite: nobody knows.
        """
        answer = await self.ask(request, deadline_ns)
        if answer.error:
            raise outcome(answer.error, write=write)
        return answer

    async def _dial(self) -> Connection[Request, Answer]:
        """Connect and wait for a session.

        Raises:
            Definite: there is none.
        """
        try:
            connection, _ = await self.begin(SESSION, ns_from_now(CONNECT_TIMEOUT_S + _SESSION_S))
        except Indefinite as error:
            if str(error) == NO_ANSWER:
                raise Definite(f"connect: a session did not come in {_SESSION_S:g} s") from None
            raise Definite(f"{NO_SESSION}: {error}") from None
        return connection

    async def begin(self, request: Request, deadline_ns: int) -> tuple[Connection[Request, Answer], Session]:
        """A connection of its own, with the session that is asked for.

        Raises:
            Definite: nothing was sent, or the server says that there is no such session.
            Indefinite: it was asked for, and did not come.
        """
        try:
            with until(deadline_ns):
                connection = await super()._dial()
        except TimeoutError:
            raise Definite("connect: no answer before the deadline") from None
        try:
            answer = await connection.ask(request, deadline_ns)
            session = session_of(answer.body)
        except Malformed as error:
            connection.close()
            raise Indefinite(f"malformed answer: {error}") from None
        except BaseException:
            connection.close()
            raise
        if answer.error:
            connection.close()
            raise Definite(f"{NO_SESSION}: {outcome(answer.error, write=True)}")
        return connection, session

    async def word(self, word: str, deadline_ns: int) -> dict[str, str]:
        """Ask by one of ZooKeeper's four-letter words; the lines of the answer.

        Raises:
            Definite: there is no answer.
        """
        with connecting(deadline_ns):
            reader, writer = await asyncio.open_connection(*self.place)
        try:
            with until(deadline_ns):
                writer.write(word.encode())
                data = await reader.read(_MOST_BYTES)
                while len(data) < _MOST_BYTES and (more := await reader.read(_MOST_BYTES)):
                    data += more
        except TimeoutError:
            raise Definite(NO_ANSWER) from None
        except OSError as error:
            raise Definite(f"no answer: {error.strerror or type(error).__name__}") from None
        finally:
            writer.close()
        text = data.decode(errors="replace")
        if "not currently serving requests" in text:
            raise Definite("not serving")
        return fields(text)


class State(NamedTuple):
    """What a server says of itself. ``mode``: leader, follower, observer; ``epoch``: of the last transaction it has.

    ``transaction``: the number of that one, its epoch included.

    A leader has said nothing before it began an epoch of its own: it is asked by nobody until then (``Leader.lead``).
    """

    mode: str
    epoch: int
    version: str
    transaction: int


async def state_of(server: Server, deadline_ns: int) -> State:
    """Ask a server. Raises Definite if it does not say."""
    said = await server.word("srvr", deadline_ns)
    try:
        last = int(said["Zxid"], 16)
        version = said.get("Zookeeper version", "unknown version").partition("-")[0]
        return State(said["Mode"], last >> _EPOCH_BITS, version, last)
    except (KeyError, ValueError) as error:
        raise Definite(f"malformed answer: {error}") from None


async def answers_to(
    server: Server, requests: Iterable[Request], timeout_s: float
) -> list[Answer | Definite | Indefinite]:
    """Send each once, many at a time; a server treats them in the order in which they were sent."""
    out: list[Answer | Definite | Indefinite] = []
    wanted = list(requests)
    for first in range(0, len(wanted), _AT_ONCE):
        some = wanted[first : first + _AT_ONCE]
        deadline_ns = ns_from_now(timeout_s)
        out += await asyncio.gather(*(_answer(server, request, deadline_ns) for request in some))
    return out


async def _answer(server: Server, request: Request, deadline_ns: int) -> Answer | Definite | Indefinite:
    try:
        return await server.ask(request, deadline_ns)
    except (Definite, Indefinite) as error:
        return error


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
        leader = leader_of(heard)
        return route_over([(leader, self.servers)])

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for server in self.servers.values():
            server.close()


def leader_of(heard: Mapping[str, State]) -> str | None:
    """Who leads in the newest epoch, of those that say that they do. Pure."""
    leaders = [(state.epoch, name) for name, state in heard.items() if state.mode == "leader"]
    return max(leaders, default=(0, None))[1]


def fields(text: str) -> dict[str, str]:
    """The lines ``name: value`` and ``name=value`` of an answer. Pure."""
    pairs = (_MARK.split(line, maxsplit=1) for line in text.splitlines() if _MARK.search(line))
    return {name.strip(): value.strip() for name, value in pairs}


def numbers(names: Sequence[str]) -> dict[str, int]:
    """The number of each server, from 1. Pure."""
    return {name: number for number, name in enumerate(names, 1)}
