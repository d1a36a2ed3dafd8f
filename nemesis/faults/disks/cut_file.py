"""Cut the end off the file that a stopped node wrote last, as a disk does that lost its last writes."""

from pathlib import PurePath
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from cluster.cluster import Node
from nemesis.faults.disks.damage import Damage


class CutFileParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much."""

    bytes: Annotated[int, Meta(ge=1, le=1 << 30, description="how many bytes that are not zero are cut off")] = 100


class CutFile(Damage):
    """Behind what is left the file has nothing, also none of the zeros that it was laid out with."""

    name: ClassVar[str] = "cut-file"
    verb: ClassVar[str] = "with a file cut short"
    help: ClassVar[str] = (
        "kill {} (SIGKILL) and cut off the end of the file that each wrote last; start each again when the fault ends"
    )
    Params: ClassVar[type[msgspec.Struct]] = CutFileParams

    def damage(self, node: Node) -> str:
        """Cut the file that was changed last."""
        cut = self.program(node, "cut", bytes=self.params.bytes)
        return "; ".join(f"{PurePath(path).name} cut from {was:,} to {now:,} bytes" for path, (was, now) in cut.items())
