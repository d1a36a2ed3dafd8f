"""What faults share that limit what a live process may take: the kernel's limit, set, looked at and set back.

Only the soft limit is touched, because a hard one cannot be raised again without rights. A process keeps what it has,
and gets no more. One that ends of it is reported and not started again: that is its answer to the fault.
"""

from abc import abstractmethod
from typing import ClassVar, Final

from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from cluster.cluster import Node
from cluster.host import Capability, Host
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.fault import Fact, Scene
from nemesis.faults.processes.process_fault import ACTION_TIMEOUT_S, ProcessFault

# $1 pid, $2 the resource's name in Python, $3 the soft limit to set, or nothing. Prints both limits before that.
_LIMIT: Final = """\
import resource, sys
pid, kind = int(sys.argv[1]), getattr(resource, sys.argv[2])
soft, hard = resource.prlimit(pid, kind)
print(soft, hard)
if len(sys.argv) > 3:
    resource.prlimit(pid, kind, (int(sys.argv[3]), hard))
"""


def limit(host: Host, pid: int, kind: str, soft: int | None = None) -> int:
    """The soft limit of a process; ``soft``: the one to set then.

    Raises:
        ChaosError: there is no such process, or the host refuses.
    """
    words = (str(pid), kind, *(() if soft is None else (str(soft),)))
    done = host.run("python3", "-I", "-S", "-c", _LIMIT, *words, timeout_s=ACTION_TIMEOUT_S)
    return int(done.check(f"{host.name}: the limit of a process").text.split()[0])


class LimitFault(ProcessFault):
    """A lower limit for the process of each target."""

    colour: ClassVar[Colour] = "peach"
    in_all: ClassVar[bool] = False
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.SIGNALS, Capability.PROGRAMS})
    kind: ClassVar[str]
    """The name of the limit in Python's module resource."""

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._usual: dict[str, int] = {}
        self._set: dict[str, int] = {}

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Lower and raise the limit of a process of ours."""
        lowered = "import resource as r; soft, hard = r.prlimit(0, r.{0}); r.prlimit(0, r.{0}, (1 << 30, hard)); "
        back = "r.prlimit(0, r.{0}, (soft, hard)); assert r.prlimit(0, r.{0})[0] == soft"
        text = (lowered + back).format(cls.kind).replace("1 << 30", "64" if cls.kind.endswith("NOFILE") else "1 << 30")
        done = host.run("python3", "-I", "-S", "-c", text, timeout_s=ACTION_TIMEOUT_S)
        if done.returncode == 0:
            return None
        return f"no limit can be set: {done.stderr.decode(errors='replace').strip()[-200:]}; run as root"

    @abstractmethod
    def used(self, host: Host, pid: int) -> int:
        """How much of it the process has now."""

    @abstractmethod
    def spare(self) -> int:
        """How much more it may take."""

    @abstractmethod
    def amount(self, value: int) -> str:
        """So much of it, for people."""

    def act(self) -> None:
        """Limit all targets at once."""

        def look(node: Node) -> tuple[int, int]:
            seen = self.remember_alive(node)
            assert seen.pid is not None
            self._usual[node.name] = limit(node.host, seen.pid, self.kind)
            return seen.pid, self.used(node.host, seen.pid) + self.spare()

        def lower(node: Node, found: tuple[int, int]) -> None:
            pid, least = found
            limit(node.host, pid, self.kind, least)
            self._set[node.name] = least

        self.look_and_act(look, lower, "limiting the process")

    def verify(self) -> Evidence:
        """The kernel says that the limit is in force, and how much of it is taken."""
        return self.look(self._limited)

    def verify_still(self) -> Evidence:
        """Look at the same, just before it is lifted."""
        return self.look(self._limited)

    def _limited(self, name: str, now: ProcState) -> Fact:
        if name not in self._set:
            return False, "was not limited"
        if now.pid is None or not self.is_it(name, now):
            return False, f"pid {self.before[name].pid} is gone"
        host = self.nodes[name].host
        soft, used = limit(host, now.pid, self.kind), self.used(host, now.pid)
        return soft == self._set[name], f"pid {now.pid} has {self.amount(used)} and may have {self.amount(soft)}"

    def heal(self) -> None:
        """Give every target that still is the process it was its limit back."""

        def raise_again(node: Node) -> None:
            seen = process.state(node)
            if node.name in self._usual and seen.alive and seen.pid is not None and self.same(node.name, seen):
                limit(node.host, seen.pid, self.kind, self._usual[node.name])

        self.on_all(raise_again, "lifting the limit")

    def verify_healed(self) -> Evidence:
        """Each target lives, and its limit is what it was."""

        def fact(name: str, now: ProcState) -> Fact:
            assert now.pid is not None
            soft = limit(self.nodes[name].host, now.pid, self.kind)
            good = name not in self._usual or soft == self._usual[name]
            return good, f"pid {now.pid} {'has its limit back' if good else f'may have {self.amount(soft)}'}"

        return self.look_undone(fact)
