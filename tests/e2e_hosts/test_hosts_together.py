"""All targets of a fault at once: by stamps that hosts themselves write nobody is looked at after somebody was hit."""

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from fault_nodes import SERVER, Run
from host_support import make
from leading import subjects_of

from chaos.core.clock import Deadline
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Cluster, Node
from cluster.host import NodeSpec, hosts_up
from cluster.nodes import process
from cluster.system import Launch
from nemesis.plan.plan import make_plan

pytestmark = pytest.mark.e2e

KINDS = {"broker": "replica"}
RUN = f"together-e2e-{os.getpid()}"
# $1 what it is; then the command. The host's own clock says when the command began and ended.
STAMP = """\
kind=$1; shift; begun=$(date +%s%N)
"$@"; code=$?
echo "$kind $begun $(date +%s%N)" >> "$HOME/stamps"
exit "$code"
"""
ACTS = {
    "all-suspend": ("STOP",),
    "all-kill": ("KILL",),
    "all-stutter": ('"on_ms"',),
    "all-cpu-load:hogs=1": ('"pin"', '"hogs"'),
    "all-descriptor-limit": ("RLIMIT_NOFILE",),
    "all-blackhole": ('"put"',),
}
"""What is in the words of a command that does it to its host."""


class Stamped:
    """A host that stamps each command that runs there."""

    def __init__(self, host, marks):
        self._host, self._marks = host, marks

    def __getattr__(self, name):
        return getattr(self._host, name)

    def run(self, *argv, **options):
        words = [str(word) for word in argv]
        sets = "RLIMIT_NOFILE" not in self._marks or words[-1].isdigit()  # one that asks ends with the name
        acts = sets and any(mark in word for mark in self._marks for word in words[4:])
        return self._host.run("sh", "-c", STAMP, "sh", "act" if acts else "look", *words, **options)


@contextmanager
def nodes_up(work, count, marks):
    specs = [NodeSpec(name=f"b{number}", role="broker") for number in range(1, count + 1)]
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("CHAOS_CACHE", str(work / "cache"))
        hosts = stack.enter_context(hosts_up(make("netns"), RUN, specs, work))
        nodes = {}
        for spec in specs:
            host = hosts[spec.name]
            launch = Launch(
                argv=("python3", "-I", "-S", "server.py"),
                env={},
                files={"server.py": SERVER},
                ready_pattern="^serving$",
                logs=(process.STDOUT,),
                data=(),
            )
            info = NodeInfo(name=spec.name, role=spec.role, address=host.address)
            process.start(node := Node(info, host, launch), RUN)
            stack.callback(process.kill, node)
            process.await_ready(node, Deadline(spec.name, 30))
            nodes[spec.name] = Node(info, Stamped(host, marks), launch)
        yield Cluster(RUN, nodes, KINDS, subjects_of(specs)), hosts["client"], specs


def stamps(node):
    """What the host wrote, in its order: what it was, when it began and when it ended, in ns."""
    lines = Path(node.host.home, "stamps").read_text().splitlines()
    found = [(kind, int(begun), int(ended)) for kind, begun, ended in map(str.split, lines)]
    return sorted(found, key=lambda one: one[1])


@pytest.mark.parametrize("count", [3, 7])
@pytest.mark.parametrize("nemesis", ACTS)
def test_no_target_is_looked_at_after_another_was_hit(tmp_path, nemesis, count):
    with nodes_up(tmp_path, count, ACTS[nemesis]) as (cluster, client, specs):
        plan = make_plan(
            nemesis,
            KINDS,
            specs,
            interval_s=0.2,
            duration_s=600,
            time_limit_s=600.2,
            seed=7,
            subjects=subjects_of(specs),
        )
        with Run((cluster, client), tmp_path, plan, 0) as run:
            event = run.await_stage("active")
            written = {name: stamps(node) for name, node in cluster.nodes.items()}
            run.stop.set()
            run.finish()
        assert len(event.targets) == count
        first = {name: next(one for one in own if one[0] == "act") for name, own in written.items()}
        looks = {name: [one for one in own if one[1] < first[name][1]] for name, own in written.items()}
        assert all(looks.values()), "each is looked at before"
        assert max(ended for own in looks.values() for *_, ended in own) <= min(begun for _, begun, _ in first.values())
        apart_ms = (max(begun for _, begun, _ in first.values()) - min(begun for _, begun, _ in first.values())) / 1e6
        steps = event.evidence.details["spread_ms"].values()
        assert any(step["began"] <= step["within"] and apart_ms <= step["within"] for step in steps)
        print(f"{nemesis} on {count}: {apart_ms:.1f} ms apart, {event.evidence.details['spread_ms']}")
