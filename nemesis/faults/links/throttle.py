"""Let no more than so many bits a second pass on each link; what would have to wait too long is lost."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.fault_nature import Colour
from cluster.network.probe_matrix import Stream
from nemesis.faults.links.streams import StreamFault
from nemesis.targets.selectors import Selector

_PROBE_BYTES: Final = 1_400
_HEADERS_BYTES: Final = 28
_BYTES_PER_KBIT: Final = 125
_LEAST_PROBES: Final = 15
_MOST_PROBES: Final = 200
_SLACK: Final = 1.1


class ThrottleParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much."""

    kbit: Annotated[
        float, Meta(ge=200, le=4_000, description="so much passes from each sender, each way", extra={"unit": "kbit/s"})
    ] = 1_000.0
    buffer_ms: Annotated[
        float,
        Meta(ge=1_000, le=10_000, description="a packet that would wait longer is lost", extra={"unit": "ms"}),
    ] = 1_000.0


class Throttle(StreamFault):
    """A slow line with a buffer from each sender to each receiver."""

    name: ClassVar[str] = "throttle"
    verb: ClassVar[str] = "slowed down"
    help: ClassVar[str] = "limit the bandwidth of every link of {}, each way"
    Params: ClassVar[type[msgspec.Struct]] = ThrottleParams
    colour: ClassVar[Colour] = "blue"

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """The rate."""
        return f"{' '.join(names)}, {params.kbit:g} kbit/s each way"

    def orders(self) -> Mapping[str, Any]:
        """See ``PacketFault``."""
        return {"do": "rate", "kbit": self.params.kbit, "buffer_ms": self.params.buffer_ms}

    def size(self) -> tuple[int, int, float]:
        """What fills the line for three quarters of a second, sent as fast as it can be."""
        count = round(self.params.kbit * _BYTES_PER_KBIT * 0.75 / (_PROBE_BYTES + _HEADERS_BYTES))
        return max(_LEAST_PROBES, min(_MOST_PROBES, count)), _PROBE_BYTES, 0.0

    def shown(self, stream: Stream) -> bool:
        """No more came than the line lets through, and something did."""
        return stream.arrived > 1 and self._kbit(stream) <= self.params.kbit * _SLACK

    def figure(self, streams: list[Stream]) -> str:
        """The rate of the quickest."""
        return f"at most {max(map(self._kbit, streams)):,.0f} kbit/s passed"

    def _kbit(self, stream: Stream) -> float:
        """How much came, from the first probe to the last."""
        size = (stream.arrived - 1) * (_PROBE_BYTES + _HEADERS_BYTES)
        return size / _BYTES_PER_KBIT / max(stream.took_s, 1e-6)
