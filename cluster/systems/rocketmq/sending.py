"""Requests that store one message, as data: plain, delayed, and the half of a transaction.

The broker's answer to a plain message tells its offset in the queue. A delayed or half message is stored in a
topic of the system's own first, so the offset in its answer says nothing of the queue.
"""

import time
from collections.abc import Mapping
from typing import Final

from chaos.core.client import Indefinite, Received
from chaos.core.clock import now_ns
from chaos.core.op import Invocation
from chaos.models.log.operations import Placed, Schedule, value_of
from chaos.models.log.words import F
from cluster.systems.rocketmq.outcomes import of_send, require_ok
from cluster.systems.rocketmq.protocol import Answer, encode_properties
from cluster.systems.rocketmq.topology import Mode

_NS_PER_MS: Final = 1_000_000


def request_fields(
    op: Invocation, topic: str, group: str, properties: Mapping[str, str] | None = None, system_flag: int = 0
) -> dict[str, object]:
    """The header of SEND_MESSAGE_V2."""
    named = {"KEYS": str(value_of(op)), "WAIT": "true", **(properties or {})}
    return {
        "a": group,
        "b": topic,
        "c": "TBW102",
        "d": 4,
        "e": op.key,
        "f": system_flag,
        "g": time.time_ns() // _NS_PER_MS,
        "h": 0,  # a half message of an older time is given up unasked
        "i": encode_properties(named),
        "j": 0,
        "k": False,
        "l": 0,
        "m": False,
    }


def properties_of(op: Invocation) -> dict[str, str]:
    """What a kind of send has beside its value: the instant before which a delayed one may not be delivered."""
    argument = op.argument
    return {"TIMER_DELIVER_MS": str(wall_ms(argument.not_before_ns))} if isinstance(argument, Schedule) else {}


def wall_ms(instant_ns: int) -> int:
    """An instant of the run's clock on the wall clock that brokers go by, in ms, rounded up: never before it.

    The hosts' wall clock is this machine's; it must not be set while messages wait.
    """
    return -((now_ns() - instant_ns - time.time_ns()) // _NS_PER_MS)


def note_sent(op: Invocation, answer: Answer, mode: Mode, received: Received) -> None:
    """Note the offset in the answer to a plain or delayed send; returns if the send is ok.

    Raises:
        Definite: the broker certainly did not take it. Indefinite: nobody knows.
    """
    told = answer.fields.get("queueOffset") if op.f is F.SEND else None
    received.result = Placed(None if told is None else int(told))
    require_ok(of_send(answer.code, answer.remark, mode))
    if op.f is F.SEND and told is None:
        raise Indefinite("SUCCESS: without an offset")
