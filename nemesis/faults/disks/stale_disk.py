"""Set the disks of nodes back to what they held some seconds ago, as a backup does that is put back.

The node is stopped for a copy, runs on for a time, and is killed; then the copy takes the place of what it has.
"""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from chaos.core.clock import Deadline
from cluster.cluster import Node
from nemesis.faults.disks.damage import COPY_TIMEOUT_S, KEEP, RESTORE, Damage


class StaleDiskParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How old."""

    age_s: Annotated[
        float, Meta(ge=0.5, le=60, description="how long the node runs on after the copy", extra={"unit": "s"})
    ] = 3.0


class StaleDisk(Damage):
    """What the node acknowledged between the copy and its end it has forgotten."""

    name: ClassVar[str] = "stale-disk"
    verb: ClassVar[str] = "set back to an old disk"
    help: ClassVar[str] = (
        "kill {} (SIGKILL) and set the disk of each back by some seconds; start each again when the fault ends"
    )
    Params: ClassVar[type[msgspec.Struct]] = StaleDiskParams

    def act(self) -> None:
        """Copy while the targets are down, let them run on, end them, and put the copies back."""
        timeout_s = self._wait_s + COPY_TIMEOUT_S
        self.look_and_act(self.remember, lambda node, _: self._copy_and_go_on(node), "copying the disk", timeout_s)
        Deadline("the disk to grow old", self.params.age_s).wait()
        super().act()

    def _copy_and_go_on(self, node: Node) -> None:
        self._act_on(node)
        self.script(node, KEEP, old=True)
        self._restarts.bring_back(node)
        self._restarts.ready_s.pop(node.name, None)

    def damage(self, node: Node) -> str:
        """Put the copy in the place of what there is."""
        self.script(node, RESTORE, old=True)
        return f"set back by {self.params.age_s:g} s"
