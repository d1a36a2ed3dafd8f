"""Which keys there are: the leader of a bucket names all that match a pattern, at one moment.

It may be a leader that was deposed and does not know it yet. A read that is confirmed writes a key first: the answer
counts only if it comes from a server that has stored this write too.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from chaos.core.client import Definite, Indefinite
from cluster.systems.nats import buckets
from cluster.systems.nats.jetstream import JetStream


@contextmanager
def looking_first() -> Iterator[None]:
    """A block that only looks, before anything is written: whatever is not known of it, nothing was done.

    Raises:
        Definite: also for what is Indefinite.
    """
    try:
        yield
    except Indefinite as error:
        raise Definite(f"not looked at: {error}") from None


async def last_words(server: JetStream, bucket: str, name: str, deadline_ns: int, *, confirm: bool) -> list[int]:
    """The numbers by which the keys below a name end. Raises Definite or Indefinite."""
    written = 0
    if confirm:
        written = await server.publish(buckets.key_in(bucket, f"seen.{name}"), b"", deadline_ns)
    pattern = buckets.key_in(bucket, f"{name}.>")
    state = (await server.info(buckets.stream_of(bucket), pattern, deadline_ns)).state
    if state.last_seq < written:
        raise Definite(f"the answer is of message {state.last_seq}, and {written} was stored before")
    return [last_word(subject) for subject in state.subjects]


def last_word(subject: str) -> int:
    """The number at the end of a subject. Pure. Raises Definite if there is none."""
    word = subject.rpartition(".")[2]
    if not word.removeprefix("-").isdecimal():
        raise Definite(f"malformed key: {subject[-40:]!r}")
    return int(word)
