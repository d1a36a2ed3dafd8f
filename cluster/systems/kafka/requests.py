"""Requests to brokers about a topic and its partitions, and what their answers say. Pure.

Source: the message definitions of Kafka 4.3. Every function that reads an answer raises Malformed where it does not
parse. Errors are numbers, 0 for none (``outcomes``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from cluster.systems._shared.link import Malformed
from cluster.systems.kafka.records import Producer
from cluster.systems.kafka.wire import (
    Reader,
    Request,
    array,
    blob,
    compact_array,
    compact_text,
    int8,
    int16,
    int32,
    int64,
    text,
)

CONSUMER: Final = -1
"""Who asks as consumers do: at a leader, up to what is replicated."""
DEBUGGER: Final = -2
"""Who may ask any replica for its offsets."""
EARLIEST: Final = -2
LATEST: Final = -1
ANY_EPOCH: Final = -1
UNCOMMITTED: Final = 0
COMMITTED: Final = 1
"""Isolation: whether messages of open and aborted transactions are shown."""
ALL: Final = -1
"""An acknowledgement of all replicas in sync."""
_MOST_BYTES: Final = 16 << 20

ItemT = TypeVar("ItemT")


class Partition(NamedTuple):
    """What a broker knows of a partition: numbers of brokers, None where nobody leads."""

    leader: int | None
    epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


def metadata(topic: str) -> Request:
    """Who leads the partitions of a topic."""
    return Request(3, 8, array([text(topic)]) + int8(0) + int8(0) + int8(0))


def partitions_of(reader: Reader) -> tuple[int, dict[int, Partition]]:
    """The error of the one topic in an answer, and its partitions."""
    reader.int32()
    reader.array(lambda: (reader.int32(), reader.text(), reader.int32(), reader.text()))
    reader.text()
    reader.int32()

    def partition() -> tuple[int, Partition]:
        reader.int16()
        index, leader, epoch = reader.int32(), reader.int32(), reader.int32()
        replicas, in_sync = tuple(reader.array(reader.int32)), tuple(reader.array(reader.int32))
        reader.array(reader.int32)
        return index, Partition(leader if leader >= 0 else None, epoch, replicas, in_sync)

    def topic() -> tuple[int, dict[int, Partition]]:
        error = reader.int16()
        reader.text()
        reader.flag()
        found = dict(reader.array(partition))
        reader.int32()
        return error, found

    topics = reader.array(topic)
    if len(topics) != 1:
        raise Malformed(f"{len(topics)} topics instead of one")
    return topics[0]


def create_topic(
    topic: str, assignments: Sequence[Sequence[int]], configuration: Mapping[str, str], timeout_ms: int
) -> Request:
    """Create a topic whose partitions have these replicas; the first of each is preferred as leader."""
    where = array([int32(index) + array([*map(int32, brokers)]) for index, brokers in enumerate(assignments)])
    lines = array([text(name) + text(value) for name, value in configuration.items()])
    one = text(topic) + int32(-1) + int16(-1) + where + lines
    return Request(19, 4, array([one]) + int32(timeout_ms) + int8(0))


def read_created(reader: Reader) -> tuple[int, str]:
    """The error of the one topic that was to be created, and what the broker says of it."""
    reader.int32()
    return _only(reader.array(lambda: (reader.text(), (reader.int16(), reader.text()))))


def delete_topic(topic: str, timeout_ms: int) -> Request:
    """Delete a topic."""
    return Request(20, 3, array([text(topic)]) + int32(timeout_ms))


def read_deleted(reader: Reader) -> int:
    """The error of the one topic or group that was to be deleted."""
    reader.int32()
    return _only(reader.array(lambda: (reader.text(), reader.int16())))


class Stored(NamedTuple):
    """The answer to a send; the offset is -1 where nothing was appended."""

    error: int
    offset: int


def produce(
    topic: str, partition: int, content: bytes, *, acks: int, timeout_ms: int, transaction: str | None = None
) -> Request:
    """Send a batch, maybe as part of somebody's transaction."""
    one = text(topic) + array([int32(partition) + blob(content)])
    return Request(0, 7, text(transaction) + int16(acks) + int32(timeout_ms) + array([one]))


def read_stored(reader: Reader) -> Stored:
    """What became of the one message that was sent."""

    def partition() -> tuple[int, Stored]:
        index, error, offset = reader.int32(), reader.int16(), reader.int64()
        reader.int64()
        reader.int64()
        return index, Stored(error, offset)

    return _only(_only_topic(reader, partition))


