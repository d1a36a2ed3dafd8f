"""RocketMQ 5.5.0 for real: seven nodes in network namespaces, our client inside, the master killed.

One cluster serves the whole module; the tests run in the order in which they stand.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from repository import ROOT

from chaos.core.clock import Deadline
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Node
from cluster.host import hosts_up
from cluster.hosts.netns import NetnsBackend
from cluster.nodes import process
from cluster.system import ClusterView
from cluster.systems._shared import maven
from cluster.systems.rocketmq.system import RocketMQ

pytestmark = pytest.mark.e2e

QUEUES = 2
READY_S = 60


class Running:
    """The cluster and the program inside its network."""

    def __init__(self, nodes, inside):
        self.nodes = nodes
        self._inside = inside

    def do(self, what, **command):
        self._inside.stdin.write(msgspec.json.encode({"do": what, **command}) + b"\n")
        self._inside.stdin.flush()
        line = self._inside.stdout.readline()
        assert line, "the program inside has ended"
        return msgspec.json.decode(line)

    def invoke(self, f, **op):
        (done,) = self.do("invoke", ops=[{"f": f, **op}])
        return done

    def until(self, what, condition, timeout_s=30):
        """Poll until ``condition`` gives something; returns that."""
        deadline = Deadline(what, timeout_s)
        while not (found := condition()):
            deadline.check()
        return found

    def await_ready(self, timeout_s):
        deadline = Deadline("the cluster to be ready", timeout_s)
        while missing := self.do("readiness"):
            deadline.check(missing)

    def start(self, name, deadline):
        process.start(self.nodes[name], "e2e")
        process.await_ready(self.nodes[name], deadline)

    @property
    def leadership(self):
        return self.do("observe")["leads"]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    system, work = RocketMQ(), tmp_path_factory.mktemp("rocketmq")
    settings = system.resolve({})
    jars = system.fetch(print)
    backend = NetnsBackend()
    with hosts_up(backend, "e2e-rocketmq", system.topology(settings), work) as hosts:
        infos = tuple(
            NodeInfo(name=spec.name, role=spec.role, address=hosts[spec.name].address)
            for spec in system.topology(settings)
        )
        view = ClusterView(run_id="e2e", nodes=infos, settings=settings, keys=QUEUES)
        provided = backend.provide(jars)
        nodes = {
            info.name: Node(info, hosts[info.name], system.launch(info, hosts[info.name].home, provided, view))
            for info in infos
        }
        program = [sys.executable, str(Path(__file__).with_name("rocketmq_inside.py"))]
        with backend.popen_inside(program, {**os.environ, "PYTHONPATH": str(ROOT)}) as inside:
            inside.stdin.write(msgspec.json.encode(view) + b"\n")
            cluster = Running(nodes, inside)
            deadline = Deadline("every process to serve", READY_S)
            with ThreadPoolExecutor(len(nodes)) as pool:
                list(pool.map(lambda name: cluster.start(name, deadline), nodes))
            cluster.await_ready(deadline.remaining_s())
            cluster.do("prepare")
            cluster.await_ready(READY_S)
            yield cluster
            inside.stdin.close()
            assert inside.wait(10) == 0


def test_the_jars_are_what_was_fetched():
    assert maven.damaged_files(RocketMQ().fetch(print)) == []


def test_every_node_is_observed(running):
    seen = running.do("observe")["seen"]
    assert [name for name, node in seen.items() if not node["alive"] or node.get("error")] == []
    roles = [seen[name]["role"] for name in ("c1", "c2", "c3", "b1", "b2", "b3")]
    assert sorted(roles) == ["follower", "follower", "leader", "master", "slave", "slave"]
    leader = next(node for node in seen.values() if node.get("role") == "leader")
    master = next(node for node in seen.values() if node.get("role") == "master")
    own, about = leader["claims"]
    assert about["leader"] == master["node"]
    assert sorted(about["members"]) == ["b1", "b2", "b3"]
    assert own["epoch"] >= 1
    assert master["claims"][0]["epoch"] >= 1
    assert master["max_offsets"] == {"0": 0, "1": 0}


def test_200_sends_are_read_back_everywhere(running):
    ops = [{"f": "SEND", "key": n % QUEUES, "value": [1, n]} for n in range(200)]
    done = running.do("invoke", ops=ops)
    master = running.leadership["leader"]
    assert {(answer["type"], answer["node"], answer["error"]) for answer in done} == {(2, master, None)}
    assert [answer["offset"] for answer in done] == [n // QUEUES for n in range(200)]
    expected = [[n // QUEUES, [1, n], 0] for n in range(0, 200, QUEUES)]  # offset, value, no attempt counted

    drained = running.invoke("DRAIN")
    assert (drained["type"], drained["node"], drained["records"]) == (2, master, expected)
    assert (drained["min_offset"], drained["max_offset"], drained["next_offset"]) == (0, 100, 100)

    strong = running.invoke("READ", offset=90)
    assert (strong["type"], strong["records"], strong["next_offset"]) == (2, expected[90:], 100)

    poll = running.invoke("POLL", offset=10)
    assert (poll["type"], poll["records"], poll["next_offset"]) == (2, expected[10:42], 42)

    def slave_has_all():
        found = running.invoke("SLAVE_READ", offset=70)
        assert found["type"] == 2
        assert found["node"] != master
        return found["records"] == expected[70:]

    running.until("a slave to have all messages", slave_has_all)
    for node in ("b1", "b2", "b3"):

        def own_copy(node=node):
            copy = running.invoke("REPLICA", node=node)
            assert (copy["type"], copy["node"], copy["min_offset"]) == (2, node, 0)
            return copy["records"] == expected

        running.until(f"the own copy of {node} to be whole", own_copy)


def test_reads_at_and_beyond_the_end(running):
    for f in ("POLL", "READ", "SLAVE_READ"):
        for offset in (100, 5000):
            done = running.invoke(f, offset=offset)
            assert (f, offset, done["type"], done["records"]) == (f, offset, 2, [])
    assert running.invoke("POLL", offset=100)["next_offset"] == 100
    assert running.invoke("READ", offset=5000)["max_offset"] == 100


def test_a_client_pinned_to_a_slave_gets_fail(running):
    master = running.leadership["leader"]
    by_node = {}
    for client in (5, 6, 7):  # the pinned ones of eight mixed clients
        sent = running.invoke("SEND", value=[2, client], client=client, routing="mixed")
        read = running.invoke("READ", offset=0, client=client, routing="mixed")
        poll = running.invoke("POLL", offset=0, client=client, routing="mixed")
        by_node[sent["node"]] = (sent["type"], sent["error"], read["type"], read["error"], poll["type"], poll["node"])
    assert by_node == {
        node: (2, None, 2, None, 2, node)
        if node == master
        else (3, "SYSTEM_BUSY: not master", 3, "not master", 2, node)
        for node in ("b1", "b2", "b3")
    }
    values = [value for _, value, _ in running.invoke("DRAIN")["records"]]
    assert sum(value[0] == 2 for value in values) == 1  # what failed is not there


def test_the_master_is_killed_and_sends_succeed_again(running):
    before = running.leadership
    sequence = iter(range(100_000))
    acked = []

    def send():
        value = [3, next(sequence)]
        done = running.invoke("SEND", key=1, value=value, timeout_s=1)
        if done["type"] == 2:
            acked.append([done["offset"], value, 0])
            return done["node"]
        assert done["error"]
        return None

    for _ in range(20):
        assert send() == before["leader"]
    process.kill(running.nodes[before["leader"]])
    after = running.until("an acknowledged send at another master", send)
    assert after != before["leader"]
    leadership = running.until(
        "the observer to see the new master", lambda: (now := running.leadership)["leader"] == after and now
    )
    assert leadership["epoch"] > before["epoch"]
    assert running.do("observe")["seen"][before["leader"]]["alive"] is False

    running.start(before["leader"], Deadline("the old master to serve again", READY_S))
    running.await_ready(READY_S)
    assert running.do("observe")["seen"][before["leader"]]["role"] == "slave"
    drained = running.invoke("DRAIN", key=1)
    assert drained["type"] == 2
    assert [sent for sent in acked if sent not in drained["records"]] == []


def test_a_suspended_master_leaves_a_send_in_doubt(running):
    master = running.leadership["leader"]
    process.pause(running.nodes[master])
    try:
        doubtful = running.invoke("SEND", value=[4, 0], timeout_s=0.5)
        assert (doubtful["type"], doubtful["node"], doubtful["error"]) == (4, master, "no answer before the deadline")
        assert running.do("observe")["seen"][master]["alive"] is False
    finally:
        process.resume(running.nodes[master])
    running.await_ready(READY_S)
    assert running.until("an acknowledged send", lambda: running.invoke("SEND", value=[4, 1], timeout_s=1)["type"] == 2)
