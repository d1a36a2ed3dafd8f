"""Hold a share of the packets on links for a moment, so that those that were sent later pass them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from cluster.network.probe_matrix import Stream, binomial_bounds
from nemesis.faults.links.streams import StreamFault
from nemesis.targets.selectors import Selector


class ReorderParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many, and how long."""

    probability: Annotated[
        float, Meta(ge=0, le=0.9, description="share of the packets that are held; 0 does nothing")
    ] = 0.25
    delay_ms: Annotated[float, Meta(ge=20, le=1_000, description="how long they are held", extra={"unit": "ms"})] = 50.0


class Reorder(StreamFault):
    """Each packet on the links is held, by itself, with the same probability; the others go on at once."""

    name: ClassVar[str] = "reorder"
    verb: ClassVar[str] = "sent packets out of order"
    help: ClassVar[str] = (
        "hold back a share of the packets on every link of {}, so that later ones overtake them, each way"
    )
    Params: ClassVar[type[msgspec.Struct]] = ReorderParams

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """The share and the time."""
        return f"{' '.join(names)}, {params.probability * 100:.4g} % held for {params.delay_ms:g} ms each way"

    def orders(self) -> Mapping[str, Any]:
        """See ``PacketFault``."""
        return {"do": "reorder", "share": self.params.probability, "delay_ms": self.params.delay_ms}

    def shown(self, stream: Stream) -> bool:
        """All came; as many late as chance allows, less those at the end, which nothing passes.

        If all are held alike, none passes another, and nothing is shown.
        """
        sent = self.size()[0]
        p = self.params.probability
        least, most = binomial_bounds(sent // 2, p * (1 - p))[0], binomial_bounds(sent, p)[1]
        return stream.distinct == sent == stream.arrived and max(1, least) <= stream.late <= most

    def figure(self, streams: list[Stream]) -> str:
        """The share that came late."""
        return f"{sum(one.late for one in streams) / len(streams) / self.size()[0]:.1%} were passed by later ones"
