"""Have nodes send a snapshot of all that they hold, as a backup does.

Proven by the file: it is there, and holds what its checksum says. It is removed at the fault's end.
"""

import secrets
from typing import ClassVar, Final

from chaos.core.events import Evidence
from cluster.admin import SNAPSHOT, TakesSnapshots
from nemesis.faults.admin.admin_fault import AdminFault, evidence_of
from nemesis.faults.fault import Fact, Scene, on_each

_ACT_S: Final = 60.0
_LOOK_S: Final = 20.0


class Snapshot(AdminFault):
    """One snapshot of each target, all at once, kept beside the clients."""

    name: ClassVar[str] = "snapshot"
    action: ClassVar[str] = SNAPSHOT
    verb: ClassVar[str] = "asked for a snapshot"
    help: ClassVar[str] = "have {} write a snapshot of all data; remove it when the fault ends"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        token = f"{secrets.randbits(40):010x}"
        self._host = scene.client
        self._files = {name: f"{scene.client.home}/.snapshot-{name}-{token}" for name in self.names}

    def _admin(self) -> TakesSnapshots:
        """Who does it. Raises ChaosError: the system does not offer it."""
        admin = self.cluster.admin
        if not isinstance(admin, TakesSnapshots):
            raise self.not_offered()
        return admin

    def act(self) -> None:
        """Take them."""
        take = lambda name: self._admin().save_snapshot(name, self._files[name])  # noqa: E731
        on_each(self.names, take, "a snapshot", _ACT_S).check("taking a snapshot")

    def verify(self) -> Evidence:
        """Each file is there and is what its checksum says."""

        def fact(name: str) -> Fact:
            size = self._admin().snapshot_bytes(self._files[name])
            return size is not None, f"sent {size} bytes that fit their checksum" if size else "sent nothing whole"

        return evidence_of(on_each(self.names, fact, "a look at the snapshot", _LOOK_S).facts(lambda _, one: one))

    def verify_still(self) -> Evidence:
        """Look at the same."""
        return self.verify()

    def heal(self) -> None:
        """Remove the files; fine if they are not there."""
        done = self._host.run("rm", "-f", *self._files.values(), timeout_s=_LOOK_S)
        done.check("removing snapshots")

    def verify_healed(self) -> Evidence:
        """No file is left."""

        def fact(name: str) -> Fact:
            there = self._host.run("test", "-e", self._files[name], timeout_s=_LOOK_S).returncode == 0
            return not there, f"left {self._files[name]}" if there else "left no file"

        return evidence_of(on_each(self.names, fact, "a look for the snapshot", _LOOK_S).facts(lambda _, one: one))
