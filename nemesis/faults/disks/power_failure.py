"""Let the power of nodes fail: all that was not synced is gone when they come back, of all targets at the same moment.

Beneath each target's data folders lies a file system of ours (``mounts``). First the disks of all targets stop:
whoever asks one gets no answer any more. Then the processes are killed, then what was not synced is taken back, and at
the fault's end the processes start on what is left. The proof is a file that was written just before and not synced,
and another that was: the first must be gone, the second there.
"""

import secrets
from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.events import Evidence
from cluster.cluster import Node
from cluster.host import Capability, Host
from cluster.nodes.process_state import ProcState
from cluster.simulation.commands import Answers
from nemesis.arming import Arming
from nemesis.faults.disks import simulated_disks
from nemesis.faults.disks.diskfs import mounts
from nemesis.faults.disks.diskfs.disk_checks import NodeDisks
from nemesis.faults.fault import Fact, Fault, Scene
from nemesis.faults.processes.kill import Kill
from nemesis.targets.selectors import Selector

_PERCENT: Final = 100


class PowerFailureParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How clean the cut is."""

    kept: Annotated[
        float,
        Meta(ge=0, le=0.9, description="share of the unsynced blocks of 4 KiB that had reached the disk anyway"),
    ] = 0.0


class PowerFailure(Kill):
    """SIGKILL to each target's process and session, and what it had not synced is gone."""

    name: ClassVar[str] = "power-failure"
    verb: ClassVar[str] = "without power"
    help: ClassVar[str] = (
        "cut the power of {}: kill, and lose what was not synced; start each again when the fault ends"
    )
    Params: ClassVar[type[msgspec.Struct]] = PowerFailureParams
    recurs: ClassVar[bool] = False
    together: ClassVar[str] = ""
    in_all: ClassVar[bool] = False
    survived: ClassVar[frozenset[Selector] | None] = frozenset({Selector.LEADER, Selector.MINOR})
    container: ClassVar[type[Fault] | None] = None
    needs: ClassVar[frozenset[Capability]] = Kill.needs | {Capability.DISK}
    arming: ClassVar[Arming | None] = mounts.DISKS

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        token = f"{secrets.randbits(40):010x}"
        self._disks = {name: NodeDisks(node, token) for name, node in self.nodes.items()}
        self._lost: dict[str, str] = {}

    @classmethod
    def simulated(cls) -> Answers:
        """See ``Fault.simulated``."""
        return simulated_disks.DISK

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Mount our file system and let power fail beneath it."""
        return mounts.obstacle(host)

    def act(self) -> None:
        """Stop all disks at once, end all targets, and take back what they had not synced."""
        self.on_all(lambda node: self._disks[node.name].write_canary(), "writing what must be lost")
        self.on_all(lambda node: self._disks[node.name].stop(), "stopping the disk")
        super().act()
        self.on_all(self._lose, "losing what was not synced")

    def _lose(self, node: Node) -> None:
        self._lost[node.name] = self._disks[node.name].lose_unsynced(round(self.params.kept * _PERCENT))
        self._disks[node.name].go_on()

    def verify(self) -> Evidence:
        """Each process is gone, and of two files of ours only the one that was synced is whole."""
        return self.look(lambda name, now: self._without_power(name, now, self._ended[name]))

    def _without_power(self, name: str, now: ProcState, word: str) -> Fact:
        good, phrase = self._gone(name, now, word)
        if not good:
            return good, phrase
        lost, said = self._disks[name].canary_lost()
        return lost, f"{phrase}, {self._lost.get(name, 'nothing was taken back')}, {said}"

    def heal(self) -> None:
        """Let every disk go on, and start every target that does not live and wait until it serves."""
        self.on_all(lambda node: self._disks[node.name].go_on(), "letting the disk go on")
        super().heal()

    def verify_healed(self) -> Evidence:
        """Each target serves, and its disk takes and keeps what is written."""
        evidence = super().verify_healed()
        if not evidence.proven:
            return evidence
        return self.look(lambda name, now: self._with_disk(name, self._healed(name, now)))

    def _with_disk(self, name: str, healed: Fact) -> Fact:
        good, said = self._disks[name].works()
        return healed[0] and good, f"{healed[1]}, {said}"
