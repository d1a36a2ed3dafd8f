"""A fault that is kept in memory, and a nemesis that runs it in a thread."""

import threading
from collections.abc import Callable

import msgspec
from leading import leads, subjects_of

from chaos.core.clock import Deadline, now_ns
from chaos.core.errors import DeployError
from chaos.core.events import EventLog, Evidence, Fault, Note
from chaos.storage.event_files import read_events
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Cluster, Node
from cluster.host import Capability, NodeSpec
from cluster.system import Launch
from nemesis.faults.fault import Fault as Injectable
from nemesis.plan.plan import make_plan
from nemesis.plan.sequence import Step, Steps, plan_steps
from nemesis.runner import Nemesis
from nemesis.targets.selectors import Selector

KINDS = {"broker": "replica", "controller": "controller"}
LAUNCH = Launch(argv=("true",), env={}, files={}, ready_pattern="", logs=(), data=())
BRIEF_S = 0.3
SHORT_S = 1.0
"""A row that ends by itself; one that a busy machine begins later than half of it is skipped."""

LONG = {"duration_s": 600, "time_limit_s": 2000}


class NoHost:
    """A host on which nothing can be done."""

    def __init__(self, name, capabilities=frozenset(Capability)):
        self.name = name
        self.address = "198.18.0.1"
        self.home = "/nonexistent"
        self.capabilities = capabilities

    def run(self, *argv, stdin=b"", timeout_s):
        raise DeployError(f"host {self.name} is gone")

    put = get = run


class Kept(Injectable):
    """A fault that takes effect in a set; what it does wrong is a class attribute of the test's own."""

    name = "kill"
    verb = "taken"
    help = "take {}"
    hits = "nodes"
    needs = frozenset({Capability.SIGNALS})
    in_force: set[str]
    calls: list[str]
    on_act: Callable[[], None]
    on_verify: Callable[[], None]
    on_still: Callable[[], None]
    on_heal: Callable[[], None]
    lasts = True

    def __init__(self, scene):
        self.names = scene.targets.names

    def _seen(self, proven, words):
        return Evidence(kind="memory", proven=proven, summary=words)

    def act(self):
        self.calls.append("act")
        self.in_force.update(self.names)
        type(self).on_act()

    def verify(self):
        type(self).on_verify()
        return self._seen(self.in_force >= set(self.names), "taken")

    def verify_still(self):
        self.calls.append("still")
        type(self).on_still()
        return self._seen(self.lasts and self.in_force >= set(self.names), "still taken")

    def heal(self):
        self.calls.append("heal")
        type(self).on_heal()
        self.in_force.difference_update(self.names)

    def verify_healed(self):
        return self._seen(self.in_force.isdisjoint(self.names), "free")


def cluster(capabilities=frozenset(Capability)):
    nodes = {}
    for name, role in {"b1": "broker", "b2": "broker", "b3": "broker", "c1": "controller"}.items():
        info = NodeInfo(name=name, role=role, address="198.18.0.1")
        nodes[name] = Node(info, NoHost(name, capabilities), LAUNCH)
    return Cluster("test", nodes, KINDS, subjects_of([each.info for each in nodes.values()]))


class Bench:
    """One nemesis run in a thread, and what it wrote."""

    def __init__(self, fault, tmp_path, nemesis="leader-kill", leadership=None, rows=1, follow=False, **changes):
        specs = [NodeSpec(name=node.name, role=node.info.role) for node in cluster().nodes.values()]
        times = {"interval_s": 0.1, "duration_s": SHORT_S, "time_limit_s": rows * (0.1 + SHORT_S)} | changes
        self.plan = make_plan(nemesis, KINDS, specs, seed=1, subjects=subjects_of(specs), **times)
        assert len(self.plan) == rows
        if follow:
            first, second = self.plan
            after = {"name": "fixed-kill@broker", "selector": Selector.FIXED, "follows": 1}
            self.plan = (first, msgspec.structs.replace(second, **after))
        self.path = tmp_path / "run.events"
        self.log = EventLog(self.path)
        self.stop = threading.Event()
        nodes, asked = cluster(), leadership or (lambda: leads(master="b2"))
        self.origin_ns = now_ns()
        self.nemesis = Nemesis(
            self.plan, nodes, asked, self.log, self.origin_ns, NoHost("client"), faults={"kill": fault}
        )
        self.thread = threading.Thread(target=self.nemesis.run, args=(self.stop,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(30)
        assert not self.thread.is_alive()

    def finish(self):
        self.thread.join(30)
        assert not self.thread.is_alive()
        return self.events()

    def events(self):
        return [event for event in read_events(self.path) if isinstance(event, Fault)]

    def notes(self):
        return [event.text for event in read_events(self.path) if isinstance(event, Note)]

    def await_stage(self, stage):
        deadline = Deadline(f"stage {stage}", 20)
        while not any(event.stage == stage for event in self.events()):
            deadline.check()
            threading.Event().wait(0.01)


def stages(events):
    return [event.stage for event in events]


class Together(Bench):
    """The same with rows of a sequence instead."""

    def __init__(self, fault, tmp_path, *steps):
        super().__init__(fault, tmp_path)
        specs = [NodeSpec(name=node.name, role=node.info.role) for node in cluster().nodes.values()]
        self.plan = plan_steps(Steps(steps=steps), KINDS, specs, time_limit_s=1000, seed=1, subjects=subjects_of(specs))
        self.nemesis = Nemesis(
            self.plan,
            cluster(),
            lambda: leads(master="b2", controller="c1"),
            self.log,
            now_ns(),
            NoHost("client"),
            faults={"kill": fault},
        )
        self.thread = threading.Thread(target=self.nemesis.run, args=(self.stop,))


LASTS = Step(nemesis="leader-kill", at=0.1, duration=600)
