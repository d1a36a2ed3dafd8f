"""A server on the loopback that answers as Nacos' HTTP API does."""

from urllib.parse import parse_qsl, urlsplit

import msgspec
from loopback_server import LoopbackServer

from cluster.systems.nacos.servers import Server

SELF = "/v3/admin/core/cluster/node/self"
CONFIRMED = "/v3/admin/cs/config"
LOCAL = "/v3/client/cs/config"


def said(data, code=0):
    """What every answer is wrapped in."""
    return msgspec.json.encode({"code": code, "message": "success", "data": data})


def member(leader="198.18.0.10:7848", term=3):
    """What a server says of itself, with the leader of the Raft group of the configuration as it knows it."""
    group = {"leader": leader, "raftGroupMember": ["198.18.0.10:7848"], "term": term}
    groups = {"nacos_config": group, "naming_persistent_service": {"leader": "198.18.0.12:7848", "term": 9}}
    extended = {"raftPort": "7848", "version": "3.1.0", "raftMetaData": {"metaDataMap": groups}}
    return said({"ip": "198.18.0.10", "port": 8848, "state": "UP", "extendInfo": extended})


class FakeServer(LoopbackServer):
    """``answers``: by (method, path) a body, or a status and a body; None stays silent, StopIteration ends it.

    ``asked``: method, path and form of each request.
    """

    def __init__(self, answers=()):
        self.answers = {("GET", SELF): member(), **dict(answers)}
        self.asked = []

    def linked(self, port):
        return Server("127.0.0.1", port)

    async def answer_on(self, reader, writer):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target = head.decode().split()[:2]
            url = urlsplit(target)
            assert url.path.startswith("/nacos/")
            path = url.path.removeprefix("/nacos")
            self.asked.append((method, path, dict(parse_qsl(url.query))))
            answer = self.answers[method, path]
            if answer is StopIteration:
                writer.transport.abort()
                return
            if answer is not None:
                status, body = answer if isinstance(answer, tuple) else (200, answer)
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
