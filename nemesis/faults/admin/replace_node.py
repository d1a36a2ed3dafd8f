"""Replace nodes by empty ones: each is removed, its data emptied, and added again at once as a new member.

While the fault lasts the new one gets from the others what it lacks. At the fault's end it must serve.
"""

from typing import ClassVar

from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from cluster.nodes import process
from nemesis.faults.admin.remove_node import RemoveNode
from nemesis.faults.fault import Fact


class ReplaceNode(RemoveNode):
    """Fewer than half of the members, one after the other."""

    name: ClassVar[str] = "replace-node"
    verb: ClassVar[str] = "replaced by an empty node"
    help: ClassVar[str] = "replace {}: remove each node and all of its data, and add an empty one in its place at once"
    silences: ClassVar[bool] = False
    colour: ClassVar[Colour] = "brown"
    least_s: ClassVar[float] = 5.0

    def act(self) -> None:
        """Remove each target, and have an empty node take its place."""
        super().act()
        for name in self._nodes:
            self.bring_in(name)

    def verify(self) -> Evidence:
        """The others list each target under another number, and its process is another one."""
        return self._look(self._replaced)

    def _replaced(self, name: str) -> Fact:
        if name not in self._removed:
            return False, "was not removed"
        numbers = {members.get(name) for members in self._said(self._others).values()}
        if len(numbers) != 1 or numbers & {None, self._removed[name]}:
            return False, f"was member {self._removed[name]} and is now {' or '.join(map(str, numbers)) or 'unknown'}"
        alive = process.state(self._nodes[name]).alive
        number = f"is member {numbers.pop()} instead of {self._removed[name]}"
        return alive, f"{number}, its process {'lives' if alive else 'is dead'}"
