"""Let syncs on the disk of nodes hang: whoever asks for one waits until the fault's end; reads and writes work."""

import signal
from typing import ClassVar, Final

from chaos.core.events import Evidence
from nemesis.faults.disks.disk_fault import FSYNC, DiskFault, Order, Probed
from nemesis.faults.disks.diskfs.mounts import TIMEOUT_S, disks_of
from nemesis.faults.fault import Fact

PATIENCE_S: Final = 1
_KILLED: Final = (128 + signal.SIGKILL, -signal.SIGKILL)


class DiskStall(DiskFault):
    """A process that waits can be killed."""

    name: ClassVar[str] = "disk-stall"
    verb: ClassVar[str] = "with a disk that syncs nothing"
    help: ClassVar[str] = "make every fsync on the disk of {} hang until the fault ends"
    restarts: ClassVar[bool] = False
    probes: ClassVar[int] = 1

    def orders(self) -> tuple[Order, ...]:
        """Syncs hang."""
        return (Order(FSYNC, "stall"),)

    def judge(self, seen: Probed, usual: Probed) -> Fact:
        """Never asked: a probe would hang as well."""
        raise NotImplementedError

    def _fact(self, name: str) -> Fact:
        disk = disks_of(self._nodes[name])[0]
        argv = ("timeout", "-s", "KILL", str(PATIENCE_S), "sync", self._file(disk))
        done = disk.host.run(*argv, timeout_s=TIMEOUT_S)
        hangs = done.returncode in _KILLED
        return hangs, f"a sync {f'took more than {PATIENCE_S} s' if hangs else 'came back'}"

    def verify(self) -> Evidence:
        """Sync a file on each disk: ``sync`` must not come back."""
        return self._look(self._fact)
