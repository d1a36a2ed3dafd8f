"""Let system calls of nodes fail with an errno: every k-th, or a share of them; nothing of such a call is done."""

from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from nemesis.faults.syscalls.calls import Calls
from nemesis.faults.syscalls.errnos import Errno, number_of
from nemesis.faults.syscalls.syscall_fault import Returned, SyscallFault, describe_calls

_PROBES: Final = 100


class SyscallErrorParams(Calls, frozen=True, forbid_unknown_fields=True):
    """Which calls, and how they fail."""

    errno: Annotated[Errno, Meta(description="the error that they return, see errno(3)")] = "EIO"


class SyscallError(SyscallFault):
    """Each call is drawn by itself."""

    name: ClassVar[str] = "syscall-error"
    verb: ClassVar[str] = "with failing system calls"
    help: ClassVar[str] = "make system calls of {} fail with an error number (errno)"
    Params: ClassVar[type[msgspec.Struct]] = SyscallErrorParams

    @classmethod
    def said(cls, params: Any) -> str:
        """The errno as well."""
        return f"{describe_calls(params)} gives {params.errno}"

    def action(self) -> tuple[int, int]:
        """The errno."""
        return number_of(self.params.errno), 0

    def probes(self) -> tuple[int, int]:
        """Many calls, one after the other."""
        return 1, _PROBES

    def is_hit(self, seen: Returned, patience_ms: float) -> bool:  # noqa: ARG002 - none waits
        """It returned the errno, which calls with arguments that do nothing return no other way."""
        return bool(seen.errno == number_of(self.params.errno))

    def effect(self, patience_ms: float) -> str:  # noqa: ARG002 - none waits
        """With which errno."""
        return f"fail with {self.params.errno}"
