"""Semaphores of NATS: a key of an expiring bucket for each permit; who makes one holds its permit.

The revision of the key is the permit's number. Who wants a permit asks which keys there are and tries to make each
other one, one after the other, until one is made: others do the same. A try that was refused may have been taken by
another leader; such a key ends by its age. Who gives a permit back removes all messages of its key up to its number.
"""

from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.coordination.semaphore import F, Permit
from cluster.systems.nats.expiring import Expiring
from cluster.systems.nats.jetstream import JetStream
from cluster.systems.nats.outcomes import UNDER_WAY, WRONG_SEQUENCE
from cluster.systems.nats.reads import looking_first

NONE_FREE: Final = "all permits are held"
NOT_HELD: Final = "the permit is not held"
_IN_THE_WAY: Final = (str(WRONG_SEQUENCE), UNDER_WAY)
"""How errors begin that tell of another client's write of the key."""


class Semaphores:
    """What a client does with semaphores."""

    def __init__(self, keys: Expiring) -> None:
        self._keys = keys
        self._names: dict[int, str] = {}

    async def perform(self, server: JetStream, op: Invocation, deadline_ns: int) -> Permit | None:
        """Do one operation. Raises Definite or Indefinite."""
        if op.f is F.ACQUIRE:
            return await self._acquire(server, op, deadline_ns)
        number = op.argument.permit
        name = self._names.get(number)
        held = None if name is None else await self._keys.last(server, op.key, name, deadline_ns)
        if name is None or held is None or held.seq != number:
            raise Definite(NOT_HELD)
        await self._keys.remove(server, op.key, name, deadline_ns, below=number + 1)
        return None

    async def _acquire(self, server: JetStream, op: Invocation, deadline_ns: int) -> Permit:
        """Make the first key that nobody has. Raises Definite or Indefinite."""
        self._keys.check_lasts(op.argument.lease_ms)
        place = f"permits.{op.key}"
        with looking_first():
            taken = await self._keys.names(server, op.key, place, deadline_ns, confirm=False)
        refused: Indefinite | None = None
        for one in sorted({*range(op.argument.permits)}.difference(taken)):
            name = f"{place}.{one}"
            try:
                number = await self._keys.put(server, op.key, name, b"", 0, deadline_ns)
            except Indefinite as error:
                if not str(error).startswith(_IN_THE_WAY):
                    raise
                refused = error
                continue
            except Definite as error:
                raise refused or error from None
            self._names[number] = name
            return Permit(number)
        raise refused or Definite(NONE_FREE)