class Pulled(NamedTuple):
    """The answer to a fetch: an error, offsets of the log (-1: not said), and bytes of it.

    ``stable``: below it no transaction is open. ``aborted``: producers and where an aborted transaction of each begins.
    """

    error: int
    high_watermark: int
    stable: int
    log_start: int
    aborted: tuple[tuple[int, int], ...]
    data: bytes


def fetch(
    topic: str,
    partition: int,
    offset: int,
    *,
    epoch: int = ANY_EPOCH,
    isolation: int = UNCOMMITTED,
    wait_ms: int = 0,
    most_bytes: int = 1 << 20,
) -> Request:
    """Read a partition from an offset on; ``epoch``: of the leader that must answer."""
    one = int32(partition) + int32(epoch) + int64(offset) + int64(-1) + int32(most_bytes)
    head = int32(CONSUMER) + int32(wait_ms) + int32(1 if wait_ms else 0) + int32(_MOST_BYTES) + int8(isolation)
    head += int32(0) + int32(-1)  # no session
    return Request(1, 11, head + array([text(topic) + array([one])]) + array([]) + text(""))


def read_pulled(reader: Reader) -> Pulled:
    """What a fetch of one partition returned."""
    reader.int32()
    error = reader.int16()
    reader.int32()
    if error:
        return Pulled(error, -1, -1, -1, (), b"")

    def partition() -> tuple[int, Pulled]:
        index, wrong = reader.int32(), reader.int16()
        high, stable, start = reader.int64(), reader.int64(), reader.int64()
        aborted = tuple(reader.array(lambda: (reader.int64(), reader.int64())))
        reader.int32()
        return index, Pulled(wrong, high, stable, start, aborted, reader.blob())

    return _only(_only_topic(reader, partition))


class Offset(NamedTuple):
    """The answer to the question for an offset; ``epoch``: of the leader that answered."""

    error: int
    offset: int
    epoch: int


def list_offsets(
    topic: str, partitions: Iterable[int], when: int, *, who: int = CONSUMER, isolation: int = UNCOMMITTED
) -> Request:
    """Ask for the first or last offset of partitions."""
    wanted = array([int32(index) + int32(ANY_EPOCH) + int64(when) for index in partitions])
    return Request(2, 5, int32(who) + int8(isolation) + array([text(topic) + wanted]))


def offsets_of(reader: Reader) -> dict[int, Offset]:
    """The offset of each partition."""
    reader.int32()

    def partition() -> tuple[int, Offset]:
        index, error = reader.int32(), reader.int16()
        reader.int64()
        offset, epoch = reader.int64(), reader.int32()
        return index, Offset(error, offset, epoch)

    return dict(_only_topic(reader, partition))


def describe_configs(kind: int, name: str, keys: Sequence[str]) -> Request:
    """Ask for settings of a topic (2) or a broker (4)."""
    wanted = array([text(key) for key in keys])
    return Request(32, 3, array([int8(kind) + text(name) + wanted]) + int8(0) + int8(0))


def configs_of(reader: Reader) -> tuple[int, str, dict[str, str | None]]:
    """The error, what the broker says of it, and the settings; None where one is not shown."""
    reader.int32()

    def config() -> tuple[str, str | None]:
        name, value = reader.text(), reader.maybe_text()
        reader.flag()
        reader.int8()
        reader.flag()
        reader.array(lambda: (reader.text(), reader.maybe_text(), reader.int8()))
        reader.int8()
        reader.maybe_text()
        return name, value

    def resource() -> tuple[str, tuple[int, str, dict[str, str | None]]]:
        error, message = reader.int16(), reader.text()
        reader.int8()
        return reader.text(), (error, message, dict(reader.array(config)))

    return _only(reader.array(resource))


class Quorum(NamedTuple):
    """What a controller says of the quorum: an error unless it leads, who leads and in which epoch."""

    error: int
    leader: int
    epoch: int


def describe_quorum() -> Request:
    """Ask a controller for the quorum of the metadata."""
    name = b"__cluster_metadata"
    partition = b"\2" + int32(0) + b"\0"
    topic = bytes([len(name) + 1]) + name + partition + b"\0"
    return Request(55, 0, b"\2" + topic + b"\0", flexible=True)


