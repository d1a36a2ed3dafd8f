"""A server on the loopback that answers as Nacos' HTTP API does."""

from urllib.parse import parse_qsl, urlsplit

import msgspec
from loopback_server import LoopbackServer

from cluster.systems.nacos.servers import Server

SELF = "/v3/admin/core/cluster/node/self"
READY = "/v3/admin/core/state/readiness"
STATE = "/v3/admin/core/state"
CONFIG = "/v3/admin/cs/config"
COPY = "/v3/client/cs/config"
INSTANCE = "/v3/client/ns/instance"
OLD_INSTANCE = "/v1/ns/instance"


def said(data, code=0):
    """What every answer is wrapped in."""
    return msgspec.json.encode({"code": code, "message": "success", "data": data})


def member(leader="198.18.0.10:7848", term=3, naming="198.18.0.12:7848"):
    """What a server says of itself, with the leader of each Raft group as it knows it; that of naming is of term 9."""
    servers = [f"198.18.0.{number}:7848" for number in (10, 11, 12)]
    group = {"leader": leader, "raftGroupMember": servers, "term": term}
    others = {"naming_persistent_service": {"leader": "198.18.0.11:7848", "term": 7}}
    kept = {"leader": naming, "raftGroupMember": servers, "term": 9}
    groups = {"nacos_config": group, "naming_persistent_service_v2": kept, **others}
    extended = {"raftPort": "7848", "version": "3.1.0", "raftMetaData": {"metaDataMap": groups}}
    return said({"ip": "198.18.0.10", "port": 8848, "state": "UP", "extendInfo": extended})


def state(**shown):
    """What a server says of its settings."""
    told = {"election_timeout_ms": "5000", "data_load_retryDelayMs": "1000", "function_mode": None}
    return said({**told, **shown})


class FakeServer(LoopbackServer):
    """``answers``: by (method, path) a body, or a status and a body; None stays silent, StopIteration ends it;
    or a function that gives one of these each time.

    As Nacos does, it ends a connection on which it answered with an error's status.
    ``asked``: method, path and form of each request; ``compared``: its header ``casMd5``, empty without one.
    """

    def __init__(self, answers=()):
        self.answers = {("GET", SELF): member(), ("GET", STATE): state(), ("GET", READY): said("ok"), **dict(answers)}
        self.asked = []
        self.compared = []

    def linked(self, port):
        return Server("127.0.0.1", port)

    async def answer_on(self, reader, writer):
        while True:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            method, target, _ = first.split()
            url = urlsplit(target)
            assert url.path.startswith("/nacos/")
            path = url.path.removeprefix("/nacos")
            self.asked.append((method, path, dict(parse_qsl(url.query))))
            self.compared.append(dict(line.split(": ") for line in lines).get("casMd5", ""))
            answer = self.answers[method, path]
            answer = answer() if callable(answer) and answer is not StopIteration else answer
            if answer is StopIteration:
                writer.transport.abort()
                return
            if answer is not None:
                status, body = answer if isinstance(answer, tuple) else (200, answer)
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
                if status != 200:
                    writer.close()
                    return
