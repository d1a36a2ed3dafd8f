"""Let a share of the writes to the disk of nodes write only half of what they were given, and say so."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from cluster.disk_operations import WRITE
from nemesis.faults.disks.disk_fault import DiskFault, Order, Probed, bounds
from nemesis.faults.disks.file_pattern import EVERY, FilePattern
from nemesis.faults.fault import Fact


class DiskShortWriteParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many."""

    share: Annotated[float, Meta(ge=0, le=1, description="share of the writes that are cut short")] = 0.1
    path: FilePattern = EVERY


class DiskShortWrite(DiskFault):
    """A program that does not look at how much was written loses the rest."""

    name: ClassVar[str] = "disk-short-write"
    verb: ClassVar[str] = "with a disk that writes half"
    help: ClassVar[str] = "make a share of the writes to the disk of {} write only half, and report so"
    Params: ClassVar[type[msgspec.Struct]] = DiskShortWriteParams
    probes: ClassVar[int] = 100

    def order(self) -> Order | None:
        """Writes are cut short."""
        return Order(WRITE, "short", share=self.params.share) if self.params.share > 0 else None

    def judge(self, seen: Probed, usual: Probed) -> Fact:  # noqa: ARG002 - nothing of before matters
        """A share of the writes is short that can be the one that was asked for."""
        least, most = bounds(self.params.share, self.probes)
        good = max(1, least) <= seen.write.short <= most and seen.write.failed == 0
        return good, f"{seen.write.short} of {self.probes} writes wrote half"
