"""Three small nodes with disks that faults can hit, on real hosts, and plans of faults for them."""

import json
import os
import sys
from contextlib import ExitStack, contextmanager

import pytest
from host_support import make
from leading import leads, subjects_of
from test_hosts_nemesis import Run

from chaos.core.clock import Deadline
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Cluster, Node
from cluster.host import NodeSpec, hosts_up
from cluster.nodes import process
from cluster.system import Launch
from nemesis.arming import launch_under
from nemesis.faults.disks.diskfs.mounts import DISKS
from nemesis.plan.plan import make_plan

KINDS = {"broker": "replica"}
SPECS = [NodeSpec(name=name, role="broker") for name in ("b1", "b2", "b3")]
LEADERS = leads("b2", "b1", epoch=3)
RUN = f"disk-e2e-{os.getpid()}"


@contextmanager
def nodes_up(work, server, *, arming=DISKS, backend="netns"):
    """The nodes run ``server``, a Python program, in their homes; each has the data folder ``data``.

    ``arming``: what prepares their hosts; None: nothing does.
    """
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("CHAOS_CACHE", str(work / "cache"))
        hosts = stack.enter_context(hosts_up(make(backend), RUN, SPECS, work))
        nodes = {}
        for spec in SPECS:
            info = NodeInfo(name=spec.name, role=spec.role, address=hosts[spec.name].address)
            launch = Launch(
                argv=("python3", "-I", "-S", "server.py"),
                env={},
                files={"server.py": server},
                ready_pattern="^serving$",
                logs=(process.STDOUT,),
                data=("data",),
            )
            armings = () if arming is None else (arming,)
            launch = launch_under(armings, launch, hosts[spec.name].home)
            node = nodes[spec.name] = Node(info, hosts[spec.name], launch)
            for one in armings:
                one.arm(node)
                stack.callback(one.disarm, node)
            node.host.run("mkdir", "-p", f"{node.host.home}/data", timeout_s=10).check()
            stack.callback(process.kill, node)
            process.start(node, RUN)
        deadline = Deadline("the test's nodes", 30)
        for node in nodes.values():
            process.await_ready(node, deadline)
        yield Cluster(RUN, nodes, KINDS, subjects_of(SPECS)), hosts["client"]


def fault(up, tmp_path, nemesis, duration_s=600, fault_nodes=()):
    """One fault as a nemesis in a thread; used in a ``with``."""
    plan = make_plan(
        nemesis,
        KINDS,
        [NodeInfo(name=spec.name, role=spec.role, address="") for spec in SPECS],
        interval_s=0.2,
        duration_s=duration_s,
        time_limit_s=duration_s + 0.2,
        seed=7,
        fault_nodes=fault_nodes,
        subjects=subjects_of(SPECS),
    )
    return Run(up, tmp_path, plan, 0, lambda: LEADERS)


def python(node, program, *arguments):
    """Run a Python program in the node's data folder; what it printed."""
    argv = ("sh", "-c", 'cd "$1/data" && shift && exec "$@"', "sh", node.host.home)
    done = node.host.run(*argv, sys.executable, "-I", "-S", "-c", program, *arguments, timeout_s=60)
    return done.check(f"{node.name}: {program[:60]}").text


LISTING = """
import contextlib, json, os, sys
found = {}
for at, _, names in os.walk("."):
    for name in set(names).difference(sys.argv[1:]):
        path = os.path.join(at, name)
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:  # the node renames its own meanwhile
            found[path[2:]] = file.read().hex()
print(json.dumps(found))
"""


def listing(node, *left_out):
    """The files of the data folder with their contents, by name, as any program on the host sees them.

    ``left_out``: names of files that are not read.
    """
    return {name: bytes.fromhex(content) for name, content in json.loads(python(node, LISTING, *left_out)).items()}
