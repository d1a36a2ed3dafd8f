"""Let system calls of nodes wait before they are done: every k-th, or a share of them.

What waits at the fault's end goes on at once. A process that waits can be killed and cannot be stopped.
"""

from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from nemesis.faults.syscalls.calls import Calls
from nemesis.faults.syscalls.syscall_fault import Returned, SyscallFault, describe_calls

_SHORT_MS: Final = 50
"""Calls that wait no longer are made one after the other."""

_PROBES: Final = 10


class SyscallDelayParams(Calls, frozen=True, forbid_unknown_fields=True):
    """Which calls, and how long they wait."""

    delay_ms: Annotated[float, Meta(ge=5, le=3_600_000, description="how long each waits", extra={"unit": "ms"})] = (
        100.0
    )


class SyscallDelay(SyscallFault):
    """Each call is drawn by itself."""

    name: ClassVar[str] = "syscall-delay"
    verb: ClassVar[str] = "with slow system calls"
    help: ClassVar[str] = "delay system calls of {}"
    Params: ClassVar[type[msgspec.Struct]] = SyscallDelayParams

    @classmethod
    def said(cls, params: Any) -> str:
        """How long."""
        return f"{describe_calls(params)} waits {params.delay_ms:g} ms"

    def action(self) -> tuple[int, int]:
        """The wait."""
        return 0, round(self.params.delay_ms * 1e3)

    def probes(self) -> tuple[int, int]:
        """One after the other if that is quick, else all at a time."""
        return (1, _PROBES) if self.params.delay_ms <= _SHORT_MS else (_PROBES, 1)

    def is_hit(self, seen: Returned, patience_ms: float) -> bool:
        """It took as long, or longer than anybody looked."""
        return bool(seen.ms >= min(self.params.delay_ms, patience_ms))

    def effect(self, patience_ms: float) -> str:
        """How long."""
        return f"take {min(self.params.delay_ms, patience_ms):g} ms or longer"
