"""A server on the loopback that speaks ZooKeeper's client protocol and its four-letter words."""

import struct

from loopback_server import LoopbackServer

from cluster.systems.zookeeper.jute import (
    ADD_WATCH,
    CHECK,
    CREATE,
    CREATE2,
    DELETE,
    END_SESSION,
    GET_CHILDREN,
    GET_DATA,
    MULTI,
    PING,
    SET_DATA,
    SYNC,
)
from cluster.systems.zookeeper.servers import Server

KINDS = {
    CREATE: "create",
    DELETE: "delete",
    GET_DATA: "get",
    SET_DATA: "set",
    GET_CHILDREN: "children",
    SYNC: "sync",
    CHECK: "check",
    MULTI: "multi",
    CREATE2: "make",
    PING: "ping",
    END_SESSION: "end",
    ADD_WATCH: "watch",
}
NOT_SERVING = "This ZooKeeper instance is not currently serving requests\n"


def packed(data):
    return struct.pack(">i", len(data)) + data


def stat(version=0, made=1, length=0, written=2):
    """What a server says of a node beside its content."""
    return struct.pack(">qqqqiiiqiiq", made, written, 3, 4, version, 6, 7, 0, length, 0, 2)


def node(data, version=0, written=2):
    """The answer to a read of a node."""
    return packed(data) + stat(version, length=len(data), written=written)


def names(*found):
    """The answer to a read of children."""
    return struct.pack(">i", len(found)) + b"".join(packed(name.encode()) for name in found)


def srvr(mode, zxid="0x100000012"):
    """What a server says to the word srvr, as 3.9.5 does."""
    return (
        "Zookeeper version: 3.9.5-abc, built on 2026-01-01 00:00 UTC\nLatency min/avg/max: 0/0.5/9\nReceived: 3\n"
        f"Sent: 2\nConnections: 1\nOutstanding: 0\nZxid: {zxid}\nMode: {mode}\nNode count: 5\n"
    )


def conf(**lines):
    """What a server says to the word conf."""
    shown = {"clientPort": "2181", "tickTime": "500", "initLimit": "10", "syncLimit": "6", **lines}
    said = [f"{name}={value}" for name, value in shown.items() if value is not None]
    return "\n".join(
        [*said, "electionAlg=3", "membership: ", "server.1=198.18.0.10:2888:3888:participant;0.0.0.0:2181"]
    )


class FakeServer(LoopbackServer):
    """A server.

    ``answer``: a function of one request, of its kind, path, data and version as far as it has them. It gives the
    number of an error, or the body of the answer; StopIteration ends the connection, None leaves it silent, and of a
    function of the request's number what that returns is sent as it is.
    ``words``: what is said to four-letter words. ``session``: False ends connections instead of giving sessions,
    None leaves them silent, bytes are the answer; of a function of their number it is what that returns.
    ``asked``: requests as they came; ``sessions``: those that were asked for, as milliseconds, number and password.
    """

    def __init__(self, answer=lambda *_: 0, words=(), session=True):
        self.answer = answer
        self.words = dict(words)
        self.session = session
        self.asked = []
        self.sessions = []

    @property
    def begun(self):
        """How many sessions were asked for."""
        return len(self.sessions)

    def linked(self, port):
        return Server("127.0.0.1", port)

    async def answer_on(self, reader, writer):
        first = await reader.readexactly(4)
        if first.isalpha():
            writer.write(self.words.get(first.decode(), "").encode())
            writer.close()
            return
        if await self._begins(reader, writer, first):
            while await self._answers(reader, writer):
                pass

    async def _begins(self, reader, writer, first):
        greeting = await reader.readexactly(*struct.unpack(">i", first))
        assert greeting[:12] == bytes(12), "version 0, nothing seen yet"
        self.sessions.append((*struct.unpack_from(">iq", greeting, 12), greeting[28:44]))
        session = self.session(self.begun) if callable(self.session) else self.session
        if session is False:
            writer.transport.abort()
        if session is True:
            writer.write(given())
        if isinstance(session, bytes):
            writer.write(session)
        return session is not False

    async def _answers(self, reader, writer):
        frame = await reader.readexactly(*struct.unpack(">i", await reader.readexactly(4)))
        number, kind = struct.unpack_from(">ii", frame)
        assert (number == -2) == (kind == PING), "a ping, and nothing else, has this number"
        self.asked.append(parsed(KINDS[kind], frame[8:]))
        said = self.answer(*self.asked[-1])
        if said is StopIteration:
            writer.transport.abort()
            return False
        if callable(said):
            writer.write(said(number))
        elif said is not None:
            error, body = (said, b"") if isinstance(said, int) else (0, said)
            writer.write(packed(struct.pack(">iqi", number, 99, error) + body))
        return True


def given(timeout_ms=40_000, number=7, password=bytes(16)):
    """The answer to a request for a session."""
    return packed(struct.pack(">iiq", 0, timeout_ms, number) + packed(password) + b"\0")


def parsed_multi(body):
    """The parts of a multi, each as ``parsed`` has it."""
    parts = []
    while True:
        kind, is_end, error = struct.unpack_from(">i?i", body)
        assert error == -1
        if is_end:
            assert (kind, len(body)) == (-1, 9)
            return parts
        size = _size(KINDS[kind], body[9:])
        parts.append(parsed(KINDS[kind], body[9 : 9 + size]))
        body = body[9 + size :]


def _size(kind, body):
    """How long the body of a request is that others follow."""
    path, rest = _taken(body)
    size = 4 + len(path) + 4  # a version
    if kind in ("set", "create"):
        data, rest = _taken(rest)
        size += 4 + len(data)
    if kind == "create":  # one entry of rights, then flags; the version above is their number
        size += 4 + len(_taken(rest[8:])[0]) + 8 + len(_taken(_taken(rest[8:])[1])[0]) + 4
    return size


def done(*kinds):
    """The answer to a multi that was done; what its parts say beside that is left out."""
    return b"".join(struct.pack(">i?i", kind, False, 0) for kind in kinds) + struct.pack(">i?i", -1, True, -1)


def not_done(*errors):
    """The answer to a multi that was not done."""
    return b"".join(struct.pack(">i?ii", -1, False, one, one) for one in errors) + struct.pack(">i?i", -1, True, -1)


def parsed(kind, body):
    """A request as a tuple: kind, path, and what else it says."""
    if kind == "multi":
        return kind, parsed_multi(body)
    if not body:
        return (kind,)
    path, rest = _taken(body)
    path = path.decode()
    if kind in ("delete", "check", "watch"):
        return kind, path, struct.unpack(">i", rest)[0]
    if kind == "set":
        data, rest = _taken(rest)
        return kind, path, data.decode(), struct.unpack(">i", rest)[0]
    if kind in ("create", "make"):
        data, _ = _taken(rest)
        return kind, path, data.decode() if kind == "create" else struct.unpack(">i", body[-4:])[0]
    assert rest == (b"" if kind == "sync" else b"\0"), "no watch"
    return kind, path


def _taken(body):
    (length,) = struct.unpack_from(">i", body)
    return body[4 : 4 + length], body[4 + length :]
