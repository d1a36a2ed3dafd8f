"""Reset the TCP connections on links: those that live at their next packet, and new ones are refused."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from cluster.network.connection_matrix import Tried
from cluster.network.packet_filter import Rule
from nemesis.faults.connections.connection_fault import ConnectionFault
from nemesis.targets.selectors import Selector

TCP_BUT_RESETS: Final = "-p tcp -m tcp ! --tcp-flags RST RST"
"""The resets that the rules at both ends send must arrive."""


class Reset(ConnectionFault):
    """The kernel that receives a TCP packet answers it by a reset, and drops it."""

    name: ClassVar[str] = "reset"
    verb: ClassVar[str] = "reset"
    help: ClassVar[str] = "reset every TCP connection on the links of {} and refuse new ones"
    done: ClassVar[str] = "reset"
    trips: ClassVar[str] = "were refused"
    like_its: ClassVar[Rule | None] = Rule("", match=TCP_BUT_RESETS, reset=True)

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Whose connections."""
        return f"{' '.join(names)}, connections reset"

    def rule(self, address: str) -> Rule:
        """All of TCP."""
        return Rule(address, match=TCP_BUT_RESETS, reset=True)

    def failed(self, tried: Tried) -> bool:
        """It was refused."""
        return tried.began == "refused"
