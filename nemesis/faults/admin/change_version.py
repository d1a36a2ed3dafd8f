"""Upgrade or downgrade by a rolling restart: versions are mixed while it goes round, or for as long as the fault lasts.

Aimed at all nodes it is a rolling upgrade and at the fault's end the downgrade; aimed at some, a mixed cluster.
"""

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from cluster.admin import CHANGE_VERSION, TellsVersion
from cluster.cluster import Relaunch
from nemesis.faults.admin.relaunch_fault import RelaunchFault
from nemesis.faults.processes.rolling_restart import Pause


class ChangeVersionParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which version."""

    to: Annotated[
        str,
        Meta(
            pattern=r"\d+(\.\d+)+([-+][\w.-]+)?",
            description="another patch release of the system",
            extra={"example": "3.5.9"},
        ),
    ] = ""
    pause_s: Pause = 0.5


class ChangeVersion(RelaunchFault):
    """Another version, node by node, and the usual one again at the end."""

    name: ClassVar[str] = "change-version"
    action: ClassVar[str] = CHANGE_VERSION
    verb: ClassVar[str] = "restarted as another version"
    help: ClassVar[str] = "restart {} one after the other as another version; change back when the fault ends"
    Params: ClassVar[type[msgspec.Struct]] = ChangeVersionParams

    @classmethod
    def relaunch(cls, params: Any) -> Relaunch:
        """The version."""
        return Relaunch(version=params.to)

    @classmethod
    def wanted(cls, params: Any) -> str:
        """That version."""
        return f"version {params.to}"

    def said(self, name: str) -> str:
        """The version that a node says it is."""
        admin = self.cluster.admin
        if not isinstance(admin, TellsVersion):
            raise self.not_offered()
        return f"version {admin.version_of(name)}"
