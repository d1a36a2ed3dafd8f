"""How simulated clients reach nodes: one request, one answer, and the errors of a connection."""

import asyncio
from functools import partial
from typing import Any, Final

from chaos.core.client import Definite, Indefinite
from cluster.simulation.machine import CLIENT, Machine
from cluster.simulation.network import Network
from cluster.simulation.virtual_time import VirtualTime

NO_ANSWER: Final = "no answer before the deadline"


def _give_up(future: asyncio.Future[Any]) -> None:
    """The deadline is over."""
    if not future.done():
        future.set_exception(Indefinite(NO_ANSWER))


def _settle(future: asyncio.Future[Any], answer: Any, error: Exception | None) -> None:
    """The first word counts."""
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(answer)


class MachineLink:
    """The way of one client to one machine; implements ``cluster.simulation.core.NodeLink``."""

    def __init__(self, machine: Machine, network: Network, time: VirtualTime) -> None:
        self._machine = machine
        self._network = network
        self._time = time
        self._life = 0

    async def ask(self, request: Any, deadline_ns: int) -> Any:
        """See ``NodeLink``. What is caught on its way is never answered; so are answers."""
        if self._time.now_ns() >= deadline_ns:
            raise Definite("not sent: the deadline is over")
        future: asyncio.Future[Any] = self._time.loop.create_future()
        self._network.stream(CLIENT, self._machine.name, self._machine.on_request, request, partial(_settle, future))
        self._time.at(deadline_ns, _give_up, future)
        life = self._life
        answer = await future
        if life != self._life:
            raise Indefinite("connection closed by the client")
        return answer

    def close(self) -> None:
        """See ``NodeLink``."""
        self._life += 1
