"""Let system calls of nodes fail with an errno: every k-th, or a share of them; nothing of such a call is done."""

import errno as errnos
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from nemesis.faults.syscalls.calls import Calls
from nemesis.faults.syscalls.syscall_fault import Returned, SyscallFault, named

_PROBES: Final = 100


class SyscallErrorParams(Calls, frozen=True, forbid_unknown_fields=True):
    """Which calls, and how they fail."""

    errno: Annotated[
        int, Meta(ge=1, le=133, description="what they fail with: 5 EIO, 12 ENOMEM, 24 EMFILE, 28 ENOSPC, …")
    ] = errnos.EIO


class SyscallError(SyscallFault):
    """Each call is drawn by itself."""

    name: ClassVar[str] = "syscall-error"
    verb: ClassVar[str] = "with failing system calls"
    help: ClassVar[str] = "let system calls of {} fail with an errno"
    Params: ClassVar[type[msgspec.Struct]] = SyscallErrorParams

    @classmethod
    def said(cls, params: Any) -> str:
        """The errno's name as well."""
        return f"{named(params.every(), params.probability)} gives {_name(params.errno)}"

    def action(self) -> tuple[int, int]:
        """The errno."""
        return self.params.errno, 0

    def probes(self) -> tuple[int, int]:
        """Many calls, one after the other."""
        return 1, _PROBES

    def is_hit(self, seen: Returned, patience_ms: float) -> bool:  # noqa: ARG002 - none waits
        """It returned the errno, which calls with arguments that do nothing return no other way."""
        return bool(seen.errno == self.params.errno)

    def effect(self, patience_ms: float) -> str:  # noqa: ARG002 - none waits
        """With which errno."""
        return f"fail with {_name(self.params.errno)}"


def _name(number: int) -> str:
    return errnos.errorcode.get(number, f"errno {number}")
