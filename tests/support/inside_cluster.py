"""A cluster of a system in network namespaces, and a program inside its network that asks it: no run, no load."""

import contextlib
import os
import sys

import msgspec
from repository import ROOT

from chaos.core.clock import Deadline
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Node
from cluster.host import hosts_up
from cluster.hosts.netns import NetnsBackend
from cluster.nodes import process
from cluster.system import ClusterView

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

    def await_processes(self):
        for node in self.nodes.values():
            process.await_ready(node, Deadline("every process to serve", READY_S))

    def await_ready(self):
        self.until("the cluster to be ready", lambda: self.ask("readiness") is None)


@contextlib.contextmanager
def running_cluster(system, folder, asked, program_inside="objects_inside.py"):
    """The cluster of a system under settings; its processes are started, and may not serve yet."""
    backend = NetnsBackend()
    settings = system.resolve(asked)
    program = system.fetch(print)
    specs = system.topology(settings)
    with hosts_up(backend, f"e2e-{system.name}", specs, folder) as hosts:
        infos = tuple(NodeInfo(name=spec.name, role=spec.role, address=hosts[spec.name].address) for spec in specs)
        view = ClusterView(run_id="e2e", nodes=infos, settings=settings, keys=2)
        provided = backend.provide(program)
        launches = {info.name: system.launch(info, hosts[info.name].home, provided, view) for info in infos}
        nodes = {info.name: Node(info, hosts[info.name], launches[info.name]) for info in infos}
        argv = [sys.executable, str(ROOT / "tests/e2e_netns" / program_inside), system.name]
        with backend.popen_inside(argv, {**os.environ, "PYTHONPATH": str(ROOT)}) as inside:
            inside.stdin.write(msgspec.json.encode(view) + b"\n")
            for node in nodes.values():
                process.start(node, "e2e")
            yield Running(nodes, inside)
            inside.stdin.close()
            assert inside.wait(10) == 0


def mark():
    return ClusterView(run_id="e2e", nodes=(), settings={}, keys=2).mark
