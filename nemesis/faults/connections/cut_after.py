"""Reset each TCP connection on links once so many bytes have passed over it, whichever way."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.errors import CapabilityError
from cluster.cluster import Node
from cluster.network.connection_matrix import Tried
from cluster.network.packet_filter import Rule
from nemesis.arming import Arming
from nemesis.faults.connections.connection_fault import ConnectionFault
from nemesis.targets.selectors import Selector

_LEAST_BYTES: Final = 20_000


def _match(size: int) -> str:
    counted = f"-m connbytes --connbytes {size} --connbytes-mode bytes --connbytes-dir both"
    return f"-p tcp {counted} -m tcp ! --tcp-flags RST RST"


class CutAfterParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """After how much."""

    bytes: Annotated[
        int,
        Meta(ge=_LEAST_BYTES, le=1_000_000, description="so many bytes may pass over a connection, both ways together"),
    ] = 100_000


class ByteCounting:
    """Has the kernel count the bytes of connections from their beginning on.

    It begins to with the first rule that asks, for connections that are made from then on. A container's connections
    are tracked from the start, so those of a node would never be counted if that rule came with the fault.
    """

    def arm(self, node: Node) -> None:
        """See ``nemesis.arming.Arming``."""
        why = CutAfter.obstacle(node.host)
        if why:
            raise CapabilityError(f"{node.name}: {why}")

    def disarm(self, node: Node) -> None:
        """Nothing: that the kernel counts disturbs nobody, and ends with the network namespace."""


class CutAfter(ConnectionFault):
    """Connections begin, carry so much, and are reset."""

    name: ClassVar[str] = "cut-after"
    verb: ClassVar[str] = "cut off after some bytes"
    help: ClassVar[str] = "reset each TCP connection on the links of {} after so many bytes"
    Params: ClassVar[type[msgspec.Struct]] = CutAfterParams
    done: ClassVar[str] = "reset"
    trips: ClassVar[str] = "ended in their midst"
    arming: ClassVar[Arming | None] = ByteCounting()
    like_its: ClassVar[Rule | None] = Rule("", match=_match(_LEAST_BYTES), reset=True)
    modules: ClassVar[str] = "xt_connbytes nf_conntrack ipt_REJECT"

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """After how much."""
        return f"{' '.join(names)}, connections reset after {params.bytes:,} bytes"

    def rule(self, address: str) -> Rule:
        """What comes after so many bytes."""
        return Rule(address, match=_match(self.params.bytes), reset=True)

    def size(self) -> int:
        """Enough to be cut within: each byte passes twice."""
        return int(self.params.bytes)

    def failed(self, tried: Tried) -> bool:
        """It began, carried something, and ended; who only waits hears nothing of the reset that its peer got."""
        return tried.began == "ok" and tried.ended in ("reset", "timeout") and tried.echoed > 0
