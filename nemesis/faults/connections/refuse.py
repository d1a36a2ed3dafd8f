"""Refuse new TCP connections on links, as a server does whose port is closed; connections that are there go on."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from cluster.network.connection_matrix import Tried
from cluster.network.packet_filter import Rule
from nemesis.faults.connections.connection_fault import ConnectionFault
from nemesis.targets.selectors import Selector

_SYN: Final = "-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN"


class Refuse(ConnectionFault):
    """The kernel that receives the first packet of a connection answers it by a reset."""

    name: ClassVar[str] = "refuse"
    verb: ClassVar[str] = "refused new connections"
    help: ClassVar[str] = "refuse each new TCP connection on the links of {}; open connections go on"
    done: ClassVar[str] = "reset"
    trips: ClassVar[str] = "were refused"
    like_its: ClassVar[Rule | None] = Rule("", match=_SYN, reset=True)

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Whose connections."""
        return f"{' '.join(names)}, new connections refused"

    def rule(self, address: str) -> Rule:
        """Packets that open a connection."""
        return Rule(address, match=_SYN, reset=True)

    def failed(self, tried: Tried) -> bool:
        """It was refused."""
        return tried.began == "refused"
