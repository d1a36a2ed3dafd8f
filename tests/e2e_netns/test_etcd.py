"""etcd for real: three members in network namespaces, the probe inside, the leader killed and started again."""

import os
import sys
from pathlib import Path

import msgspec
import pytest
from repository import ROOT

from chaos.core.clock import Deadline
from chaos.core.runinfo import NodeInfo
from cluster.cluster import Node
from cluster.host import hosts_up
from cluster.hosts.netns import NetnsBackend
from cluster.nodes import process
from cluster.system import ClusterView
from cluster.systems.etcd.system import Etcd

pytestmark = pytest.mark.e2e

READY_S = 60


class Running:
    """The cluster, and the program inside its network."""

    def __init__(self, nodes, inside):
        self.nodes = nodes
        self._inside = inside

    def ask(self, what):
        self._inside.stdin.write(what.encode() + b"\n")
        self._inside.stdin.flush()
        line = self._inside.stdout.readline()
        assert line, "the program inside has ended"
        return msgspec.json.decode(line)

    def until(self, what, condition):
        deadline = Deadline(what, READY_S)
        while not (found := condition()):
            deadline.check()
        return found

    def await_ready(self):
        self.until("the cluster to be ready", lambda: self.ask("readiness") is None)


@pytest.fixture
def running(tmp_path):
    system, backend = Etcd(), NetnsBackend()
    settings = system.resolve({"election-timeout": "700"})
    program = system.fetch(print)
    specs = system.topology(settings)
    with hosts_up(backend, "e2e-etcd", specs, tmp_path) as hosts:
        infos = tuple(NodeInfo(name=spec.name, role=spec.role, address=hosts[spec.name].address) for spec in specs)
        view = ClusterView(run_id="e2e", nodes=infos, settings=settings, keys=2)
        provided = backend.provide(program)
        launches = {info.name: system.launch(info, hosts[info.name].home, provided, view) for info in infos}
        nodes = {info.name: Node(info, hosts[info.name], launches[info.name]) for info in infos}
        argv = [sys.executable, str(Path(__file__).with_name("etcd_inside.py"))]
        with backend.popen_inside(argv, {**os.environ, "PYTHONPATH": str(ROOT)}) as inside:
            inside.stdin.write(msgspec.json.encode(view) + b"\n")
            for node in nodes.values():
                process.start(node, "e2e")
            yield Running(nodes, inside)
            inside.stdin.close()
            assert inside.wait(10) == 0


def test_the_leader_is_killed_and_comes_back_with_its_data(running):
    for node in running.nodes.values():
        process.await_ready(node, Deadline("every process to serve", READY_S))
    running.await_ready()
    (note,) = running.ask("confirm")["notes"]
    assert note["text"] == "etcd 3.4.23; 4 settings proven to be in effect on 3 nodes"

    said = running.ask("use")
    assert {node for node, *_ in said} == {"n1", "n2", "n3"}
    assert [(number, *one[1:3]) for number, one in enumerate(said) if one[1] != "ok"] == [
        (2, "fail", "the comparison does not hold")
    ]
    read = [result for *_, result in said if result is not None]
    assert [one["value"] for one in read if "value" in one] == [None, 5, None, 2]
    empty, whole = (one["elements"] for one in read if "elements" in one)
    assert (empty, sorted(whole)) == ([], [*range(120)])

    before = running.ask("observe")
    leader = before["lead"]["leader"]
    assert before["lead"]["members"] == ["n1", "n2", "n3"]
    roles = sorted(seen["role"] for seen in before["seen"].values())
    assert roles == ["follower", "follower", "leader"]
    assert {seen["claims"][0]["leader"] for seen in before["seen"].values()} == {leader}

    process.kill(running.nodes[leader])
    rest = sorted({"n1", "n2", "n3"} - {leader})
    after = running.until(
        "another leader that both others know",
        lambda: (now := running.ask("observe"))["lead"]["members"] == rest and now,
    )
    assert after["lead"]["leader"] in rest
    assert after["lead"]["epoch"] > before["lead"]["epoch"]
    assert after["seen"][leader]["alive"] is False
    assert after["seen"][leader]["error"] == "connect: refused"

    process.start(running.nodes[leader], "e2e")
    running.await_ready()
    assert running.ask("observe")["lead"]["epoch"] == after["lead"]["epoch"], "it joins, and stands for no election"
    assert running.ask("remove") == {"removed": [f"keys {mark()}/*"], "left": []}


def mark():
    return ClusterView(run_id="e2e", nodes=(), settings={}, keys=2).mark
