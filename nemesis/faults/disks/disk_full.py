"""Let the disk of nodes have no room: what would take some fails with ENOSPC, and the disk says that it is full."""

import errno
from typing import ClassVar, Final

from cluster.disk_operations import CREATE, WRITE
from nemesis.faults.disks.disk_fault import DiskFault, Order, Probed
from nemesis.faults.fault import Fact

_FULL: Final = str(errno.ENOSPC)


class DiskFull(DiskFault):
    """Writes and new names fail; reads, removals and syncs work."""

    name: ClassVar[str] = "disk-full"
    verb: ClassVar[str] = "without room on its disk"
    help: ClassVar[str] = "make the disk of {} full: writes fail with ENOSPC"

    def order(self) -> Order:
        """What takes room fails."""
        return Order(WRITE | CREATE, "error", errno.ENOSPC)

    def judge(self, seen: Probed, usual: Probed) -> Fact:
        """All writes fail, and nothing is free where something was."""
        failed = seen.write.errors.get(_FULL, 0)
        good = failed == self.probes and seen.free == 0 < usual.free and _FULL in seen.create.errors
        return good, f"{failed} of {self.probes} writes fail with ENOSPC, {seen.free:,} blocks are free"
