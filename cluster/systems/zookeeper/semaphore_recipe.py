"""A place that some may hold at once, as a lock is held by one and a semaphore by several: ZooKeeper's recipe.

It is that of its documentation and of Curator, asked once instead of waited for. Whoever wants to hold begins a session
as long as the lease, and makes an ephemeral sequential node below the place's. Those with the lowest names hold; the
others end their sessions again. The session of a holder is left alone: nobody pings it, so it ends with its lease, and
the node with it.
"""

import contextlib
from typing import Final

from chaos.core.client import Definite, Indefinite
from cluster.systems._shared.link import Connection, Malformed
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.outcomes import outcome
from cluster.systems.zookeeper.servers import NO_SESSION, Server

TOO_SHORT: Final = "the server gives no session as long as the lease"

Session = Connection[jute.Request, jute.Answer]


async def hold(
    server: Server, place: str, lease_ms: int, most: int, refusal: str, deadline_ns: int, *, count_first: bool = False
) -> jute.Made:
    """Hold a place. A session by itself holds nothing.

    Args:
        server: who is asked.
        place: the node below which those that want to hold are.
        lease_ms: the length of the session.
        most: so many may hold at once.
        refusal: what is said to whom they leave no room.
        deadline_ns: when there must be an answer.
        count_first: the holders are counted before the node is made, so others may come in between.

    Returns:
        The node of our own.

    Raises:
        Definite: nothing is held. Indefinite: nobody knows.
    """
    try:
        connection, session = await server.begin(jute.session(lease_ms), deadline_ns)
    except Indefinite as error:
        raise Definite(f"{NO_SESSION}: {error}") from None
    try:
        if session.timeout_ms < lease_ms:  # of 20 ticks at most
            raise Definite(f"{TOO_SHORT}: {session.timeout_ms} ms")
        if count_first:
            await _counted(connection, place, most, refusal, deadline_ns)
        made = await _made(connection, place, deadline_ns)
        if not count_first and made.path.rpartition("/")[2] not in await _lowest(connection, place, most, deadline_ns):
            with contextlib.suppress(Definite, Indefinite):  # it ends by itself then
                await connection.ask(jute.end_session(), deadline_ns)
            raise Definite(refusal)
    finally:
        connection.close()
    return made


async def _made(connection: Session, place: str, deadline_ns: int) -> jute.Made:
    """A node of our own. Raises Definite or Indefinite."""
    answer = await connection.ask(jute.create_and_tell(f"{place}/", jute.EPHEMERAL | jute.SEQUENTIAL), deadline_ns)
    if answer.error:
        raise outcome(answer.error, write=True)
    try:
        return jute.made_of(answer.body)
    except Malformed as error:
        raise Indefinite(f"malformed answer: {error}") from None


async def _lowest(connection: Session, place: str, most: int, deadline_ns: int) -> list[str]:
    """The lowest names below a place, our own being there. Raises Indefinite."""
    try:
        names = sorted(await _names(connection, place, deadline_ns))
    except Malformed as error:
        raise Indefinite(f"malformed answer: {error}") from None
    except Definite as error:
        raise Indefinite(f"not seen who holds it: {error}") from None
    if not names:
        raise Indefinite("malformed answer: our own node is not there")
    return names[:most]


async def _counted(connection: Session, place: str, most: int, refusal: str, deadline_ns: int) -> None:
    """Return if there is room, as the server's own copy has it. Raises Definite."""
    try:
        holders = await _names(connection, place, deadline_ns)
    except (Indefinite, Malformed) as error:
        raise Definite(f"not counted: {error}") from None
    if len(holders) >= most:
        raise Definite(refusal)


async def _names(connection: Session, place: str, deadline_ns: int) -> list[str]:
    """The names below a place, as the server has them. Raises Definite, Indefinite or Malformed."""
    answer = await connection.ask(jute.get_children(place), deadline_ns)
    if answer.error:
        raise outcome(answer.error, write=False)
    return jute.names_of(answer.body)
