"""Spaces of keys of NATS: a key is a subject of a bucket, its revision the sequence of its last message.

An answer names the revision of a key and none of the whole bucket, and nothing reads several keys at one moment: the
leader lists the last messages one by one. So keys are read one at a time. A deletion is a message too, also of what is
not there, and nobody says which it was. Why a comparison does not hold is not told either.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chaos.core.client import Definite
from chaos.core.op import Invocation
from chaos.models.coordination.kv import ANY, DELETED, NOT_TOLD, Answer, F, Held
from cluster.systems.nats import buckets
from cluster.systems.nats.jetstream import JetStream, Stored

WORDS: Final = (F.PUT, F.DELETE, F.GET, F.COMPARE_PUT)
"""What clients know."""
_DELETE: Final[Mapping[str, str]] = MappingProxyType({"KV-Operation": "DEL"})


class Spaces:
    """What a client does with spaces.

    Args:
        mark: of the run.
        settings: of the run.
    """

    def __init__(self, mark: str, settings: Mapping[str, str]) -> None:
        self._mark = mark
        self._buckets = buckets.number_of(settings)
        self._direct = settings["client.directGet"] == "true"

    async def perform(self, server: JetStream, op: Invocation, deadline_ns: int) -> Answer:
        """Do one operation. Raises Definite or Indefinite."""
        bucket = buckets.bucket(self._mark, op.key % self._buckets)
        space = f"kv.{op.key}"
        if op.f is F.GET:
            key = buckets.key_in(bucket, f"{space}.{op.argument.first}")
            stream = buckets.stream_of(bucket)
            last = await (server.last_of_any if self._direct else server.last)(stream, key, deadline_ns)
            return Answer(held=_held(op.argument.first, last))
        (change,) = op.argument.changes
        key = buckets.key_in(bucket, f"{space}.{change.entry}")
        if change.value == DELETED:
            at = await server.publish(key, b"", deadline_ns, headers=_DELETE)
            return Answer(revision=at, effects=NOT_TOLD)
        expected = None if change.expected == ANY else change.expected
        at = await server.publish(key, b"%d" % change.value, deadline_ns, expected=expected)
        return Answer(revision=at, effects=1)


def _held(entry: int, last: Stored | None) -> list[Held]:
    """The key, if it is there: its last message is no deletion. Raises Definite if it holds what nobody writes."""
    if last is None or not last.data:
        return []
    if not last.data.isdigit():
        raise Definite(f"malformed value: {last.data[:20]!r}")
    return [Held(entry, int(last.data), last.seq)]
