"""A broker of MiniMQ on the loopback that answers by a script."""

import asyncio
import contextlib

from minimq_view import view_of

from chaos.basics.rand import run_hash
from chaos.models.log import payload
from cluster.systems.minimq.protocol.broker_messages import (
    Commit,
    CommitDone,
    Committed,
    FetchCommitted,
    GetOffsets,
    Offsets,
    Poll,
    Polled,
    Produce,
    Produced,
    Read,
)
from cluster.systems.minimq.protocol.messages import Accepted, GetMetadata, Group, Metadata, Registered
from cluster.systems.minimq.protocol.wire import Back, Call, Frames, Hello, frame
from cluster.systems.minimq.storage.commit_log import QueueKey, data_record

RUN = run_hash("run")
TOPIC = view_of().mark
HELLO = frame(Hello())


class Broker:
    """A queue, the epochs of its answers (the last one stays) and what goes wrong; also every controller."""

    def __init__(self):
        self.log = []
        self.epochs = [7]
        self.page = 10
        self.master = "b1"
        self.least = 0
        self.end = None
        self.produced = []
        self.send_answer = None
        self.silent = set()
        self.served = []
        self.asked = []
        self.committed = {}

    def answer(self, request):
        self.served.append(type(request))
        self.asked.append(request)
        if type(request) in self.silent:
            return None
        match request:
            case GetMetadata():
                return self.metadata()
            case Produce():
                self.produced.append(request)
                return self.send_answer or Produced(offset=len(self.produced) - 1, epoch=7)
            case GetOffsets():
                return Offsets(least=self.least, end=self.told_end, epoch=self.epoch())
            case Commit() | FetchCommitted():
                return self.of_group(request)
            case Poll() | Read():
                return self.polled(request.offset, min(request.records_max, self.page))

    def of_group(self, request):
        at = (request.group, request.queue)
        if isinstance(request, FetchCommitted):
            return Committed(offset=self.committed.get(at), epoch=7)
        self.committed[at] = request.offset
        return CommitDone(epoch=7)

    def metadata(self):
        brokers = tuple(Registered(broker=name, incarnation="1") for name in ("b1", "b2", "b3"))
        return Accepted(metadata=Metadata(version=1, group=Group(brokers=brokers, master=self.master, epoch=7)))

    def epoch(self):
        return self.epochs.pop(0) if len(self.epochs) > 1 else self.epochs[0]

    @property
    def told_end(self):
        return len(self.log) if self.end is None else self.end

    def polled(self, at, count):
        stored = [stored_as(n, value) for n, value in enumerate(self.log)][at : at + count]
        return Polled(records=tuple(stored), end=self.told_end, epoch=self.epoch())

    async def serve(self, reader, writer):
        frames = None
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(65536):
                if frames is None:
                    assert data.startswith(HELLO)
                    frames, data = Frames(Call), data[len(HELLO) :]
                for call in frames.feed(data):
                    answer = self.answer(call.body)
                    if answer is not None:
                        writer.write(answer if isinstance(answer, bytes) else frame(Back(call.number, answer)))
        writer.transport.abort()


def stored_as(offset, value, key=0):
    return data_record(7, QueueKey(TOPIC, key), offset, payload.encode(value, key, RUN), "", -1)
