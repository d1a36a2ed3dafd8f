"""Idempotent sends: one operation is attempted until it is answered, one at a time per producer.

A client makes one attempt per call, also here. What is repeated is the call, under the same producer and number, until
an answer says ok or the operation's deadline comes; then it is ``info`` if any attempt may have been taken, else
``fail``. Does not number messages: the workload does.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from chaos.core.client import Client, invoke_in_time
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Completion, Invocation, Type
from chaos.core.time_limit import until

ATTEMPT_NS: Final = 700_000_000
"""An attempt without an answer is made again after so long."""

PAUSE_S: Final = 0.2
"""Between an attempt that failed and the next; clients look for a new leader once in a while only."""

LEAST_NS: Final = 200_000_000
"""An attempt with less time before the deadline is not begun: it would only make a definite answer unknown."""

BUSY: Final = "its producer was busy until the deadline"


async def send_until_ok(client: Client, op: Invocation) -> Completion:
    """Attempt an idempotent send until it is ok or its deadline comes."""
    unknown: Completion | None = None
    while True:
        attempt_deadline_ns = min(op.deadline_ns, now_ns() + ATTEMPT_NS)
        done = await invoke_in_time(client, msgspec.structs.replace(op, deadline_ns=attempt_deadline_ns))
        if done.type is Type.OK:
            return done
        if done.type is Type.INFO:
            unknown = done
        if op.deadline_ns - now_ns() < LEAST_NS + PAUSE_S * NS_PER_S:
            return unknown if unknown is not None else done
        await asyncio.sleep(PAUSE_S)


class ProducerQueue:
    """One send per client and queue is under way; the others wait in the order in which they became due.

    Args:
        stamped: a send whose turn has come, under its producer's name and next number.
        learn: hears what became of it.
    """

    def __init__(
        self, stamped: Callable[[Invocation], Invocation], learn: Callable[[Invocation, Completion], None]
    ) -> None:
        self._stamped, self._learn = stamped, learn
        self._locks: dict[tuple[int, int], asyncio.Lock] = {}

    async def send(self, client: Client, op: Invocation) -> Completion:
        """Wait for the producer of the operation's client, attempt the send, and let the workload hear of it."""
        lock = self._locks.setdefault((op.client, op.key), asyncio.Lock())
        try:
            with until(op.deadline_ns - LEAST_NS):
                await lock.acquire()
        except TimeoutError:
            return self._never_left(op)
        try:
            if op.deadline_ns - now_ns() < LEAST_NS:  # both ended in a moment in which this process stood still
                return self._never_left(op)
            stamped = self._stamped(op)
            done = await send_until_ok(client, stamped)
            self._learn(stamped, done)
        finally:
            lock.release()
        return done

    def _never_left(self, op: Invocation) -> Completion:
        done = Completion(type=Type.FAIL, error=BUSY)
        self._learn(op, done)
        return done