def quorum_of(reader: Reader) -> Quorum:
    """What a controller answered."""
    error = reader.int16()
    if error:
        return Quorum(error, -1, -1)

    def partition() -> Quorum:
        reader.int32()
        return Quorum(reader.int16(), reader.int32(), reader.int32())

    if reader.unsigned() != 2 or not reader.compact_text() or reader.unsigned() != 2:  # noqa: PLR2004 - one and one
        raise Malformed("an answer about another log than that of the metadata")
    return partition()


def init_producer(transaction: str | None = None, timeout_ms: int = 0) -> Request:
    """Ask for a number under which messages are sent at most once."""
    return Request(22, 1, text(transaction) + int32(timeout_ms))


def producer_of(reader: Reader) -> tuple[int, Producer]:
    """The error, and the producer's number and epoch."""
    reader.int32()
    error = reader.int16()
    return error, Producer(reader.int64(), reader.int16())


def find_coordinator(name: str, kind: int) -> Request:
    """Ask who coordinates a group (0) or a transaction (1)."""
    return Request(10, 2, text(name) + int8(kind))


def coordinator_of(reader: Reader) -> tuple[int, int]:
    """The error, and the number of the broker that coordinates."""
    reader.int32()
    error = reader.int16()
    reader.maybe_text()
    return error, reader.int32()


def commit_offset(
    group: str, topic: str, partition: int, offset: int, *, member: str = "", generation: int = -1
) -> Request:
    """Let a group go on at an offset, as a member of a generation, or where Kafka knows of no members."""
    one = int32(partition) + int64(offset) + int32(ANY_EPOCH) + text(None)
    head = text(group) + int32(generation) + text(member) + text(None)
    return Request(8, 7, head + array([text(topic) + array([one])]))


def read_committed(reader: Reader) -> int:
    """The error of the one partition whose offset was committed."""
    reader.int32()
    return _only(_only_topic(reader, lambda: (reader.int32(), reader.int16())))


def delete_group(group: str) -> Request:
    """Forget a group; answered as the deletion of a topic is."""
    return Request(42, 1, array([text(group)]))


def fetch_offset(group: str, topic: str, partition: int) -> Request:
    """Ask where a group goes on, as consumers do: only what is stable is an answer.

    A coordinator that has just taken over knows commits of which it does not know yet that they are replicated; without
    this it answers with what was committed before them.
    """
    no_tags = b"\0"
    topics = compact_array([compact_text(topic) + compact_array([int32(partition)]) + no_tags])
    stable = int8(1)
    return Request(9, 7, compact_text(group) + topics + stable + no_tags, flexible=True)


def committed_offset(reader: Reader) -> tuple[int, int]:
    """The error, and where the group goes on; -1 if it never committed."""
    reader.int32()

    def partition() -> tuple[int, tuple[int, int]]:
        index, offset = reader.int32(), reader.int64()
        reader.int32()
        reader.compact_text()
        error = reader.int16()
        reader.tags()
        return index, (error, offset)

    def topic() -> list[tuple[int, tuple[int, int]]]:
        reader.compact_text()
        found = reader.compact_array(partition)
        reader.tags()
        return found

    found = [one for topic_found in reader.compact_array(topic) for one in topic_found]
    whole = reader.int16()
    if whole:
        return whole, -1
    return _only(found)


def add_partition(transaction: str, producer: Producer, topic: str, partition: int) -> Request:
    """Let a transaction take messages of a partition; it begins with the first."""
    who = text(transaction) + int64(producer.number) + int16(producer.epoch)
    return Request(24, 2, who + array([text(topic) + array([int32(partition)])]))


def read_added(reader: Reader) -> tuple[int, None]:
    """The error of the one partition that was added."""
    reader.int32()
    return _only(_only_topic(reader, lambda: (reader.int32(), reader.int16()))), None


def end_transaction(transaction: str, producer: Producer, *, commit: bool) -> Request:
    """Commit or abort."""
    return Request(26, 2, text(transaction) + int64(producer.number) + int16(producer.epoch) + int8(int(commit)))


def read_ended(reader: Reader) -> tuple[int, None]:
    """The error of a transaction's end."""
    reader.int32()
    return reader.int16(), None


def _only_topic(reader: Reader, item: Callable[[], ItemT]) -> list[ItemT]:
    """The partitions of the one topic in an answer."""
    topics = reader.array(lambda: (reader.text(), reader.array(item)))
    return _only(topics)


def _only(items: Sequence[tuple[object, ItemT]]) -> ItemT:
    """What belongs to the one name or number in an answer."""
    if len(items) != 1:
        raise Malformed(f"{len(items)} answers instead of one")
    return items[0][1]
