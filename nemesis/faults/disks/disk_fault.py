"""What faults share that do something to operations on a node's disk: rules put in place, proven by a probe, removed.

The rules are those of our file system beneath the node's data folders (``mounts``). The probe is a plain program on
the host that writes, syncs and reads a file there, and knows of no rule. Where only some files are hit, a second rule
hits that file, and at the last look an operation on one of the files that are meant must have been hit. A node whose
process ended because of what its disk did is started again at the fault's end.
"""

import fnmatch
import json
import secrets
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Final

import msgspec

from chaos.core.errors import DeployError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour, Hits
from cluster.cluster import Node
from cluster.disk_operations import Action
from cluster.host import Capability, Host
from cluster.nodes import process
from cluster.simulation.commands import Answers
from nemesis.arming import Arming
from nemesis.faults.bring_back import Restarts
from nemesis.faults.disks import simulated_disks
from nemesis.faults.disks.diskfs import disk_probe, mounts
from nemesis.faults.disks.diskfs.disk_checks import NodeDisks
from nemesis.faults.disks.diskfs.mounts import TIMEOUT_S, Disk, disks_of
from nemesis.faults.disks.file_pattern import EVERY
from nemesis.faults.fault import Fact, Fault, Scene, on_each
from nemesis.faults.processes.process_fault import ACTION_TIMEOUT_S
from nemesis.proof import evidence

_PROGRAM: Final = Path(disk_probe.__file__)
_RULE_IDS: Final = 1 << 30


class Order(msgspec.Struct, frozen=True):
    """One rule: ``value`` is an errno or microseconds; ``skip`` operations pass first, at most ``times`` are hit."""

    ops: int
    action: Action
    value: int = 0
    share: float = 1.0
    skip: int = 0
    times: int = 0


class Kind(msgspec.Struct, frozen=True):
    """What the probe saw of one kind of operation: errno → how often, how many moved less than asked, times."""

    errors: Mapping[str, int] = {}
    short: int = 0
    ms: tuple[float, ...] = ()

    @property
    def failed(self) -> int:
        """How many failed."""
        return sum(self.errors.values())

    @property
    def quickest_ms(self) -> float:
        """The quickest that went well; infinite where none did."""
        return min(self.ms, default=float("inf"))


class Probed(msgspec.Struct, frozen=True):
    """What the probe saw of a disk; ``free``: blocks that it says to have left."""

    free: int
    create: Kind = Kind()
    write: Kind = Kind()
    fsync: Kind = Kind()
    read: Kind = Kind()


