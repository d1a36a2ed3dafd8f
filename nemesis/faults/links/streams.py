"""What faults of packets share that are proven by streams of numbered datagrams, counted where they arrive.

A subclass says how many probes of which size it takes and what a stream over a link that is hit looks like. Streams
over all other links must arrive whole: each probe once, in order, unaltered.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import msgspec

from chaos.core.clock import now_ns
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from cluster.network import probe_matrix
from cluster.network.probe_matrix import Stream
from nemesis.faults.links.link_fault import LOOKS
from nemesis.faults.links.packets import PacketFault
from nemesis.faults.links.zero_probability import IdleAtZero
from nemesis.proof.evidence import beside_others, combine_evidence, first_few
from nemesis.targets.grudge import Link

STREAMS: Final = "streams"
PROBES: Final = 200
SIZE_BYTES: Final = 100
PAUSE_S: Final = 0.001

Streams = Mapping[Link, Stream]


class StreamFault(IdleAtZero, PacketFault):
    """Packets are lost, doubled, altered, reordered or slowed in a way that numbered datagrams show."""

    colour: ClassVar[Colour] = "green"
    least_s: ClassVar[float] = 5.0
    proof: ClassVar[str] = STREAMS

    @abstractmethod
    def shown(self, stream: Stream) -> bool:
        """Whether a stream of ``size()[0]`` probes went as it does over a link that this fault hits."""

    @abstractmethod
    def figure(self, streams: list[Stream]) -> str:
        """What the links that are hit did to the probes, for people: a phrase with a figure."""

    def all_show(self, streams: list[Stream]) -> bool:  # noqa: ARG002 - see subclasses
        """What only all links that are hit show together."""
        return True

    def size(self) -> tuple[int, int, float]:
        """How many probes a link takes, of how many bytes, and the pause between two in seconds."""
        return PROBES, SIZE_BYTES, PAUSE_S

    def verify(self) -> Evidence:
        """Send streams on every link; where other faults hit all of ours, the rules are looked at instead."""
        if self.idle:
            return self.nothing_done()
        if self.hit <= self._in_force.disturbed(self, now_ns()):
            return self.verify_still()
        return self._compared(self.hit)

    def verify_healed(self) -> Evidence:
        """No rule is left, and every stream arrives whole."""
        evidence = super().verify_healed()
        return combine_evidence(evidence, self._compared(frozenset())) if evidence.proven else evidence

    def _compared(self, hit: frozenset[Link]) -> Evidence:
        """Send until what is seen is as it should be, a few times at most."""
        count, size, pause_s = self.size()
        for look in range(1, LOOKS + 1):
            began_ns = now_ns()
            seen = probe_matrix.streams(self.everyone, count, size, pause_s)
            disturbed = self._in_force.disturbed(self, began_ns)
            ours = [seen[link] for link in sorted(hit - disturbed)]
            figure = self.figure(ours) if ours else ""
            evidence = judge(seen, count, hit, disturbed, self.shown, figure, alike=not hit or self.all_show(ours))
            evidence.details["looks"] = look
            if evidence.proven:
                break
        return beside_others(evidence, disturbed)


def is_whole(stream: Stream, sent: int) -> bool:
    """Whether every probe came, once, in order and unaltered."""
    return (stream.arrived, stream.distinct, stream.late, stream.altered) == (sent, sent, 0, 0)


def judge(
    seen: Streams,
    sent: int,
    hit: frozenset[Link],
    disturbed: frozenset[Link],
    shown: Callable[[Stream], bool],
    figure: str,
    *,
    alike: bool = True,
) -> Evidence:
    """Pure: what streams prove.

    Args:
        seen: what became of ``sent`` probes on each link.
        sent: how many there were.
        hit: the directions that the fault hits.
        disturbed: those that another fault hits, which tell nothing of this one.
        shown: whether a stream went as it does over a link that is hit.
        figure: what those links did, for people.
        alike: whether all of them together show what they must.
    """
    ours, others = sorted(hit - disturbed), sorted(seen.keys() - hit - disturbed)
    wrong = [link for link in ours if not shown(seen[link])]
    broken = [link for link in others if not is_whole(seen[link], sent)]
    parts = [f"{len(ours) - len(wrong)} of {len(ours)} links: {figure}"] if hit else []
    if others:
        parts.append(f"{len(others) - len(broken)} of {len(others)} {'others' if hit else 'links'} passed all in order")
    if bad := wrong + broken:
        parts.append(f"wrong: {first_few([f'{a}→{b} {describe_stream(seen[a, b], sent)}' for a, b in bad], '; ')}")
    details: dict[str, Any] = {
        "sent": sent,
        "hit": {f"{a}>{b}": msgspec.to_builtins(seen[a, b]) for a, b in ours},
        "wrong": [f"{a}>{b}" for a, b in bad],
    }
    proven = not bad and alike and bool(ours if hit else others)
    return Evidence(kind=STREAMS, proven=proven, summary=", ".join(parts), details=details)


def describe_stream(stream: Stream, sent: int) -> str:
    """What became of the probes of a link, for people."""
    doubled = stream.arrived - stream.distinct
    words = {"twice": doubled, "late": stream.late, "altered": stream.altered}
    more = "".join(f", {count} {word}" for word, count in words.items() if count)
    return f"{stream.distinct} of {sent}{more}, in {stream.took_s * 1e3:.0f} ms"
