"""Take nodes out of their cluster for a while: they are members no more, and their data is gone.

At the fault's end each comes back as a new member with nothing. Proven by what the members that are left say of who is
one; undone once all say the same members again, each of those that were removed under another number than before and as
far as the others.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

import msgspec

from chaos.core import waiting
from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour, Hits
from cluster.admin import CHANGE_MEMBERS, ChangesMembers
from cluster.cluster import Node
from cluster.host import Capability
from cluster.nodes import process
from nemesis.faults.admin.admin_fault import AdminFault, evidence_of
from nemesis.faults.bring_back import Restarts
from nemesis.faults.disks.damage import COPY_TIMEOUT_S, EMPTY
from nemesis.faults.fault import Fact, Scene, on_each
from nemesis.faults.processes.process_fault import ACTION_TIMEOUT_S
from nemesis.targets.selectors import LED, Selector

_POLL_S: Final = 0.2
_COUNT: Final = 'cd "$1" && shift && find "$@" -type f 2> /dev/null | wc -l'

Members = Mapping[str, str]
"""Node → its number in the cluster."""


class RemoveNode(AdminFault):
    """Fewer than half of the members, one after the other, as their cluster demands."""

    name: ClassVar[str] = "remove-node"
    action: ClassVar[str] = CHANGE_MEMBERS
    verb: ClassVar[str] = "removed from the cluster"
    help: ClassVar[str] = (
        "remove {} from the cluster, with all data; add each again as an empty node when the fault ends"
    )
    hits: ClassVar[Hits] = "nodes"
    silences: ClassVar[bool] = True
    restarts: ClassVar[bool] = True
    colour: ClassVar[Colour] = "red"
    selectors: ClassVar[tuple[Selector, ...]] = (Selector.MINOR, *LED, Selector.FIXED)
    needs: ClassVar[frozenset[Capability]] = AdminFault.needs | {Capability.SIGNALS, Capability.RESTART}

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._nodes: dict[str, Node] = {name: scene.cluster.nodes[name] for name in self.names}
        roles = {node.info.role for node in self._nodes.values()}
        self._others = [
            name for name, node in scene.cluster.nodes.items() if node.info.role in roles and name not in self._nodes
        ]
        self._before: Members = {}
        self._removed: dict[str, str] = {}
        self._position = 0
        self._failed: dict[str, str] = {}
        self._serve_within_s = scene.serve_within_s
        self._restarts = Restarts(scene.cluster.run_id, scene.serve_within_s)

    def _admin(self) -> ChangesMembers:
        """Who does it. Raises ChaosError: the system does not offer it."""
        admin = self.cluster.admin
        if not isinstance(admin, ChangesMembers):
            raise self.not_offered()
        return admin

    def act(self) -> None:
        """Remove each target, end its process, and empty its disk; none where one could not be added again."""
        if unknown := [name for name, node in self._nodes.items() if not node.launch.data]:
            raise ChaosError(f"{' '.join(unknown)}: nobody says where the data is, so nothing was removed")
        self._before = self._agreed(self._others)
        for node in self._nodes.values():
            self._remove(node)

    def _remove(self, node: Node) -> None:
        if node.name not in self._before:
            raise ChaosError(f"{node.name} was no member, so it was not removed")
        self._change(node.name, self._admin().remove_member, listed=False)
        self._removed[node.name] = self._before[node.name]
        process.kill(node)
        self._script(node, EMPTY, "")
        left = self._script(node, _COUNT)
        if left != "0":
            raise ChaosError(f"{node.name}: {left} files of its data are left")

    def _script(self, node: Node, script: str, *arguments: str) -> str:
        """Run a script on the node's data."""
        argv = ("sh", "-c", script, "sh", node.host.home, *arguments, *node.launch.data)
        return node.host.run(*argv, timeout_s=COPY_TIMEOUT_S).check(f"{node.name}: its data").text

    def verify(self) -> Evidence:
        """No member that is left has a target in its list, and each target's process is gone, its data too."""
        return self._look(self._gone)

    def verify_still(self) -> Evidence:
        """Look at the same."""
        return self.verify()

    def _gone(self, name: str) -> Fact:
        if name not in self._removed:
            return False, "was not removed"
        said = self._said(self._others)
        listing = [other for other, members in said.items() if name in members]
        if listing or not said:
            return False, f"is still a member, says {' '.join(listing)}" if said else "is known to nobody who answers"
        if not process.state(self._nodes[name]).gone:
            return False, "still has a process"
        left = self._script(self._nodes[name], _COUNT)
        return left == "0", f"(member {self._removed[name]}) is no member any more, {left} files of its data are left"

    def heal(self) -> None:
        """Add each target again, one after the other, and start it with nothing."""
        self._position = max(self._position, self._newest())
        for name in self._nodes:
            self.bring_in(name)
        wait_s = self._serve_within_s + ACTION_TIMEOUT_S
        on_each(self._nodes, lambda name: self._restarts.bring_back(self._nodes[name]), "restart", wait_s).check(
            "restart"
        )

    def bring_in(self, name: str) -> None:
        """Have a node that was removed be a member again, and start it; the cluster may refuse for some seconds."""
        admin, node = self._admin(), self._nodes[name]
        if name in self._removed:
            self._change(name, admin.add_member, listed=True)
            launch = admin.joining(name, node.launch, self._agreed(self._others))
            self._nodes[name] = msgspec.structs.replace(node, launch=launch)
        self._restarts.run_again(self._nodes[name])

    def _change(self, name: str, change: Callable[[str], None], *, listed: bool) -> None:
        """Have a node be listed or not by all who answer. What is refused, or not answered in time, is asked again.

        Raises:
            ChaosError: it was refused for too long.
        """
        deadline = Deadline(f"the members to change by {name}", self._serve_within_s)
        while {name in members for members in self._said(self._others).values()} != {listed}:
            try:
                change(name)
            except ChaosError as error:
                deadline.check(str(error))
                waiting.sleep(_POLL_S)
            else:
                return

    def verify_healed(self) -> Evidence:
        """All say the same members, as many as before; each that was removed has another number and has caught up."""
        self._failed = {}
        deadline = Deadline("the cluster to be whole", self._serve_within_s)
        found = self._look(lambda name: self._awaited(name, deadline))
        return msgspec.structs.replace(found, details={"failed": self._failed}) if self._failed else found

    def _awaited(self, name: str, deadline: Deadline) -> Fact:
        while True:
            good, said = self._back(name)
            if good or deadline.expired():
                break
            waiting.sleep(_POLL_S)
        if not good:
            self._failed[name] = self._restarts.why_not(name, alive=process.state(self._nodes[name]).alive)
        return good, said

    def _back(self, name: str) -> Fact:
        said = self._said([*self._others, name])
        if name not in said:
            return False, "does not answer"
        if any(members != said[name] for members in said.values()):
            return False, f"knows the members {_words(said[name])}, and others know others"
        if len(said[name]) < len(self._before) or name not in said[name]:
            return False, f"is back, of {len(self._before)} members are {len(said[name])} there: {_words(said[name])}"
        if name in self._removed and said[name][name] == self._removed[name]:
            return False, f"is still member {self._removed[name]}"
        position = self._admin().position(name)
        number = f"member {said[name][name]}" + (f" instead of {self._removed[name]}" if name in self._removed else "")
        return position >= self._position, f"is {number}, has {position} of {self._position} entries or more"

    def _look(self, fact: Callable[[str], Fact]) -> Evidence:
        wait_s = self._serve_within_s + ACTION_TIMEOUT_S
        return evidence_of(on_each(self._nodes, fact, "a look at the members", wait_s).facts(lambda _, one: one))

    def _said(self, nodes: list[str]) -> dict[str, Members]:
        """What each node that answers says of the members."""
        return on_each(nodes, self._admin().members, "the members", ACTION_TIMEOUT_S).good()

    def _agreed(self, nodes: list[str]) -> Members:
        """The members, as all who answer say.

        Raises:
            ChaosError: nobody answers, or they do not agree.
        """
        said = list(self._said(nodes).values())
        if not said or any(members != said[0] for members in said):
            raise ChaosError(f"{' '.join(nodes)} do not agree on who the members are")
        return said[0]

    def _newest(self) -> int:
        """How far the others have got."""
        return max(
            on_each(self._others, self._admin().position, "a position", ACTION_TIMEOUT_S).good().values(), default=0
        )


def _words(members: Members) -> str:
    return ", ".join(f"{name} {number}" for name, number in members.items())