class DiskFault(Fault):
    """Rules on the disks of some nodes; a subclass says which, and how a probe sees them.

    ``probes``: how often a look writes, syncs and reads.
    """

    hits: ClassVar[Hits] = "disk"
    colour: ClassVar[Colour] = "green"
    in_all: ClassVar[bool] = False
    restarts: ClassVar[bool] = True
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.DISK, Capability.RESTART})
    arming: ClassVar[Arming | None] = mounts.DISKS
    probes: ClassVar[int] = 10

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._nodes: dict[str, Node] = {name: scene.cluster.nodes[name] for name in scene.targets.names}
        self._token = f"{secrets.randbits(40):010x}"
        self._id = 2 * secrets.randbelow(_RULE_IDS)
        self._path: str = getattr(self.params, "path", EVERY)
        self._usual: dict[str, Probed] = {}
        self._restarts = Restarts(scene.cluster.run_id, scene.serve_within_s)
        self._wait_s = scene.serve_within_s + ACTION_TIMEOUT_S

    @classmethod
    def simulated(cls) -> Answers:
        """See ``Fault.simulated``."""
        return {
            **simulated_disks.DISK,
            _PROGRAM.read_text(): simulated_disks.probe,
            "dd": simulated_disks.dd,
            "timeout": simulated_disks.sync_in_time,
        }

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Mount our file system and let power fail beneath it."""
        return mounts.obstacle(host)

    @abstractmethod
    def order(self) -> Order | None:
        """The rule, for each disk alike; None if nothing is to be done."""

    @abstractmethod
    def judge(self, seen: Probed, usual: Probed) -> Fact:
        """Pure: whether the probe saw the fault, and how it was before."""

    def act(self) -> None:
        """Look how each disk is, and put the rules in place."""
        own = _canary(self._token)
        if self._path != EVERY and fnmatch.fnmatchcase(own, self._path):
            raise DeployError(
                f"path {self._path}: a file of ours for the proof, {own}, is like that too; say more of it"
            )

        def put(name: str) -> None:
            for disk in disks_of(self._nodes[name]):
                file = self._file(disk)
                argv = ("dd", "if=/dev/zero", f"of={file}", f"bs={disk_probe.SIZE}", "count=1")
                disk.host.run(*argv, timeout_s=TIMEOUT_S).check(f"{name}: writing to its disk")
            self._usual[name] = self._probe(name)

        def rule(name: str) -> None:
            if (one := self.order()) is None:
                return
            words = (one.ops, f"{one.share:f}", one.skip, one.times, one.action, one.value)
            for disk in disks_of(self._nodes[name]):
                disk.ask("rule", self._id, *words, self._path)
                if self._path != EVERY:
                    disk.ask("rule", self._id + 1, *words, own)

        on_each(self._nodes, put, "a look at the disk", ACTION_TIMEOUT_S).check("looking at the disk")
        on_each(self._nodes, rule, "rules for the disk", ACTION_TIMEOUT_S).check("changing what the disk does")

    def verify(self) -> Evidence:
        """Write, sync and read on each disk, and count what comes of it."""
        return self._look(self._in_force)

    def verify_still(self) -> Evidence:
        """Look at the same; where only some files are meant, whether an operation on one was hit."""
        return self._look(self._still_in_force)

    def _in_force(self, name: str) -> Fact:
        """Whether the probe sees the fault."""
        return self.judge(self._probe(name), self._usual[name])

    def _still_in_force(self, name: str) -> Fact:
        good, said = self._in_force(name)
        if self._path == EVERY:
            return good, said
        told = [disk.ask("rules") for disk in disks_of(self._nodes[name])]
        hits = sum(int(one.get(f"hit.{self._id}", "0")) for one in told)
        return good and hits > 0, f"{said}, {hits} operations on files like {self._path} were hit"

    def heal(self) -> None:
        """Remove the rules, and start a process that has ended."""

        def mend(name: str) -> None:
            for disk in disks_of(self._nodes[name]):
                for one in (self._id, self._id + 1):
                    disk.ask("unrule", one)
                disk.host.run("rm", "-f", self._file(disk), f"{self._file(disk)}-beside", timeout_s=TIMEOUT_S)
            if not process.state(self._nodes[name]).alive:
                self._restarts.bring_back(self._nodes[name])

        on_each(self._nodes, mend, "mending the disk", self._wait_s).check("mending the disk")

    def verify_healed(self) -> Evidence:
        """No rule is left, the disk takes and keeps what is written, and the process lives."""
        failed: dict[str, str] = {}

        def fact(name: str) -> Fact:
            node = self._nodes[name]
            alive = process.state(node).alive
            works, said = NodeDisks(node, self._token).works()
            if not alive:
                failed[name] = self._restarts.why_not(name, alive=False)
                return False, f"{said}, its process is dead"
            if name in self._restarts.ready_s:
                said += f", its process had ended and serves after {self._restarts.ready_s[name]:.1f} s"
            return works, said

        found = self._look(fact)
        return msgspec.structs.replace(found, details={"failed": failed}) if failed else found

    def _look(self, fact: Callable[[str], Fact]) -> Evidence:
        facts = on_each(self._nodes, fact, "a look at the disk", ACTION_TIMEOUT_S)
        return evidence.each_node(facts.facts(lambda _name, one: one))

    def _file(self, disk: Disk) -> str:
        return f"{disk.folder}/{_canary(self._token)}"

    def _probe(self, name: str) -> Probed:
        """What a program sees of the node's first disk."""
        disk = disks_of(self._nodes[name])[0]
        orders = json.dumps({"file": self._file(disk), "count": self.probes})
        done = disk.host.run(
            "python3", "-I", "-S", "-", orders, stdin=_PROGRAM.read_bytes(), timeout_s=ACTION_TIMEOUT_S
        )
        try:
            return msgspec.json.decode(done.check(f"{name}: probing its disk").stdout, type=Probed)
        except msgspec.DecodeError:
            raise DeployError(f"{name}: the probe of its disk said {done.stdout[:100]!r}") from None


def _canary(token: str) -> str:
    """The path of a fault's own file in a data folder."""
    return f".chaos-canary-{token}"


def bounds(share: float, count: int) -> tuple[int, int]:
    """Pure: between which numbers of ``count`` hits of a share lie, but for one time in ten thousand."""
    slack = 4 * (count * share * (1 - share)) ** 0.5
    return max(0, int(count * share - slack)), min(count, int(count * share + slack + 0.999))
