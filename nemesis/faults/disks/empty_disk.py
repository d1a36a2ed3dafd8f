"""Empty the disks of nodes: they start again with nothing, as after a disk was replaced."""

from typing import ClassVar

from cluster.cluster import Node
from nemesis.faults.disks.damage import EMPTY, Damage
from nemesis.targets.selectors import LED, Selector


class EmptyDisk(Damage):
    """Of a minority, because what all have forgotten nobody can know."""

    name: ClassVar[str] = "empty-disk"
    verb: ClassVar[str] = "with an emptied disk"
    help: ClassVar[str] = "kill {} (SIGKILL) and remove all data of each; start each again when the fault ends"
    selectors: ClassVar[tuple[Selector, ...]] = (Selector.MINOR, *LED, Selector.FIXED)

    def damage(self, node: Node) -> str:
        """Remove everything."""
        self.script(node, EMPTY)
        return "its disk emptied"
