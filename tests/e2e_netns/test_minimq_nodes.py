"""Nodes as processes: what they keep through kill -9, and what strangers, full disks and silence do to them."""

import asyncio
import contextlib
import resource
import signal
import socket

import pytest
from minimq_nodes import BROKERS, CONTROLLERS, NODES, QUEUES, TOPIC, Client, Nodes, until

from chaos.basics.rand import run_hash
from chaos.core.client import invoke_in_time
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation, Type
from chaos.models.log import payload
from chaos.models.log.operations import ReadFrom
from chaos.models.log.words import F, Record, Value
from chaos.storage.runinfo import NodeInfo
from cluster.system import ClusterView
from cluster.systems.minimq.clients import client as minimq_client
from cluster.systems.minimq.clients.rpc import Link
from cluster.systems.minimq.protocol.broker_messages import GetReplica, Poll, Produce, Read, Rejected
from cluster.systems.minimq.protocol.messages import Accepted, CreateTopic, GetMetadata, GetStatus, Refused, Status
from cluster.systems.minimq.protocol.wire import FRAME_BYTES_MAX, PORT, Call, Hello, frame
from cluster.systems.minimq.system import MiniMQ

pytestmark = pytest.mark.e2e


@pytest.fixture
def nodes(tmp_path):
    made = Nodes(tmp_path)
    yield made
    made.end()


def numbered(start, count):
    return [b"%d" % number for number in range(start, start + count)]


def test_a_killed_master_is_replaced_and_comes_back(nodes):
    master = nodes.up()
    nodes.produce(BROKERS, numbered(0, 50))
    nodes.signal(master, signal.SIGKILL)
    others = [name for name in BROKERS if name != master]
    second = nodes.produce(others, numbered(50, 50))
    assert set(numbered(0, 100)) <= set(nodes.bodies(second))
    nodes.start(master)
    second = nodes.complete()
    held = nodes.bodies(second)
    for name in BROKERS:
        until(lambda name=name: nodes.bodies(name, Poll) == held, f"{name} to show what the master shows")
    assert f"{master} master of epoch 1" in nodes.log(master)
    assert f"{master} follower of" in nodes.log(master)


def test_all_nodes_killed_at_once_come_back_with_everything(nodes):
    master = nodes.up()
    nodes.produce(BROKERS, numbered(0, 50))
    for name in NODES:
        nodes.signal(name, signal.SIGKILL)
    for name in BROKERS:
        segment = max((nodes.folder / name / "log").iterdir())
        with segment.open("ab") as file:  # as if the last write had come half way
            file.write(b"\x40\0\0\0torn")
    nodes.start(*NODES)
    master = nodes.complete()
    held = nodes.bodies(master)
    assert set(numbered(0, 50)) <= set(held)
    master = nodes.produce(BROKERS, [b"after"])
    assert nodes.bodies(master)[len(held) :] == [b"after"]


def test_a_suspended_follower_and_leader_stop_the_cluster_for_a_moment_only(nodes):
    master = nodes.up()
    follower = next(name for name in BROKERS if name != master)
    others = [name for name in BROKERS if name != follower]
    leader = next(name for name in CONTROLLERS if nodes.ask(name, GetStatus()).role == "leader")
    nodes.signal(leader, signal.SIGSTOP)
    nodes.signal(follower, signal.SIGSTOP)
    nodes.produce(others, numbered(0, 200))
    nodes.complete(others)
    nodes.signal(follower, signal.SIGCONT)
    nodes.signal(leader, signal.SIGCONT)
    nodes.complete()
    until(lambda: set(numbered(0, 200)) <= set(nodes.bodies(follower, Poll)), "the follower to catch up")
    until(lambda: nodes.ask(leader, GetStatus()).role == "follower", "the old leader to follow")


class InterruptedLink(Link):
    """The way to one node; something happens once between a page that it answered and the next question."""

    def __init__(self, address, between):
        super().__init__(address)
        self.between = between

    async def ask(self, request, deadline_ns):
        answer = await super().ask(request, deadline_ns)
        if isinstance(request, Read) and self.between is not None:
            between, self.between = self.between, None
            await asyncio.to_thread(between)
        return answer


def test_a_master_that_is_deposed_between_two_pages_leaves_the_first_with_the_reader(nodes, monkeypatch):
    monkeypatch.setattr(minimq_client, "READ_RECORDS", 20)
    view = ClusterView(
        run_id="run",
        settings=MiniMQ().resolve({"client.routing": "follow"}),
        keys=QUEUES,
        nodes=tuple(
            NodeInfo(name=name, role="controller" if name in CONTROLLERS else "broker", address=address)
            for name, address in nodes.addresses.items()
        ),
    )
    master = nodes.up()
    run = run_hash(view.run_id)
    nodes.produce([master], [payload.encode(Value(1, n), 0, run, 50) for n in range(30)])
    others = [name for name in BROKERS if name != master]

    def depose():
        nodes.signal(master, signal.SIGSTOP)
        nodes.produce(others, [b"by another master"])
        nodes.signal(master, signal.SIGCONT)
        until(lambda: f"{master} follower of" in nodes.log(master), "the old master to follow")

    async def read():
        client = minimq_client.MiniMQClient(view, 0, 1, seed=1)
        client._topic = TOPIC
        client._links[master] = InterruptedLink(nodes.addresses[master], depose)
        deadline_ns = now_ns() + 60 * NS_PER_S
        op = Invocation(process=1, client=0, f=F.READ, key=0, deadline_ns=deadline_ns, argument=ReadFrom(offset=0))
        try:
            return await invoke_in_time(client, op)
        finally:
            await client.close()

    done = asyncio.run(read())
    assert (done.type, done.node, done.error) == (Type.FAIL, master, "rejected: not-master")
    assert done.result.records == [Record(n, Value(1, n)) for n in range(20)]
    assert (done.result.next_offset, done.result.max_offset) == (20, 30)


