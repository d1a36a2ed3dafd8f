"""Let syncs on the disk of nodes hang: whoever asks for one waits until the fault's end; reads and writes work."""

import signal
from typing import ClassVar, Final

import msgspec

from cluster.disk_operations import FSYNC
from nemesis.faults.disks.disk_fault import DiskFault, Order, Probed
from nemesis.faults.disks.diskfs.mounts import TIMEOUT_S, disks_of
from nemesis.faults.disks.file_pattern import EVERY, FilePattern
from nemesis.faults.fault import Fact

PATIENCE_S: Final = 1
_KILLED: Final = (128 + signal.SIGKILL, -signal.SIGKILL)


class DiskStallParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of which files."""

    path: FilePattern = EVERY


class DiskStall(DiskFault):
    """A process that waits can be killed."""

    name: ClassVar[str] = "disk-stall"
    verb: ClassVar[str] = "with a disk that syncs nothing"
    help: ClassVar[str] = "make every fsync on the disk of {} hang until the fault ends"
    Params: ClassVar[type[msgspec.Struct]] = DiskStallParams
    restarts: ClassVar[bool] = False
    probes: ClassVar[int] = 1

    def order(self) -> Order:
        """Syncs hang."""
        return Order(FSYNC, "stall")

    def judge(self, seen: Probed, usual: Probed) -> Fact:
        """Never asked: a probe would hang as well."""
        raise NotImplementedError

    def _in_force(self, name: str) -> Fact:
        """Whether a sync of a file on the first disk does not come back."""
        disk = disks_of(self._nodes[name])[0]
        argv = ("timeout", "-s", "KILL", str(PATIENCE_S), "sync", self._file(disk))
        done = disk.host.run(*argv, timeout_s=TIMEOUT_S)
        hangs = done.returncode in _KILLED
        return hangs, f"a sync {f'took more than {PATIENCE_S} s' if hangs else 'came back'}"
