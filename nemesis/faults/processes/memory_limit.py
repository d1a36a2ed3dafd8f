"""Let processes map no more memory: what asks the kernel for more is refused (ENOMEM)."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from cluster.host import Host
from nemesis.faults.processes.limits import LimitFault
from nemesis.faults.processes.process_fault import ACTION_TIMEOUT_S

_MIB: Final = 1 << 20
_KIB: Final = 1 << 10


class MemoryLimitParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much more."""

    spare_mib: Annotated[
        int,
        Meta(ge=0, le=100_000, description="so much more may be mapped than at its beginning", extra={"unit": "MiB"}),
    ] = 16


class MemoryLimit(LimitFault):
    """The address space of the process; what is mapped stays, and new threads need a stack."""

    name: ClassVar[str] = "memory-limit"
    verb: ClassVar[str] = "out of memory"
    help: ClassVar[str] = "allow {} no more memory, which new threads need too"
    Params: ClassVar[type[msgspec.Struct]] = MemoryLimitParams
    kind: ClassVar[str] = "RLIMIT_AS"

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """How much more."""
        return f"{' '.join(names)}, {params.spare_mib} MiB more of memory"

    def used(self, host: Host, pid: int) -> int:
        """What is mapped, bytes."""
        done = host.run("sh", "-c", 'grep VmSize: "/proc/$1/status"', "sh", str(pid), timeout_s=ACTION_TIMEOUT_S)
        return int(done.check(f"{host.name}: mapped memory").text.split()[1]) * _KIB

    def spare(self) -> int:
        """See the parameter, bytes."""
        return int(self.params.spare_mib) * _MIB

    def amount(self, value: int) -> str:
        """In MiB, or no limit."""
        return "no limit" if value < 0 else f"{value / _MIB:.0f} MiB"
