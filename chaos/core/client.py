"""The protocol between a workload and a system's client.

A client makes exactly one attempt per operation and answers before the operation's deadline. It
never retries, never swallows: what it cannot know is ``info``. (An idempotent send is one operation of
several attempts; each is a call of its own, and ``chaos.attempts`` makes them, not the client.)
``Definite`` and ``Indefinite`` are for client code that is easier to write with exceptions; ``settled``
turns them into completions.
"""

import asyncio
from typing import Protocol

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Completion, Invocation, Type


class Definite(Exception):  # noqa: N818 - the field's word
    """The operation certainly did not take effect."""


class Indefinite(Exception):  # noqa: N818 - the field's word
    """Nobody knows whether the operation took effect."""


class Client(Protocol):
    """One logical client of a system: its connections and its idea of the route."""

    pinned_to: str | None
    """The node this client stays on whatever the route says, or None if it follows the route."""

    async def invoke(self, op: Invocation) -> Completion:
        """Try the operation once and say what became of it."""
        ...

    async def refresh(self) -> None:
        """Drop every connection and learned route: the next operation starts from nothing."""
        ...

    async def close(self) -> None:
        """Release everything; safe to call twice."""
        ...


async def settled(client: Client, op: Invocation) -> Completion:
    """``client.invoke`` under the operation's own deadline, with exceptions turned into outcomes.

    A deadline, and anything unforeseen, is ``info``: a wrong ``fail`` breaks every verdict.
    """
    try:
        async with asyncio.timeout(max(0.0, (op.deadline_ns - now_ns()) / NS_PER_S)):
            return await client.invoke(op)
    except Definite as error:
        return Completion(type=Type.FAIL, error=str(error))
    except TimeoutError:
        return Completion(type=Type.INFO, error="no answer before the deadline")
    except Indefinite as error:
        return Completion(type=Type.INFO, error=str(error))
    except Exception as error:  # noqa: BLE001 - whatever a client library raises, nobody knows what happened
        return Completion(type=Type.INFO, error=f"{type(error).__name__}: {error}"[:200])
