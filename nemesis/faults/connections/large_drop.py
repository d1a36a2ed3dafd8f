"""Drop large packets on links and let small ones pass, as a path does whose MTU nobody tells (an MTU black hole)."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from cluster.network.connection_matrix import Tried
from cluster.network.packet_filter import Rule
from nemesis.faults.connections.connection_fault import ConnectionFault
from nemesis.targets.selectors import Selector


class LargeDropParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is large."""

    bytes: Annotated[
        int,
        Meta(ge=200, le=1400, description="packets of this length or more are dropped, headers included"),
    ] = 1000


class LargeDrop(ConnectionFault):
    """Connections begin and heartbeats pass; what fills a packet never arrives."""

    name: ClassVar[str] = "large-drop"
    verb: ClassVar[str] = "kept from large packets"
    help: ClassVar[str] = "drop only large packets on the links of {} (an MTU black hole)"
    Params: ClassVar[type[msgspec.Struct]] = LargeDropParams
    trips: ClassVar[str] = "began and stood still at a large packet"
    like_its: ClassVar[Rule | None] = Rule("", match="-m length --length 1000:65535")
    modules: ClassVar[str] = "xt_length"

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """From which length on."""
        return f"{' '.join(names)}, packets from {params.bytes} bytes on dropped"

    def rule(self, address: str) -> Rule:
        """Packets of that length or more."""
        return Rule(address, match=f"-m length --length {self.params.bytes}:65535")

    def failed(self, tried: Tried) -> bool:
        """The small first piece came back, the next did not."""
        return (tried.began, tried.ended) == ("ok", "timeout") and tried.echoed > 0
