"""Keys that end by their age, of which each is made, changed and removed by who knows its revision.

Each server counts the age of messages by itself. So while two servers take themselves for the leader of a bucket, one
may refuse a write because of a message that is too old for the other: no refusal of a write is certain here. What can
be known before is looked at first, since a look changes nothing.
"""

from collections.abc import Mapping
from typing import Final

from chaos.core.client import Definite, Indefinite
from cluster.systems.nats import buckets
from cluster.systems.nats.jetstream import JetStream, Stored
from cluster.systems.nats.reads import last_words, looking_first

_NS_PER_MS: Final = 1_000_000


class Expiring:
    """The run's expiring buckets. ``mark``: of the run."""

    def __init__(self, mark: str, settings: Mapping[str, str]) -> None:
        self._mark = mark
        self._buckets = buckets.number_of(settings)
        self.age_ms = buckets.duration_ns(settings[buckets.MAX_AGE]) // _NS_PER_MS

    def check_lasts(self, asked_ms: int) -> None:
        """See that keys live as long as is asked for. Raises Definite."""
        if asked_ms > self.age_ms:
            raise Definite(f"keys of the bucket live {self.age_ms} ms, and {asked_ms} ms are asked for")

    def bucket(self, key: int) -> str:
        """The bucket of an object of the model."""
        return buckets.bucket(self._mark, key % self._buckets)

    async def last(self, server: JetStream, key: int, name: str, deadline_ns: int) -> Stored | None:
        """What a key of an object's bucket holds. It comes before a write, so all that fails is Definite."""
        bucket = self.bucket(key)
        with looking_first():
            return await server.last(buckets.stream_of(bucket), buckets.key_in(bucket, name), deadline_ns)

    async def names(self, server: JetStream, key: int, name: str, deadline_ns: int, *, confirm: bool) -> list[int]:
        """The numbers by which the keys below a name end. Raises as ``reads.last_words``."""
        return await last_words(server, self.bucket(key), name, deadline_ns, confirm=confirm)

    async def put(self, server: JetStream, key: int, name: str, body: bytes, revision: int, deadline_ns: int) -> int:
        """Write a key that has this revision, 0: that is not there; its new one. Raises Definite or Indefinite."""
        subject = buckets.key_in(self.bucket(key), name)
        return await server.publish(subject, body, deadline_ns, expected=revision, expiring=True)

    async def remove(self, server: JetStream, key: int, name: str, deadline_ns: int, *, below: int = 0) -> None:
        """Remove a key, if its revision is lower; 0: whatever it is.

        Raises:
            Definite: it was not removed. Indefinite: nobody knows, also where nothing was there to be removed:
                another leader may have done it.
        """
        bucket = self.bucket(key)
        stream, subject = buckets.stream_of(bucket), buckets.key_in(bucket, name)
        if not await server.purge(stream, subject, deadline_ns, below=below):
            raise Indefinite("nothing was removed")
