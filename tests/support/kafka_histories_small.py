"""Pieces of Kafka-style histories, a few records each, for ``history`` to put together."""

from collections.abc import Iterable
from typing import Any

Record = dict[str, Any]


def send(key: Any, value: int) -> list[Any]:
    """One send of an invocation."""
    return ["send", key, value]


def invoke(process: int, *mops: list[Any]) -> list[Record]:
    """An invocation."""
    return [{"type": "invoke", "process": process, "f": "txn" if len(mops) > 1 else mops[0][0], "value": list(mops)}]


def acked(process: int, key: Any, offset: int | None, value: int) -> list[Record]:
    """A send that was acknowledged."""
    done = {"type": "ok", "process": process, "f": "send", "value": [["send", key, [offset, value]]]}
    return [*invoke(process, send(key, value)), done]


def polled(process: int, got: dict[Any, list[list[Any]]]) -> list[Record]:
    """An ok poll."""
    return [*invoke(process, ["poll"]), {"type": "ok", "process": process, "f": "poll", "value": [["poll", got]]}]


def assigned(process: int, keys: list[Any], *, rewind: bool = False) -> list[Record]:
    """An ok assignment, to the beginning of the logs if asked."""
    extra = {"seek-to-beginning?": True} if rewind else {}
    return [{"type": kind, "process": process, "f": "assign", "value": keys, **extra} for kind in ("invoke", "ok")]


OPEN_SEND = invoke(0, send("a", 9))


def history(*pieces: Iterable[Record]) -> list[Record]:
    """The records of pieces one after the other, numbered."""
    return [{**record, "index": i} for i, record in enumerate(record for piece in pieces for record in piece)]
