"""Exchange the disks of nodes while they are down, as somebody does who plugs volumes in the wrong way round.

Each target gets all that the next one had; the last gets what the first had. A node that does not start on the disk of
another has noticed, and gets its own back. Proven by what all files hold.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from chaos.core.errors import DeployError
from cluster.cluster import Node
from cluster.nodes.process_state import ProcState
from cluster.simulation.commands import Answers
from nemesis.faults.disks import simulated_disks
from nemesis.faults.disks.damage import COPY_TIMEOUT_S, EMPTY, KEEP, Damage
from nemesis.faults.fault import Fact
from nemesis.targets.selectors import Selector

# $1 home, $2 the folder of a copy, which is made into one file beside it; then the same file of another is unpacked.
_PACK: Final = 'mkdir -p "$1/$2" && tar -C "$1/$2" --sparse -cf "$1/$2.tar" .'
_UNPACK: Final = EMPTY.replace("shift 2", "kept=$2 && shift 2") + 'tar -xf "$kept.tar" && rm -f "$kept.tar"'


class SwapDisks(Damage):
    """Of two nodes at least."""

    name: ClassVar[str] = "swap-disks"
    verb: ClassVar[str] = "with the disk of another"
    help: ClassVar[str] = "kill {} (SIGKILL) and exchange their disks; start each again when the fault ends"
    selectors: ClassVar[tuple[Selector, ...]] = (Selector.MAJOR, Selector.ALL, Selector.FIXED)

    @classmethod
    def simulated(cls) -> Answers:
        """See ``Fault.simulated``."""
        return {**super().simulated(), _PACK: simulated_disks.pack, _UNPACK: simulated_disks.unpack}

    def act(self) -> None:
        """End all targets at once, keep a copy of what they have, and give each that of the next."""
        first = next(iter(self.nodes.values()))
        if len(self.nodes) == 1 or any(node.launch.data != first.launch.data for node in self.nodes.values()):
            raise DeployError(f"{' '.join(self.nodes)}: disks of two nodes of one kind at least can be exchanged")
        self.look_and_act(self.remember, lambda node, _: self._act_on(node), "ending the process")
        self.on_all(self._keep, "copying disks", COPY_TIMEOUT_S)
        with tempfile.TemporaryDirectory(prefix="chaos-disks-") as folder:
            self.on_all(
                lambda node: node.host.get(self._archive(node), Path(folder, node.name)),
                "fetching disks",
                COPY_TIMEOUT_S,
            )
            self.on_all(lambda node: self._put(node, Path(folder)), "bringing disks", COPY_TIMEOUT_S)

    def _keep(self, node: Node) -> None:
        self.script(node, KEEP)
        self._were[node.name] = self.digests(node)
        self.script(node, _PACK)

    def _put(self, node: Node, folder: Path) -> None:
        node.host.put(folder / self._next(node.name), self._archive(node))
        self._said[node.name] = self.damage(node)

    def damage(self, node: Node) -> str:
        """Unpack what the next one had in the place of what there is."""
        self.script(node, _UNPACK)
        return f"it has the disk of {self._next(node.name)}"

    def _damaged(self, name: str, now: ProcState, word: str) -> Fact:
        good, said = super()._damaged(name, now, word)
        if not good:
            return good, said
        theirs = self._next(name)
        same = self._below_home(name, self.digests(self.nodes[name])) == self._below_home(theirs, self._were[theirs])
        return same, said if same else f"{said}, and not as those of {theirs} were"

    def _below_home(self, name: str, digests: Mapping[str, str]) -> dict[str, str]:
        home = self.nodes[name].host.home
        return {path.removeprefix(home): digest for path, digest in digests.items()}

    def _next(self, name: str) -> str:
        names = list(self.nodes)
        return names[(names.index(name) + 1) % len(names)]

    def _archive(self, node: Node) -> str:
        return f"{node.host.home}/{self._copy}.tar"

    def _remove_copy(self, node: Node) -> None:
        super()._remove_copy(node)
        node.host.run("rm", "-f", self._archive(node), timeout_s=COPY_TIMEOUT_S)
