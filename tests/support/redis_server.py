"""A server on the loopback that speaks RESP: it answers each request, which is all commands that came together."""

from loopback_server import LoopbackServer

from chaos.storage.runinfo import NodeInfo
from cluster.systems._shared.pool import Pool
from cluster.systems.redis.resp import Resp
from cluster.systems.redis.servers import Server


def parsed(data):
    """The commands in what a client sent; None if the last one is not whole."""
    out, lines = [], data.split(b"\r\n")
    at = 0
    while at < len(lines) - 1:
        number = int(lines[at][1:])
        words = lines[at + 2 : at + 1 + 2 * number : 2]
        if at + 1 + 2 * number >= len(lines):
            return None
        out.append(tuple(word.decode() for word in words))
        at += 1 + 2 * number
    return out


def sent(reply):
    """A reply on the wire: an exception's text is an error."""
    if isinstance(reply, Exception):
        return f"-{reply}\r\n".encode()
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    if isinstance(reply, list):
        return b"*%d\r\n" % len(reply) + b"".join(map(sent, reply))
    return b"$-1\r\n" if reply is None else b"$%d\r\n%s\r\n" % (len(reply.encode()), reply.encode())


class FakeServer(LoopbackServer):
    """``answer``: a function of one command; StopIteration ends the connection. ``asked``: requests as they came."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def linked(self, port):
        link = Server(NodeInfo(name="x", role="server", address="127.0.0.1"))
        Pool.__init__(link, "127.0.0.1", port, Resp)
        return link

    async def answer_on(self, reader, writer):
        data = b""
        while piece := await reader.read(1 << 16):
            data += piece
            commands = parsed(data)
            if commands is None:
                continue
            data = b""
            self.asked.append(commands)
            replies = [self.answer(command) for command in commands]
            if all(reply is StopIteration for reply in replies):
                writer.transport.abort()
                return
            writer.write(b"".join(map(sent, replies)))
