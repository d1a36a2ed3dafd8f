"""Let the disk of nodes be read-only, as kernels make one that had errors: what changes it fails with EROFS."""

import errno
from typing import ClassVar, Final

from cluster.disk_operations import ATTRIBUTES, CREATE, OPEN_TO_WRITE, RENAME, TRUNCATE, UNLINK, WRITE
from nemesis.faults.disks.disk_fault import DiskFault, Order, Probed
from nemesis.faults.fault import Fact

_READ_ONLY: Final = str(errno.EROFS)


class DiskReadOnly(DiskFault):
    """Also files that are open to be written take no more."""

    name: ClassVar[str] = "disk-read-only"
    verb: ClassVar[str] = "with a disk that is read-only"
    help: ClassVar[str] = "make the disk of {} read-only: writes fail with EROFS, also to files that are open"

    def order(self) -> Order:
        """What changes anything fails."""
        changes = WRITE | CREATE | RENAME | UNLINK | TRUNCATE | OPEN_TO_WRITE | ATTRIBUTES
        return Order(changes, "error", errno.EROFS)

    def judge(self, seen: Probed, usual: Probed) -> Fact:  # noqa: ARG002 - nothing of before matters
        """All writes fail, all reads work."""
        failed = seen.write.errors.get(_READ_ONLY, 0)
        good = failed == self.probes and _READ_ONLY in seen.create.errors and seen.read.failed == 0
        return good, f"{failed} of {self.probes} writes fail with EROFS, {len(seen.read.ms)} reads work"
