"""Nodes on real hosts for tests of faults: small programs that answer on a port, and a nemesis in a thread."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest
from host_support import make
from leading import leads, subjects_of

from chaos.core.clock import Deadline, now_ns
from chaos.core.events import EventLog, Fault
from chaos.storage.event_files import read_events
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Cluster, Node
from cluster.host import NodeSpec, hosts_up
from cluster.nodes import process
from cluster.system import Launch
from nemesis.plan.plan import make_plan
from nemesis.runner import Nemesis

KINDS = {"namesrv": "other", "controller": "controller", "broker": "replica"}
SPECS = [
    NodeSpec(name=name, role=role)
    for role, name in [
        ("namesrv", "n1"),
        ("controller", "c1"),
        ("controller", "c2"),
        ("controller", "c3"),
        ("broker", "b1"),
        ("broker", "b2"),
        ("broker", "b3"),
    ]
]
LEADERS = leads("b2", "c1", epoch=3)
RUN = f"nemesis-e2e-{os.getpid()}"
SERVER = b"""
import socket, sys, threading
listener = socket.create_server(("", 7000), backlog=64)
def idle():
    threading.Event().wait()
for _ in range(3):
    threading.Thread(target=idle, daemon=True).start()
print("serving", flush=True)
while True:
    connection, _ = listener.accept()
    connection.sendall(b"here")
    connection.close()
"""
ASK = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], 7000), timeout=1.5) as connection:
        print(connection.recv(16).decode() or "closed")
except OSError as error:
    print(type(error).__name__)
"""


@contextmanager
def cluster_up(work, backend="netns"):
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("CHAOS_CACHE", str(work / "cache"))
        hosts = stack.enter_context(hosts_up(make(backend), RUN, SPECS, work))
        nodes = {}
        for spec in SPECS:
            info = NodeInfo(name=spec.name, role=spec.role, address=hosts[spec.name].address)
            launch = Launch(
                argv=("python3", "-I", "-S", "server.py"),
                env={},
                files={"server.py": SERVER},
                ready_pattern="^serving$",
                logs=(process.STDOUT,),
                data=(),
            )
            nodes[spec.name] = Node(info, hosts[spec.name], launch)
            process.start(nodes[spec.name], RUN)
        deadline = Deadline("the test's nodes", 30)
        for node in nodes.values():
            process.await_ready(node, deadline)
        yield Cluster(RUN, nodes, KINDS, subjects_of(SPECS)), hosts["client"]


def all_ask(pairs):
    """(source host, node) → what it gets, all at the same time."""
    with ThreadPoolExecutor(32) as pool:
        return list(pool.map(lambda pair: ask(*pair), pairs))


def ask(source, node):
    """What a client on ``source`` gets from the node's port: 'here' if it serves."""
    return source.run("python3", "-I", "-S", "-c", ASK, node.host.address, timeout_s=20).text


class Run:
    """A nemesis in a thread."""

    def __init__(self, up, tmp_path, nemesis, duration_s, leadership=lambda: LEADERS, rows=1):
        self.cluster, self.client = up
        self.path = tmp_path / "run.events"
        self.log = EventLog(self.path)
        self.stop = threading.Event()
        plan = nemesis
        if isinstance(nemesis, str):
            plan = make_plan(
                nemesis,
                KINDS,
                SPECS,
                interval_s=0.2,
                duration_s=duration_s,
                time_limit_s=rows * (duration_s + 0.2),
                seed=7,
                fault_nodes=("b3", "c2") if "fixed-" in nemesis else (),
                subjects=subjects_of(SPECS),
            )
        self.nemesis = Nemesis(plan, self.cluster, leadership, self.log, now_ns(), self.client)
        self.thread = threading.Thread(target=self.nemesis.run, args=(self.stop,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(120)
        self.nemesis.heal_all()
        self.log.close()
        assert not self.thread.is_alive()

    def events(self):
        return [event for event in read_events(self.path) if isinstance(event, Fault)]

    def await_stage(self, stage):
        deadline = Deadline(f"stage {stage}", 60)
        while True:
            found = [event for event in self.events() if event.stage == stage]
            if found:
                return found[-1]
            deadline.check(str(self.events()))
            threading.Event().wait(0.02)

    def finish(self):
        self.thread.join(120)
        assert not self.thread.is_alive()
        return self.events()


def in_force(run):
    """Wait until the fault is proven; returns its event."""
    event = run.await_stage("active")
    assert event.evidence.proven, event
    return event


def healed(run):
    """End the fault early; returns the last event."""
    run.stop.set()
    events = run.finish()
    assert [event.stage for event in events] == ["inject", "active", "heal", "healed"], events
    assert events[-1].evidence.proven, events[-1]
    assert run.nemesis.unhealed() == ()
    return events[-1]
