"""Turn bits in the files of stopped nodes, as disks do that rot."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from cluster.cluster import Node
from nemesis.faults.disks.damage import Damage


class BitFlipParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many."""

    bits: Annotated[int, Meta(ge=0, le=1_000, description="how many bits are turned on each target")] = 8


class BitFlip(Damage):
    """Bits of bytes that are not zero, in any file of the data."""

    name: ClassVar[str] = "bit-flip"
    verb: ClassVar[str] = "with bits turned in its files"
    help: ClassVar[str] = "kill {} (SIGKILL) and flip bits in the files of each; start each again when the fault ends"
    Params: ClassVar[type[msgspec.Struct]] = BitFlipParams

    def damage(self, node: Node) -> str:
        """Turn bits, drawn from the node's name and from what files there are."""
        turned = self.program(node, "flip", seed=node.name, count=self.params.bits)
        return f"{sum(map(len, turned.values()))} bits turned in {len(turned)} files"
