"""A broker on the loopback that speaks Kafka's protocol as far as clients and probes here ask."""

import asyncio
import struct

from loopback_server import LoopbackServer

from cluster.systems.kafka.servers import Broker
from cluster.systems.kafka.wire import (
    Reader,
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

PRODUCE, FETCH, OFFSETS, METADATA, CREATE, DELETE, INIT, CONFIGS, QUORUM = 0, 1, 2, 3, 19, 20, 22, 32, 55
COMMIT, COMMITTED, COORDINATOR, DELETE_GROUP = 8, 9, 10, 42
ADD, END = 24, 26
JOIN, HEARTBEAT, SYNC = 11, 12, 14
ZERO = int32(0)
NO_TAGS = b"\0"


def metadata(partitions, error=0, topic="t"):
    """partitions: number → (leader, epoch, replicas, in sync); leader -1: nobody."""
    rows = [
        int16(0)
        + int32(key)
        + int32(leader)
        + int32(epoch)
        + array([*map(int32, replicas)])
        + array([*map(int32, in_sync)])
        + array([])
        for key, (leader, epoch, replicas, in_sync) in partitions.items()
    ]
    brokers = array([int32(1) + text("198.18.0.1") + int32(9092) + text(None)])
    one = int16(error) + text(topic) + int8(0) + array(rows) + ZERO
    return ZERO + brokers + text("cluster") + int32(1) + array([one]) + ZERO


def stored(error=0, offset=7, key=3):
    return array([text("t") + array([int32(key) + int16(error) + int64(offset) + int64(-1) + int64(0)])]) + ZERO


def pulled(data=b"", error=0, high=10, start=0, key=3, stable=None, aborted=()):
    gone = array([int64(producer) + int64(first) for producer, first in aborted])
    one = int32(key) + int16(error) + int64(high) + int64(high if stable is None else stable) + int64(start)
    one += gone + int32(-1) + blob(data)
    return ZERO + int16(0) + ZERO + array([text("t") + array([one])])


def offset(value, error=0, epoch=4, key=3):
    return ZERO + array([text("t") + array([int32(key) + int16(error) + int64(-1) + int64(value) + int32(epoch)])])


def named(error, message=""):
    """The answer about one topic that is created."""
    return ZERO + array([text("t") + int16(error) + text(message)])


def configs(error=0, message="", **values):
    rows = [
        text(name.replace("__", ".")) + text(value) + int8(0) + int8(5) + int8(0) + array([]) + int8(1) + text(None)
        for name, value in values.items()
    ]
    return ZERO + array([int16(error) + text(message) + int8(4) + text("1") + array(rows)])


def quorum(error=0, leader=101, epoch=3):
    name = b"__cluster_metadata"
    partition = int32(0) + int16(error) + int32(leader) + int32(epoch) + int64(9) + b"\1\1\0"
    return int16(0) + b"\2" + bytes([len(name) + 1]) + name + b"\2" + partition + b"\0\0"


def producer(number, epoch=0, error=0):
    return ZERO + int16(error) + int64(number) + int16(epoch)


def coordinator(number, error=0):
    return ZERO + int16(error) + text(None) + int32(number) + text("198.18.0.1") + int32(9092)


def committed(error=0, key=3):
    return ZERO + array([text("t") + array([int32(key) + int16(error)])])


def committed_offset(value, error=0, key=3, whole=0):
    one = int32(key) + int64(value) + int32(-1) + compact_text("") + int16(error) + NO_TAGS
    topics = [] if whole else [compact_text("t") + compact_array([one]) + NO_TAGS]
    return ZERO + compact_array(topics) + int16(whole) + NO_TAGS


def ended(error=0):
    return ZERO + int16(error)


def joined(name, generation=1, error=0, members=()):
    rows = [text(one) + text(None) + blob(b"") for one in members]
    leader = members[0] if members else "another"
    head = ZERO + int16(error) + int32(generation) + text("range") + text(leader)
    return head + text(name) + array(rows)


def heard(error=0):
    """The answer to a heartbeat."""
    return ZERO + int16(error)


def synced(error=0):
    return ZERO + int16(error) + blob(b"")


class FakeBroker(LoopbackServer):
    """A broker.

    ``answer``: a function of the number of a request and a reader of its body. It gives the body of the answer, None to
    leave it silent, StopIteration to end the connection. ``asked``: the numbers of requests as they came.
    """

    def __init__(self, answer):
        self.answer = answer
        self.asked = []
        self.arrived = asyncio.Event()

    def linked(self, port):
        return Broker("127.0.0.1", port)

    async def answer_on(self, reader, writer):
        while True:
            frame = await reader.readexactly(*struct.unpack(">i", await reader.readexactly(4)))
            api, _, number = struct.unpack_from(">hhi", frame)
            head = Reader(frame, 8)
            assert head.text() == "chaos"
            flexible = api in (QUORUM, COMMITTED)
            if flexible:
                head.tags()
            self.asked.append(api)
            self.arrived.set()
            said = self.answer(api, head)
            if said is StopIteration:
                writer.transport.abort()
                return
            if said is not None:
                writer.write(blob(int32(number) + (b"\0" if flexible else b"") + said))
