"""The last pops of a run: each queue is popped and acknowledged until nothing can come any more (SEMANTICS 20).

What a client let go, and what a pop without an answer took, comes again only when its time is over and the broker has
noticed; an empty answer before that says nothing. So the end is the first pop that comes back empty after all of that
must have come. The module refuses to judge whether it did: the history shows when each pop began.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Completion, F, Record, Type

TIMEOUT_S: Final = 5.0
"""The deadline of one of these operations."""

PAUSE_S: Final = 0.5
"""After a pop that brought nothing."""

Ask = Callable[[F, Record | None], Awaitable[Completion]]
"""Pops, or acknowledges a record, within ``TIMEOUT_S``."""


async def pop_to_the_end(ask: Ask, *, invisible_s: float, returns_s: float, deadline_ns: int) -> str:
    """Pop one queue to its end.

    Args:
        ask: performs and records one operation.
        invisible_s: for how long nobody else is given what was popped.
        returns_s: how long after that it may take to come again.
        deadline_ns: when to give up.

    Returns:
        why the end was not reached, empty if it was.
    """
    again_ns = int((TIMEOUT_S + invisible_s + returns_s) * NS_PER_S)
    due_ns = now_ns() + again_ns
    why = "what was let go could still come"
    while now_ns() < deadline_ns:
        began_ns = now_ns()
        done = await ask(F.POP, None)
        if done.type is Type.OK and not done.records and began_ns > due_ns:
            return ""
        why = done.error or why
        settled = await _settled(ask, done)
        if done.type is Type.INFO or not settled:
            due_ns = now_ns() + again_ns
        if not done.records:
            await asyncio.sleep(PAUSE_S)
    return why


async def _settled(ask: Ask, done: Completion) -> bool:
    """Acknowledge what was popped; whether every ack was answered ok."""
    ours = (record for record in done.records if record.value is not None)
    answers = await asyncio.gather(*(ask(F.ACK, record) for record in ours))
    return all(answer.type is Type.OK for answer in answers)
