"""Members of etcd as far as they are asked: HTTP servers on the loopback that answer by path."""

import re

import msgspec
from loopback_server import LoopbackServer

from cluster.systems.etcd.gateway import Gateway

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Member(LoopbackServer):
    """``answers``: path → what is said, or a function of the request's body that says it. None ends the connection."""

    def __init__(self, **answers):
        self.answers = {path.replace("__", "/"): answer for path, answer in answers.items()}
        self.asked = []

    def linked(self, port):
        self.gateway = Gateway("127.0.0.1", port)
        return self.gateway

    async def answer_on(self, reader, writer):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(int(_LENGTH.search(head)[1]))
            path = head.split()[1].decode().strip("/")
            told = msgspec.json.decode(body) if body else None
            self.asked.append((path, told))
            answer = self.answers.get(path)
            answer = answer(told) if callable(answer) else answer
            if answer is None:
                writer.transport.abort()
                return
            status = 500 if "message" in answer else 200
            sent = msgspec.json.encode(answer)
            writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(sent)}\r\n\r\n".encode() + sent)


def variables(member, leader, term=2, flags=()):
    """What a member's process shows of itself, as JSON has it: members' numbers in hexadecimal, 0 for none."""
    raft = {"id": f"{member:x}", "lead": f"{leader:x}", "term": term, "raftState": "StateFollower"}
    return {"cmdline": ["/x/etcd", "--name=n1", *flags], "memstats": {"Alloc": 1}, "raft.status": raft}
