"""Alter one bit of a share of the packets on links.

A packet whose checksum is wrong is dropped by the kernel that receives it, and TCP sends it again. With
``checksum=right`` it is made right and the wrong bytes reach the process. Probes carry no checksum, so altered ones are
counted.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from cluster.network.probe_matrix import Stream, binomial_bounds
from nemesis.faults.links.streams import StreamFault
from nemesis.targets.selectors import Selector


class CorruptParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many, and how bad."""

    probability: Annotated[
        float, Meta(ge=0, le=1, description="share of the packets that are altered; 0 does nothing")
    ] = 0.1
    checksum: Annotated[
        Literal["wrong", "right"],
        Meta(description="of what was altered; right: made right, so that the wrong byte reaches the process"),
    ] = "wrong"


class Corrupt(StreamFault):
    """Each packet on the links is altered, by itself, with the same probability."""

    name: ClassVar[str] = "corrupt"
    verb: ClassVar[str] = "sent altered packets"
    help: ClassVar[str] = "flip a bit in a share of the packets on every link of {}, each way"
    Params: ClassVar[type[msgspec.Struct]] = CorruptParams
    survived: ClassVar[frozenset[Selector] | None] = frozenset()

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """The share."""
        how = ", checksums mended" if params.checksum == "right" else ""
        return f"{' '.join(names)}, {params.probability * 100:.4g} % altered each way{how}"

    def orders(self) -> Mapping[str, Any]:
        """See ``PacketFault``."""
        return {"do": "corrupt", "share": self.params.probability, "mend": int(self.params.checksum == "right")}

    def shown(self, stream: Stream) -> bool:
        """All came, as many altered as chance allows."""
        sent = self.size()[0]
        least, most = binomial_bounds(sent, self.params.probability)
        return least <= stream.altered <= most and stream.arrived + stream.altered == sent

    def figure(self, streams: list[Stream]) -> str:
        """The share that was altered."""
        return f"{sum(one.altered for one in streams) / len(streams) / self.size()[0]:.1%} were altered"
