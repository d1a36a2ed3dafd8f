"""A system in memory: nodes that share one store, clients that call it, and faults that it feels.

Each node is a real process that does nothing, so faults of processes are done, proven and healed as on any system. A
client that comes to a node whose process is gone is refused; one that comes to a suspended node waits. What is stored
is in this process and outlives all nodes, so without a bug nothing is ever lost.
"""

import asyncio
import copy
import itertools
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from chaos.core.client import Client, Definite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import UsageError
from chaos.core.events import Claim, Observation
from chaos.core.op import Invocation, Word
from chaos.models.log.words import MODEL as LOG
from chaos.models.registry import model_named
from chaos.models.transactions.words import MODEL as TRANSACTION
from chaos.storage.runinfo import NodeInfo, Promises, Subject
from chaos.testing.fake_admin import ACTIONS, DATA, DATABASE, IN_ENVIRONMENT, SETTING, FakeAdmin
from chaos.testing.fake_bugs import FakeBug
from chaos.testing.fake_objects import LOG_WORDS, STEPS, Step
from chaos.testing.fake_transactions import transaction_step
from cluster.host import Host, NodeSpec
from cluster.leaders import Leads, not_ready
from cluster.nodes.process import PID_FILE, STDOUT
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.versions import release_of

ROLE: Final = "node"
VERSION: Final = "1.0.0"
GROUP: Final = "fake"
"""What the group of all nodes is called, if it has a leader."""

_PAUSE_S: Final = 0.01

NodeState = Literal["serves", "suspended", "gone"]
_NOT_SERVING: Final[Mapping[bytes, NodeState]] = {b"T": "suspended", b"t": "suspended", b"Z": "gone", b"X": "gone"}


def node_state(home: Path) -> NodeState:
    """How the process of a node is, whose home this is."""
    try:
        pid, started, *_ = (home / PID_FILE).read_bytes().split()
        fields = Path(f"/proc/{int(pid)}/stat").read_bytes().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return "gone"
    return _NOT_SERVING.get(fields[0], "serves") if fields[19] == started else "gone"


