"""Change a setting by a rolling restart: nodes differ in it while it goes round, and all have it once it is through."""

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from cluster.admin import CHANGE_SETTING, TellsSettings
from cluster.cluster import Relaunch
from nemesis.faults.admin.relaunch_fault import RelaunchFault
from nemesis.faults.processes.rolling_restart import Pause


class ChangeSettingParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which setting."""

    setting: Annotated[
        str,
        Meta(pattern=r"[A-Za-z][\w.-]*", description="the setting, named in full", extra={"example": "snapshot-count"}),
    ] = ""
    to: Annotated[str, Meta(pattern=r"[^\s,@]+", description="its other value", extra={"example": "1000"})] = ""
    pause_s: Pause = 0.5


class ChangeSetting(RelaunchFault):
    """Another value of one setting, node by node, and the usual one again at the end."""

    name: ClassVar[str] = "change-setting"
    action: ClassVar[str] = CHANGE_SETTING
    verb: ClassVar[str] = "restarted with another setting"
    help: ClassVar[str] = (
        "restart {} one after the other with another value of a setting; change back when the fault ends"
    )
    Params: ClassVar[type[msgspec.Struct]] = ChangeSettingParams

    @classmethod
    def relaunch(cls, params: Any) -> Relaunch:
        """The setting and its other value."""
        return Relaunch(setting=params.setting, value=params.to)

    @classmethod
    def wanted(cls, params: Any) -> str:
        """The setting with that value."""
        return f"{params.setting}={params.to}"

    def said(self, name: str) -> str:
        """The setting as a node goes by it."""
        admin = self.cluster.admin
        if not isinstance(admin, TellsSettings):
            raise self.not_offered()
        told = admin.settings_of(name)
        return f"{self.params.setting}={told.get(self.params.setting, 'unknown')}"
