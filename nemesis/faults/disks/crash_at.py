"""Kill a node exactly at its k-th fsync or rename, before the disk does it, and by choice let power fail with it.

The process hears nothing of the operation any more: our file system (``mounts``) kills it before it answers, and
answers nobody else. What was asked for before is done, and nothing after.
"""

from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from chaos.core.clock import Deadline
from chaos.core.errors import DeadlineError
from chaos.core.events import Evidence
from cluster.cluster import Node
from cluster.disk_operations import FSYNC, RENAME
from cluster.nodes.process_state import ProcState
from nemesis.faults.disks.diskfs.mounts import disks_of
from nemesis.faults.disks.file_pattern import EVERY, FilePattern, of_files
from nemesis.faults.disks.power_failure import PowerFailure
from nemesis.faults.fault import Fact, Scene

WAIT_S: Final = 20.0
"""So long the fault waits for the k-th operation; a node that does not come to it was not hit."""

_POLL_S: Final = 0.02
_RULE: Final = 77


class CrashAtParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """At which one."""

    nth: Annotated[int, Meta(ge=1, le=1_000_000, description="at which one from the fault's beginning on")] = 1
    unsynced: Annotated[
        Literal["lost", "kept"], Meta(description="what becomes of what was not synced; lost as when power fails")
    ] = "lost"


class CrashAtFsyncParams(CrashAtParams, frozen=True, forbid_unknown_fields=True):
    """At which one of which files."""

    path: FilePattern = EVERY


class CrashAtFsync(PowerFailure):
    """Killed at the k-th fsync, which was not done."""

    name: ClassVar[str] = "crash-at-fsync"
    verb: ClassVar[str] = "killed at an fsync"
    help: ClassVar[str] = (
        "kill {} exactly at the k-th fsync and lose what was not synced; start each again when the fault ends"
    )
    Params: ClassVar[type[msgspec.Struct]] = CrashAtFsyncParams
    ops: ClassVar[int] = FSYNC
    word: ClassVar[str] = "fsync"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._seen: dict[str, int] = {}
        self._loses = self.params.unsynced == "lost"
        self._path: str = getattr(self.params, "path", EVERY)

    def act(self) -> None:
        """Let each disk wait for the k-th, and end what is left of a process that it killed."""
        self.on_all(lambda node: self._disks[node.name].write_canary(), "writing what must be lost")
        what = f"waiting for the {self.params.nth}th {self.word}"
        self.look_and_act(self.remember, lambda node, _: self._crash_at(node), what)

    def _crash_at(self, node: Node) -> None:
        disks = disks_of(node)
        for disk in disks:
            disk.ask("rule", _RULE, self.ops, 1, self.params.nth - 1, 1, "crash", 0, self._path)
        what = f"{node.name} to come to its {self.word} number {self.params.nth}{of_files(self._path)}"
        deadline = Deadline(what, WAIT_S)
        try:
            while not any(int(disk.ask("rules").get("crashed", "0")) for disk in disks):
                deadline.check()
                Deadline("a moment", _POLL_S).wait()
        except DeadlineError:
            self._disks[node.name].go_on()
            raise
        self._act_on(node)
        self._seen[node.name] = max(int(disk.ask("rules").get(f"matched.{_RULE}", "0")) for disk in disks)
        if self._loses:
            self._lost[node.name] = self._disks[node.name].lose_unsynced(0)
        self._disks[node.name].go_on()
        for disk in disks:
            disk.ask("unrule", _RULE)

    def verify(self) -> Evidence:
        """Each process is gone, at the k-th; and what was not synced with it, if it was to be."""
        return self.look(self._crashed)

    def _crashed(self, name: str, now: ProcState) -> Fact:
        good, said = self._gone(name, now, self._ended.get(name, "lives"))
        exact = self._seen.get(name, 0) >= self.params.nth
        phrase = f"{said}, killed at its {self.word} number {self.params.nth}{of_files(self._path)}"
        if not (good and exact and self._loses):
            return good and exact, phrase
        lost, seen = self._disks[name].canary_lost()
        return lost, f"{phrase}, {self._lost[name]}, {seen}"

    def heal(self) -> None:
        """Remove the rule, let the disk go on, and start every target that does not live."""

        def unrule(node: Node) -> None:
            for disk in disks_of(node):
                disk.ask("unrule", _RULE)

        self.on_all(unrule, "removing the rule")
        super().heal()


class CrashAtRename(CrashAtFsync):
    """Killed at the k-th rename, which was not done."""

    name: ClassVar[str] = "crash-at-rename"
    Params: ClassVar[type[msgspec.Struct]] = CrashAtParams
    verb: ClassVar[str] = "killed at a rename"
    help: ClassVar[str] = (
        "kill {} exactly at the k-th rename and lose what was not synced; start each again when the fault ends"
    )
    ops: ClassVar[int] = RENAME
    word: ClassVar[str] = "rename"
