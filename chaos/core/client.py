"""The protocol between a workload and a system's client.

A client makes exactly one attempt per operation and answers before the operation's deadline. It never retries and
never swallows: what it cannot know is ``info``. (An idempotent send is one operation of several attempts; each is a
call of its own, and ``chaos.workload.logs.idempotent_sends`` makes them, not the client.)

A client notes each answer in ``Received`` as soon as it has it, page by page. It returns if the operation took effect,
and raises ``Definite`` if it certainly did not. ``invoke_in_time`` makes the completion of both, so that what a client
was given is recorded however the operation ends.
"""

from typing import Any, Protocol

import msgspec

from chaos.core.op import Completion, Invocation, Type
from chaos.core.time_limit import until


class Definite(Exception):  # noqa: N818 - the field's word
    """The operation certainly did not take effect."""


class Indefinite(Exception):  # noqa: N818 - the field's word
    """Nobody knows whether the operation took effect."""


class Received(msgspec.Struct):
    """What the client of one operation was given so far: from whom, and the model's result.

    The client may fill the result by and by.
    """

    node: str | None = None
    result: Any = None

    def completion(self, kind: Type, error: str | None = None) -> Completion:
        """The completion of an operation that ended in this way."""
        return Completion(type=kind, node=self.node, result=self.result, error=error)


class Client(Protocol):
    """One logical client of a system: its connections and its idea of the route.

    A class that names this one as its base need say only what differs from the defaults: it follows the route, and
    nothing stays open between operations.
    """

    pinned_to: str | None = None
    """The node this client stays on whatever the route says, or None if it follows the route."""

    async def invoke(self, op: Invocation, received: Received) -> None:
        """Try the operation once; returning means ok.

        ``received`` is filled as answers come. It may be read at any time: the caller cancels at the deadline.

        Raises:
            Definite: the operation certainly did not take effect.
            Indefinite: nobody knows. Any other exception means the same.
        """
        ...

    async def refresh(self) -> None:
        """Drop every connection and learned route: the next operation starts from nothing."""
        return

    async def close(self) -> None:
        """Release everything; safe to call twice."""
        return


async def invoke_in_time(client: Client, op: Invocation) -> Completion:
    """Invoke an operation under its own deadline; the completion carries all that the client was given.

    A deadline, and anything unforeseen, is ``info``: a wrong ``fail`` breaks every verdict.
    """
    received = Received()
    try:
        with until(op.deadline_ns):
            await client.invoke(op, received)
    except Definite as error:
        return received.completion(Type.FAIL, str(error))
    except TimeoutError:
        return received.completion(Type.INFO, "no answer before the deadline")
    except Indefinite as error:
        return received.completion(Type.INFO, str(error))
    except Exception as error:  # noqa: BLE001 - whatever a client library raises, nobody knows what happened
        return received.completion(Type.INFO, f"{type(error).__name__}: {error}"[:200])
    return received.completion(Type.OK)
