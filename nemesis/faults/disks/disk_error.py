"""Let a share of the reads, writes or syncs on the disk of nodes fail with EIO.

What a failed write would have changed is as before. A failed sync makes nothing durable; a later one that works does.
"""

import errno
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from cluster.disk_operations import FSYNC, READ, WRITE
from nemesis.faults.disks.disk_fault import DiskFault, Order, Probed, bounds
from nemesis.faults.disks.file_pattern import EVERY, FilePattern
from nemesis.faults.fault import Fact

_EIO: Final = str(errno.EIO)
Op = Literal["read", "write", "fsync"]
_OPS: Final[Mapping[Op, int]] = {"read": READ, "write": WRITE, "fsync": FSYNC}


class DiskErrorParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which operations, and how many of them."""

    op: Annotated[tuple[Op, ...], Meta(description="which operations fail")] = ("fsync",)
    share: Annotated[float, Meta(ge=0, le=1, description="share of these that fail; 0 does nothing")] = 1.0
    path: FilePattern = EVERY


class DiskError(DiskFault):
    """Each operation is drawn by itself."""

    name: ClassVar[str] = "disk-error"
    verb: ClassVar[str] = "with a disk that fails"
    help: ClassVar[str] = "make a share of the reads, writes or fsyncs on the disk of {} fail with EIO"
    Params: ClassVar[type[msgspec.Struct]] = DiskErrorParams
    probes: ClassVar[int] = 100

    def order(self) -> Order | None:
        """One rule for all kinds of operations."""
        share, ops = self.params.share, sum(_OPS[word] for word in self.params.op)
        return Order(ops, "error", errno.EIO, share) if share > 0 else None

    def judge(self, seen: Probed, usual: Probed) -> Fact:  # noqa: ARG002 - nothing of before matters
        """Of each kind a share fails that can be one of what was asked for; none of a kind that was not."""
        said, good, any_failed = [], True, False
        for word in _OPS:
            share, kind = self.params.share if word in self.params.op else 0.0, getattr(seen, word)
            failed, others = kind.errors.get(_EIO, 0), kind.failed - kind.errors.get(_EIO, 0)
            least, most = bounds(share, self.probes)
            good &= least <= failed <= most and others == 0
            any_failed |= failed > 0
            said.append(f"{failed} of {self.probes} {word}s fail with EIO")
        return good and any_failed, ", ".join(said)
