"""Drop the first packet of each new TCP connection on links; connections that are there go on."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from cluster.network.connection_matrix import Tried
from cluster.network.packet_filter import Rule
from nemesis.faults.connections.connection_fault import ConnectionFault
from nemesis.targets.selectors import Selector

_SYN: Final = "-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN"


class SynDrop(ConnectionFault):
    """Nobody gets a new connection."""

    name: ClassVar[str] = "syn-drop"
    verb: ClassVar[str] = "kept from new connections"
    help: ClassVar[str] = "drop the packets that open new TCP connections on the links of {}; open connections go on"
    trips: ClassVar[str] = "never began"
    like_its: ClassVar[Rule | None] = Rule("", match=_SYN)
    modules: ClassVar[str] = "xt_tcpudp"

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Whose connections."""
        return f"{' '.join(names)}, no new connections"

    def rule(self, address: str) -> Rule:
        """Packets that open a connection."""
        return Rule(address, match=_SYN)

    def failed(self, tried: Tried) -> bool:
        """It never began."""
        return tried.began == "timeout"
