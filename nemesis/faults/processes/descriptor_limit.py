"""Let processes open no more files and connections: "too many open files"."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from cluster.host import Host
from nemesis.faults.processes.limits import LimitFault
from nemesis.faults.processes.process_fault import ACTION_TIMEOUT_S


class DescriptorLimitParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many more."""

    spare: Annotated[
        int, Meta(ge=0, le=1_000, description="so many more descriptors may be open than when the fault begins")
    ] = 0


class DescriptorLimit(LimitFault):
    """What is open stays open; new connections are taken by the kernel and by nobody else.

    Whoever already waits in accept(2) has a descriptor and takes one connection more.
    """

    name: ClassVar[str] = "descriptor-limit"
    verb: ClassVar[str] = "out of descriptors"
    help: ClassVar[str] = "allow {} no more open files and connections"
    Params: ClassVar[type[msgspec.Struct]] = DescriptorLimitParams
    kind: ClassVar[str] = "RLIMIT_NOFILE"

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """How many more."""
        return f"{' '.join(names)}, {params.spare} more descriptors"

    def used(self, host: Host, pid: int) -> int:
        """The lowest number that is free: the next descriptor takes it; those beyond stay open in any case."""
        done = host.run("ls", f"/proc/{pid}/fd", timeout_s=ACTION_TIMEOUT_S).check(f"{host.name}: open descriptors")
        taken = set(map(int, done.text.split()))
        return next(number for number in range(len(taken) + 1) if number not in taken)

    def spare(self) -> int:
        """See the parameter."""
        return int(self.params.spare)

    def amount(self, value: int) -> str:
        """The limit is that of the highest number."""
        return f"descriptors below {value}"
