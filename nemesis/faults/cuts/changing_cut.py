"""What partitions share whose links open while the fault lasts: beacons on all hosts tell for how long each was silent.

Whatever the fault's end meets, the healing ends what goes on, opens all links, and ends the beacons.
"""

from abc import abstractmethod
from typing import ClassVar, Final

from chaos.core.clock import now_ns
from cluster.host import Capability, Host
from nemesis.faults.background import Background
from nemesis.faults.cuts import beacons
from nemesis.faults.cuts.beacons import Beacons
from nemesis.faults.cuts.partition import Partition
from nemesis.faults.fault import Scene
from nemesis.faults.programs import ACTION_TIMEOUT_S

BEACONS: Final = "beacons"
"""The kind of their evidence."""

FIRST_BEAT_S: Final = 0.2
"""So long beacons are heard on every link before it is cut."""


class ChangingCut(Partition):
    """A partition that a thread of its own goes on to change; a subclass says how."""

    silences: ClassVar[bool] = False
    recurs: ClassVar[bool] = False
    together: ClassVar[str] = ""
    in_all: ClassVar[bool] = False
    needs: ClassVar[frozenset[Capability]] = Partition.needs | {Capability.PROGRAMS}

    doing: ClassVar[str]
    """What goes on, for whoever waits for its end."""

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._beacons = Beacons(self.everyone, self.least_silence_s)
        self._loop = Background(self.doing)
        self._began_ns = 0

    @property
    @abstractmethod
    def least_silence_s(self) -> float:
        """What is shorter is no silence of a link."""

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Run a beacon for a moment."""
        return beacons.why_unable(host)

    def listen(self) -> None:
        """Start the beacons before anything is cut."""
        self._began_ns = now_ns()
        self._beacons.start()
        self._loop.sleep(FIRST_BEAT_S)

    def heal(self) -> None:
        """End what goes on, open what is still cut, all at once, and end the beacons."""
        try:
            self._loop.end(ACTION_TIMEOUT_S)
        finally:
            try:
                super().heal()
            finally:
                self._beacons.end()
