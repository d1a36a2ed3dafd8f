"""Lower how many files and connections processes may have open, show that it holds, and raise it again.

What is open stays open. A process beyond its limit can accept no connection and open no file: "too many open files".
"""

from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.errors import DeployError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Hits
from chaos.core.node_notes import ENDED
from cluster.cluster import Node
from cluster.host import Capability, Host
from cluster.nodes import process
from nemesis.faults.fault import Fact, Fault, Scene, on_each
from nemesis.proof.evidence import each_node

TIMEOUT_S: Final = 20.0


class FileLimitParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody may set: ``random-file-limit:files=20``."""

    files: Annotated[int, Meta(ge=0, le=100_000, description="how many may be open")] = 0


def limit(host: Host, pid: int, soft: str = "") -> str:
    """The limit of a process, after it was set to ``soft`` if that is given.

    Raises:
        ChaosError: there is no such process, or the host refuses.
    """
    if soft:
        host.run("prlimit", f"--pid={pid}", f"--nofile={soft}:", timeout_s=TIMEOUT_S).check("prlimit")
    shown = host.run(
        "prlimit", f"--pid={pid}", "--nofile", "--raw", "--noheadings", "--output=SOFT", timeout_s=TIMEOUT_S
    )
    return shown.check("prlimit").text


class FileLimit(Fault):
    """A limit for the process of each target."""

    name: ClassVar[str] = "file-limit"
    verb: ClassVar[str] = "denied files"
    help: ClassVar[str] = "let {} open no more files and connections until the fault's end"
    hits: ClassVar[Hits] = "nodes"
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.SIGNALS, Capability.PROGRAMS})
    Params: ClassVar[type[msgspec.Struct]] = FileLimitParams

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._nodes: dict[str, Node] = {name: scene.cluster.nodes[name] for name in scene.targets.names}
        self._before: dict[str, tuple[int, str]] = {}

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Try it on the shell that asks."""
        tried = host.run("sh", "-c", "prlimit --pid=$$ --nofile=10:", timeout_s=TIMEOUT_S)
        return None if tried.returncode == 0 else "prlimit does not work there; apt-get install util-linux"

    def act(self) -> None:
        """Limit all targets at once."""
        on_each(self._nodes, self._act_on, "prlimit", TIMEOUT_S).check("limiting open files")

    def _act_on(self, name: str) -> None:
        node = self._nodes[name]
        pid = process.state(node).pid
        if pid is None:
            raise DeployError(f"{name} has no process")
        self._before[name] = (pid, limit(node.host, pid))
        limit(node.host, pid, str(self.params.files))

    def verify(self) -> Evidence:
        """The kernel says that the limit is in force."""
        return each_node(self._facts(dict.fromkeys(self._nodes, str(self.params.files))))

    def verify_still(self) -> Evidence:
        """Look at the same, just before the healing."""
        return self.verify()

    def heal(self) -> None:
        """Give every target that still runs its limit back; may be called again."""
        for name, (pid, soft) in self._before.items():
            if self._lives(name):
                limit(self._nodes[name].host, pid, soft)

    def verify_healed(self) -> Evidence:
        """The limit is what it was. A process that ended meanwhile is no failure of ours: the details say so."""
        ended = {name: ENDED for name in self._before if not self._lives(name)}
        return each_node(self._facts({name: soft for name, (_, soft) in self._before.items()}), {"failed": ended})

    def _lives(self, name: str) -> bool:
        seen = process.state(self._nodes[name])
        return seen.alive and seen.pid == self._before[name][0]

    def _facts(self, wanted: dict[str, str]) -> dict[str, Fact]:
        """For each target whether it has the limit, and a phrase for people."""
        seen = on_each(wanted, lambda name: limit(self._nodes[name].host, self._before[name][0]), "a look", TIMEOUT_S)
        return seen.facts(lambda name, now: (now == wanted[name], f"pid {self._before[name][0]} may open {now}"))
