"""Have a share of the packets on links come twice."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from cluster.network.probe_matrix import Stream, binomial_bounds
from nemesis.faults.links.streams import StreamFault
from nemesis.targets.selectors import Selector


class DuplicateParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many."""

    probability: Annotated[
        float, Meta(ge=0, le=1, description="share of the packets that come twice; 0 does nothing")
    ] = 0.2


class Duplicate(StreamFault):
    """Each packet on the links comes once more, by itself, with the same probability."""

    name: ClassVar[str] = "duplicate"
    verb: ClassVar[str] = "sent packets twice"
    help: ClassVar[str] = "deliver a share of the packets on every link of {} twice, each way"
    Params: ClassVar[type[msgspec.Struct]] = DuplicateParams

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """The share."""
        return f"{' '.join(names)}, {params.probability * 100:.4g} % come twice each way"

    def orders(self) -> Mapping[str, Any]:
        """See ``PacketFault``."""
        return {"do": "duplicate", "share": self.params.probability}

    def shown(self, stream: Stream) -> bool:
        """All came, and of copies as many as chance allows."""
        sent = self.size()[0]
        least, most = binomial_bounds(sent, self.params.probability)
        return stream.distinct == sent and least <= stream.arrived - sent <= most and not stream.altered

    def figure(self, streams: list[Stream]) -> str:
        """The share that came twice."""
        copies = sum(one.arrived - one.distinct for one in streams)
        return f"{copies / len(streams) / self.size()[0]:.1%} came twice"