STRANGERS = {
    "no frame": (b"GET / HTTP/1.1\r\n\r\n", "at most"),
    "too long": ((FRAME_BYTES_MAX + 1).to_bytes(4, "big"), "at most"),
    "no greeting first": (frame(Call(1, GetReplica())), "Expected"),
    "another protocol": (frame(Hello(protocol=99)), "protocol 99"),
    "a node that is none": (frame(Hello(node="b9")), "'b9' is none"),
    "this node itself": (frame(Hello(node="b1")), "'b1' is none"),
    "not msgpack": (frame(Hello()) + b"\0\0\0\2\xc1\xc1", "malformed"),
    "a peer's message from a client": (frame(Hello()) + frame(Hello()), "Expected"),
    "a client's call from a peer": (frame(Hello(node="b2")) + frame(Call(1, GetReplica())), "Expected"),
    "a name without bound": (
        frame(Hello()) + frame(Call(1, Produce(topic=TOPIC, queue=0, body=b"", producer="p" * 256))),
        "length <= 255",
    ),
    "a wrong field": (frame(Hello()) + frame(Call(1, Produce(topic=3, queue=0, body=b""))), "Expected"),
}


def connected(nodes, name):
    connection = socket.create_connection((nodes.addresses[name], PORT), timeout=10.0)
    return contextlib.closing(connection)


def is_ended(connection):
    """Whether the other side ends the connection, before the deadline that its socket has."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def complaints(nodes, name):
    return [line for line in nodes.log(name).splitlines() if "ends the connection" in line]


def test_what_is_not_of_this_protocol_ends_its_connection_only(nodes):
    nodes.start("b1", "c1")
    other = Client(nodes.addresses["b1"])
    for number, (data, why) in enumerate(STRANGERS.values(), 1):
        with connected(nodes, "b1") as connection:
            connection.sendall(data)
            assert is_ended(connection)
        lines = until(lambda number=number: complaints(nodes, "b1")[number - 1 :], f"a line about {data!r}")
        assert len(lines) == 1
        assert why in lines[0]
    assert other.ask(GetReplica()).role == "none"
    other.close()
    assert nodes.ask("b1", GetMetadata()) == Rejected(reason="bad-request")
    assert nodes.ask("c1", GetReplica()) == Rejected(reason="bad-request")
    assert isinstance(nodes.ask("c1", GetMetadata()), Refused)
    assert isinstance(nodes.ask("c1", GetStatus()), Status)


def test_a_client_that_reads_no_answers_is_dropped(nodes):
    master = nodes.up()
    nodes.produce(BROKERS, [b"x" * 900_000])
    with connected(nodes, master) as connection:
        read = Read(topic=TOPIC, queue=0, offset=0, records_max=1)
        connection.sendall(frame(Hello()) + b"".join(frame(Call(number, read)) for number in range(100)))
        until(lambda: complaints(nodes, master), "the node to give the client up")
    assert "were not read" in complaints(nodes, master)[0]
    nodes.produce(BROKERS, [b"after"])


def test_a_client_that_has_gone_harms_nobody(nodes):
    master = nodes.up()
    poll = Poll(topic=TOPIC, queue=0, offset=0, records_max=1, wait_ms=30_000)
    for _ in range(20):
        client = Client(nodes.addresses[master])
        client.socket.sendall(frame(Call(1, poll)))
        client.close()
    nodes.produce(BROKERS, [b"for nobody"])
    assert complaints(nodes, master) == []


def test_a_disk_that_fails_ends_the_node_with_one_line(nodes):
    limit = 100_000
    # The kernel then refuses writes beyond this size as a full disk would.
    small = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))}
    nodes.start(*CONTROLLERS, "b2", "b3")
    nodes.answer_of_any(CONTROLLERS, CreateTopic(topic=TOPIC, queues=QUEUES), Accepted)
    nodes.complete(("b2", "b3"))
    follower = nodes.launch("b1", **small)
    master = nodes.complete()
    for _ in range(3):
        nodes.ask(master, Produce(topic=TOPIC, queue=0, body=b"x" * 50_000))
    assert follower.wait(30) == 1
    assert "b1: the disk failed: [Errno 27] File too large; free or replace it" in nodes.log("b1")
    nodes.start("b1")
    nodes.complete()


def output_of(nodes, name):
    process = nodes.launch(name)
    code = process.wait(30)
    return code, nodes.log(name)[nodes.ready_at[name] :]


def test_a_node_that_cannot_begin_says_why(nodes):
    nodes.configure("b1", broker={"min_insync": 2})
    code, said = output_of(nodes, "b1")
    assert (code, said.count("\n"), "min_insync" in said) == (2, 1, True)
    nodes.configure("b1", brokers=("b2", "b3"))
    assert output_of(nodes, "b1")[0] == 2
    nodes.config("b1").unlink()
    assert output_of(nodes, "b1")[0] == 2

    nodes.start("b2")
    nodes.configure("b2", listen=nodes.addresses["b3"])
    code, said = output_of(nodes, "b2")
    assert (code, "another process works in it" in said) == (1, True)
    nodes.configure("b3", listen=nodes.addresses["b2"])
    code, said = output_of(nodes, "b3")
    assert (code, "free the address" in said) == (1, True)


def test_a_node_told_to_end_ends_well(nodes):
    nodes.start(*NODES)
    for name in NODES:
        nodes.processes[name].terminate()
    assert {nodes.processes[name].wait(10) for name in NODES} == {0}