class FakeSystem:
    """A system for tests; implements ``cluster.system.System``, and ``cluster.admin.HasAdmin`` where it has a leader.

    There is one in every version that is written like 1.0.0, and all are alike.

    Args:
        nodes: how many there are; they are called f1, f2, …
        objects: by model, the function of an object of a model that is not built in (``chaos.testing.fake_objects``).
        bug: what it does wrong (``chaos.testing.fake_bugs``).
        promises: what it promises.
        takes_s: how long an operation takes.
        leads: whether one node leads the others; another takes over when its process does not run. It then has an admin
            interface and a setting as well.
    """

    name = "fake"
    help = "a system in memory, for tests"
    other_versions = "any"
    roles: Mapping[str, RoleKind] = MappingProxyType({ROLE: "replica"})
    workload = "register"
    start_order = ((ROLE,),)

    def __init__(
        self,
        nodes: int = 3,
        objects: Mapping[str, Step] | None = None,
        bug: FakeBug | None = None,
        promises: Promises | None = None,
        takes_s: float = 0.002,
        *,
        leads: bool = False,
    ) -> None:
        self.version = VERSION
        self.takes_s = takes_s
        self.names = tuple(f"f{number}" for number in range(1, nodes + 1))
        self._steps = {**STEPS, TRANSACTION: transaction_step, **(objects or {})}
        self._bug = bug
        self._promises = promises or Promises()
        self._leads = leads
        self.operations_done = 0
        self._lock = threading.Lock()
        self._held: dict[tuple[str, type[Word], int], Any] = {}
        self._homes: dict[str, Path] = {}
        self._leader: tuple[str | None, int] = (None, 0)

    def at(self, version: str) -> "FakeSystem":
        """The same, in another version. Raises UsageError: it is none."""
        release_of(version)
        other = copy.copy(self)
        other.version = version
        return other

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Its one setting if it has a leader, else nothing. Raises UsageError for any other."""
        known = {SETTING: "usual"} if self._leads else {}
        for name in settings:
            if name not in known:
                there = f"no such setting; it has {SETTING}" if known else "no settings"
                raise UsageError(f"--set {name}: the fake system has {there}")
        return {**known, **settings}

    def changeable(self, role: str) -> Collection[str]:  # noqa: ARG002 - all nodes are alike
        """Its one setting."""
        return (SETTING,) if self._leads else ()

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:  # noqa: ARG002 - always the same
        """Its nodes."""
        return tuple(NodeSpec(name=name, role=ROLE) for name in self.names)

    def promises(self, settings: Mapping[str, str]) -> Promises:  # noqa: ARG002 - always the same
        """What it was made to promise."""
        return self._promises

    def fetch(self, say: Callable[[str], None]) -> Path:  # noqa: ARG002 - nothing to say
        """Nothing is needed."""
        return Path(__file__).parent

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:  # noqa: ARG002 - no files
        """A process that sleeps; remembers where the node lives."""
        self._homes[node.name] = Path(home)
        return Launch(
            argv=("sh", "-c", "echo serving; exec sleep 1000000"),
            env={
                IN_ENVIRONMENT[SETTING]: view.settings.get(SETTING, "usual"),
                IN_ENVIRONMENT["version"]: self.version,
            },
            files={DATABASE: b"as it was"},
            ready_pattern="serving",
            logs=(STDOUT,),
            data=(DATA,),
        )

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:  # noqa: ARG002
        """All words of a model that has a function here; of a log some."""
        if model not in self._steps:
            return frozenset()
        return LOG_WORDS if model == LOG else frozenset(model_named(model).words)

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:  # noqa: ARG002
        """The group of all nodes if it has a leader."""
        return (Subject(name=GROUP, nodes=self.names),) if self._leads else ()

    def settled(self, leads: Leads, now_ns: int) -> str | None:  # noqa: ARG002 - nothing moves by itself
        """A leader is one at once: nothing has to stand still for a while."""
        return next((f"nobody leads {name}" for name, lead in leads.items() if lead.leader is None), None)

    def probe(self, view: ClusterView) -> Probe:
        """A probe of these nodes."""
        return FakeProbe(self, view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:  # noqa: ARG002
        """A client that goes to one node after the other."""
        return FakeClient(self, view, number)

    def admin_actions(self, settings: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002
        """All that there are, where somebody leads."""
        return ACTIONS if self._leads else {}

    def admin(self, view: ClusterView, host: Host) -> FakeAdmin:  # noqa: ARG002 - nothing is asked over a network
        """Who acts on it."""
        return FakeAdmin(self, self._homes)

    def lead(self, node: str) -> None:
        """Let a node lead, in a new epoch."""
        with self._lock:
            self._leader = (node, self._leader[1] + 1)

    def state(self, node: str) -> NodeState:
        """How a node is now."""
        home = self._homes.get(node)
        return "gone" if home is None else node_state(home)

    def claims(self) -> tuple[Claim, ...]:
        """Who leads, in which epoch; nothing if nobody ever does."""
        if not self._leads:
            return ()
        with self._lock:
            leader, epoch = self._leader
            if leader is None or self.state(leader) != "serves":
                found = next((name for name in self.names if self.state(name) == "serves"), None)
                self._leader = (found, epoch + (found is not None))
            leader, epoch = self._leader
        return (Claim(subject=GROUP, leader=leader, epoch=epoch),)

    def serve(self, run_id: str, op: Invocation) -> Any:
        """Do an operation; returns the answer.

        Raises:
            Definite: it was refused. Anything that a bug answers.
        """
        at = (run_id, type(op.f), op.key)
        step = next(step for name, step in self._steps.items() if model_named(name).words is at[1])
        with self._lock:
            self.operations_done += 1
            held = self._held.get(at)
            self._held[at], answer = step(held, op) if self._bug is None else self._bug(step, held, op)
        if isinstance(answer, Exception):
            raise answer
        return answer


class FakeClient(Client):
    """One client."""

    def __init__(self, system: FakeSystem, view: ClusterView, number: int) -> None:
        self._system = system
        self._run_id = view.run_id
        names = [node.name for node in view.nodes]
        self._nodes = itertools.islice(itertools.cycle(names), number % len(names), None)

    async def invoke(self, op: Invocation, received: Received) -> None:
        """Come to the next node and do it there. Raises Definite where no process is."""
        received.node = node = next(self._nodes)
        await asyncio.sleep(self._system.takes_s / 2)
        while (state := self._system.state(node)) == "suspended":  # noqa: ASYNC110 - /proc tells nobody
            await asyncio.sleep(_PAUSE_S)
        if state == "gone":
            raise Definite("connection refused")
        received.result = self._system.serve(self._run_id, op)
        await asyncio.sleep(self._system.takes_s / 2)


class FakeProbe(Probe):
    """Looks at the nodes' processes."""

    def __init__(self, system: FakeSystem, view: ClusterView) -> None:
        self._system = system
        self._view = view

    async def readiness(self) -> str | None:
        """None when every node answers."""
        seen = {node.name: await self.observe(node, 0.0) for node in self._view.nodes}
        return not_ready(seen, self._system.subjects({}, self._view.keys))

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Look at a node; a suspended one lets the time run out."""
        asked_ns = now_ns()
        until_ns = asked_ns + int(timeout_s * NS_PER_S)
        while (state := self._system.state(node.name)) == "suspended" and now_ns() < until_ns:  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE_S)
        if state != "serves":
            error = "no answer" if state == "suspended" else "connection refused"
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=error)
        claims = self._system.claims()
        role = "leader" if any(claim.leader == node.name for claim in claims) else ROLE
        return Observation(
            time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=True, role=role, claims=claims or None
        )
