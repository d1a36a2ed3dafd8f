"""Have nodes defragment their database: each writes it anew into another file and serves nobody until that is done.

Proven by the node's host: the database is another file than before (its inode), in the same process. The new file is as
good as the old one, so nothing is undone; it is seen that every target answers.
"""

from collections.abc import Callable
from typing import ClassVar, Final

import msgspec

from chaos.core.events import Evidence
from cluster.admin import DEFRAGMENT, Defragments
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.admin.admin_fault import AdminFault, evidence_of
from nemesis.faults.fault import Fact, Scene, on_each

_STAT_S: Final = 10.0
_ACT_S: Final = 60.0


class File(msgspec.Struct, frozen=True):
    """A file as its host has it."""

    inode: int
    size: int


class Defragment(AdminFault):
    """All targets at once."""

    name: ClassVar[str] = "defragment"
    action: ClassVar[str] = DEFRAGMENT
    verb: ClassVar[str] = "defragmented"
    help: ClassVar[str] = "defragment the database of {}; it cannot be undone"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._nodes = {name: scene.cluster.nodes[name] for name in self.names}
        self._files: dict[str, File] = {}
        self._processes: dict[str, ProcState] = {}

    def _admin(self) -> Defragments:
        """Who does it. Raises ChaosError: the system does not offer it."""
        admin = self.cluster.admin
        if not isinstance(admin, Defragments):
            raise self.not_offered()
        return admin

    def act(self) -> None:
        """Look at the files, and defragment."""
        admin = self._admin()

        def remember(name: str) -> None:
            self._processes[name] = process.state(self._nodes[name])
            self._files[name] = self._file(name)

        on_each(self.names, remember, "a look at the database", _STAT_S).check("looking at the database")
        on_each(self.names, admin.defragment, "defragmenting", _ACT_S).check("defragmenting")

    def verify(self) -> Evidence:
        """Each database is another file, and its process the one that it was."""
        return self._look(self._written_anew)

    def verify_still(self) -> Evidence:
        """Look at the same."""
        return self.verify()

    def _written_anew(self, name: str) -> Fact:
        if name not in self._files:
            return False, "was not looked at before"
        before, now = self._files[name], self._file(name)
        if now.inode == before.inode:
            return False, f"has its database in the same file as before (inode {now.inode})"
        if not self._same_process(name):
            return False, "is another process than before"
        return True, f"wrote its database anew: inode {before.inode} became {now.inode}, {before.size} bytes {now.size}"

    def heal(self) -> None:
        """Nothing: the new file is as good as the old one."""

    def verify_healed(self) -> Evidence:
        """Each target answers."""

        def fact(name: str) -> Fact:
            answers = self._admin().answers(name)
            return answers, "answers" if answers else "does not answer"

        return self._look(fact)

    def _look(self, fact: Callable[[str], Fact]) -> Evidence:
        return evidence_of(on_each(self.names, fact, "a look at the database", _STAT_S).facts(lambda _, one: one))

    def _same_process(self, name: str) -> bool:
        before, now = self._processes[name], process.state(self._nodes[name])
        return now.alive and (now.pid, now.start_time) == (before.pid, before.start_time)

    def _file(self, name: str) -> File:
        """The node's database on its host. Raises ChaosError: it is not there."""
        node = self._nodes[name]
        path = f"{node.host.home}/{self._admin().database}"
        said = node.host.run("stat", "-c", "%i %s", path, timeout_s=_STAT_S).check(f"{name}: its database").text
        inode, size = map(int, said.split())
        return File(inode, size)
