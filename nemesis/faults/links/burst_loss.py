"""Lose packets on links in bursts: Gilbert's model of a line that is good or bad, and stays so for a while."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from cluster.network.probe_matrix import MAX_PROBES, Stream, binomial_bounds
from nemesis.faults.links.streams import PAUSE_S, SIZE_BYTES, StreamFault
from nemesis.targets.selectors import Selector

_INDEPENDENT: Final = 2
_BELOW: Final = 3


class BurstLossParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much is lost, and how much of it in a row."""

    probability: Annotated[
        float, Meta(ge=0, le=0.6, description="share of the packets that each direction loses; 0 does nothing")
    ] = 0.3
    length: Annotated[float, Meta(ge=6, le=20, description="so many packets are lost in a row on average")] = 10.0


class BurstLoss(StreamFault):
    """Each direction of each link is good or bad by itself; while it is bad every packet is lost."""

    name: ClassVar[str] = "burst-loss"
    verb: ClassVar[str] = "hit"
    help: ClassVar[str] = "drop packets in bursts on every link of {}, each way"
    Params: ClassVar[type[msgspec.Struct]] = BurstLossParams

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """The share and the length."""
        return f"{' '.join(names)}, {params.probability * 100:.4g} % loss in bursts of {params.length:g} each way"

    def orders(self) -> Mapping[str, Any]:
        """See ``PacketFault``."""
        return {"do": "burst", "share": self.params.probability, "length": self.params.length}

    def size(self) -> tuple[int, int, float]:
        """As many probes as there may be: bursts are few."""
        return MAX_PROBES, SIZE_BYTES, PAUSE_S

    def shown(self, stream: Stream) -> bool:
        """What came, came once and in order."""
        return stream.arrived == stream.distinct and not stream.late and not stream.altered

    def all_show(self, streams: list[Stream]) -> bool:
        """As much is lost as chance allows, in rows far longer than packets that are lost one by one make.

        A burst counts as one draw of a binomial, with as much room again: lengths vary too.
        """
        lost, gaps = self._lost(streams)
        draws = max(1, math.floor(MAX_PROBES * len(streams) / (_INDEPENDENT * self.params.length)))
        least, most = binomial_bounds(draws, self.params.probability)
        share = lost / MAX_PROBES / max(1, len(streams))
        return gaps > 0 and least <= share * draws <= most and lost / gaps >= self.params.length / _BELOW

    def figure(self, streams: list[Stream]) -> str:
        """The share that was lost, and how many in a row."""
        lost, gaps = self._lost(streams)
        return f"{lost / MAX_PROBES / len(streams):.1%} were lost, {lost / max(1, gaps):.1f} in a row"

    def _lost(self, streams: list[Stream]) -> tuple[int, int]:
        return sum(MAX_PROBES - one.distinct for one in streams), sum(one.gaps for one in streams)
