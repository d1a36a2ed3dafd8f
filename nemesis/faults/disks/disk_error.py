"""Let a share of the reads, writes or syncs on the disk of nodes fail with EIO.

What a failed write would have changed is as before. A failed sync makes nothing durable; a later one that works does.
"""

import errno
from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from nemesis.faults.disks.disk_fault import FSYNC, READ, WRITE, DiskFault, Order, Probed, bounds
from nemesis.faults.fault import Fact

_EIO: Final = str(errno.EIO)
_OPS: Final = {"read": READ, "write": WRITE, "fsync": FSYNC}


class DiskErrorParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which operations, and how many of them."""

    read: Annotated[float, Meta(ge=0, le=1, description="share of the reads that fail")] = 0.0
    write: Annotated[float, Meta(ge=0, le=1, description="share of the writes that fail")] = 0.0
    fsync: Annotated[float, Meta(ge=0, le=1, description="share of the fsyncs that fail")] = 1.0


class DiskError(DiskFault):
    """Each operation is drawn by itself."""

    name: ClassVar[str] = "disk-error"
    verb: ClassVar[str] = "with a disk that fails"
    help: ClassVar[str] = "let a share of the reads, writes or fsyncs on the disk of {} fail with EIO"
    Params: ClassVar[type[msgspec.Struct]] = DiskErrorParams
    probes: ClassVar[int] = 100

    def orders(self) -> tuple[Order, ...]:
        """One rule for each kind of operation of which some fail."""
        shares = {word: getattr(self.params, word) for word in _OPS}
        return tuple(Order(_OPS[word], "error", errno.EIO, share) for word, share in shares.items() if share > 0)

    def judge(self, seen: Probed, usual: Probed) -> Fact:  # noqa: ARG002 - nothing of before matters
        """Of each kind a share fails that can be one of what was asked for; none of a kind that was not."""
        said, good, any_failed = [], True, False
        for word in _OPS:
            share, kind = getattr(self.params, word), getattr(seen, word)
            failed, others = kind.errors.get(_EIO, 0), kind.failed - kind.errors.get(_EIO, 0)
            least, most = bounds(share, self.probes)
            good &= least <= failed <= most and others == 0
            any_failed |= failed > 0
            said.append(f"{failed} of {self.probes} {word}s fail with EIO")
        return good and any_failed, ", ".join(said)
