"""Let the disk of nodes be slow: reads, writes and syncs each take longer, side by side as many as there are."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from cluster.disk_operations import FSYNC, READ, WRITE
from nemesis.faults.disks.disk_fault import DiskFault, Order, Probed
from nemesis.faults.disks.file_pattern import EVERY, FilePattern
from nemesis.faults.fault import Fact


class DiskSlowParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much longer."""

    delay_ms: Annotated[
        float, Meta(ge=1, le=5_000, description="how much longer an operation takes", extra={"unit": "ms"})
    ] = 100.0
    path: FilePattern = EVERY


class DiskSlow(DiskFault):
    """Reads of what the kernel still has stay quick."""

    name: ClassVar[str] = "disk-slow"
    verb: ClassVar[str] = "with a slow disk"
    help: ClassVar[str] = "slow down each read, write and fsync on the disk of {}"
    Params: ClassVar[type[msgspec.Struct]] = DiskSlowParams
    restarts: ClassVar[bool] = False
    probes: ClassVar[int] = 1

    def order(self) -> Order:
        """Each waits."""
        return Order(READ | WRITE | FSYNC, "delay", round(self.params.delay_ms * 1e3))

    def judge(self, seen: Probed, usual: Probed) -> Fact:
        """Each kind takes at least that much longer than the delay alone, and failed nowhere."""
        kinds = {"write": seen.write, "fsync": seen.fsync, "read": seen.read}
        good = all(kind.ms and kind.quickest_ms >= self.params.delay_ms for kind in kinds.values())
        said = ", ".join(f"a {name} takes {kind.quickest_ms:.0f} ms" for name, kind in kinds.items())
        before = ", ".join(f"{one.quickest_ms:.1f}" for one in (usual.write, usual.fsync, usual.read))
        return good, f"{said}; before {before} ms"
