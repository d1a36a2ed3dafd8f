"""Cut links and open them again, over and over, as a cable does that is loose, and show each time from outside.

Beacons on all hosts tell how often each link fell silent and for how long; before each opening the packet filters are
asked whether the cut still stood. Whatever phase the fault's end meets, the healing leaves the links open.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.events import Evidence
from nemesis.faults.cuts import beacons
from nemesis.faults.cuts.beacons import Heard
from nemesis.faults.cuts.changing_cut import BEACONS, FIRST_BEAT_S, ChangingCut
from nemesis.faults.fault import Scene, Shape, on_each
from nemesis.faults.links.link_fault import LOOKS
from nemesis.faults.programs import ACTION_TIMEOUT_S
from nemesis.proof.evidence import beside_others, first_few
from nemesis.targets.grudge import Link
from nemesis.targets.selectors import Selector

LEAST_PHASE_S: Final = 0.4
LEAST_CUTS: Final = 2
SEEN_SHARE: Final = 0.8
"""A link must show so many of the cuts: a busy machine may hide one. Another link may show as many as that leaves."""

_PROOF_S: Final = 20.0


class FlapParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rhythm."""

    period_s: Annotated[float, Meta(ge=1, le=60, description="from one cut to the next", extra={"unit": "s"})] = 2.0
    share: Annotated[float, Meta(ge=0, le=0.9, description="share of that time that is cut; 0 does nothing")] = 0.5

    def __post_init__(self) -> None:
        """Refuse phases too short to be seen."""
        if self.share and min(self.cut_s, self.open_s) < LEAST_PHASE_S:
            raise ValueError(
                f"cut for {self.cut_s:g} s and open for {self.open_s:g} s: give both at least {LEAST_PHASE_S:g} s,"
                " by a longer period_s or another share"
            )

    @property
    def cut_s(self) -> float:
        """How long each cut lasts."""
        return round(self.period_s * self.share, 6)

    @property
    def open_s(self) -> float:
        """How long links are open between two."""
        return round(self.period_s - self.cut_s, 6)


class Flap(ChangingCut):
    """The links of a partition, cut and opened in turn."""

    name: ClassVar[str] = "flap"
    verb: ClassVar[str] = "cut off again and again"
    help: ClassVar[str] = "cut {} off from the others, both ways, and open the links again, over and over"
    Params: ClassVar[type[msgspec.Struct]] = FlapParams
    shapes: ClassVar[tuple[Shape, ...]] = (
        Shape("all-flap", Selector.ALL, "cut all nodes off from each other and open the links again, over and over"),
    )
    least_s: ClassVar[float] = 8.0
    doing: ClassVar[str] = "flapping"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._cuts = 0
        self._stood = 0

    @property
    def least_silence_s(self) -> float:
        """Half of a cut."""
        return float(self.params.cut_s / 2)

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:
        """Who is on which side, and the rhythm."""
        sides = super().describe(selector, names, others, params)
        return f"{sides} cut for {params.cut_s:g} of every {params.period_s:g} s"

    @property
    def idle(self) -> bool:
        """Whether nothing is asked for; then no host is touched."""
        return bool(self.params.share == 0)

    def act(self) -> None:
        """Start the beacons, cut, and let the rhythm go on."""
        if self.idle:
            return
        self._in_force.disturb(self, self.hit)
        self.listen()
        self._cut()
        self._loop.start(self._rhythm)

    def _rhythm(self) -> None:
        while not self._loop.sleep(self.params.cut_s):
            self._stood += super().verify_still().proven
            self._open()
            self._cuts += 1
            if self._loop.sleep(self.params.open_s):
                return
            self._cut()

    def _cut(self) -> None:
        def cut(name: str) -> None:
            self._in_force.hold(self, name, self._rules[name], lambda rules: self._put(name, rules))

        on_each(self._rules, cut, "the packet filter's rules", ACTION_TIMEOUT_S).check("cutting links")

    def _open(self) -> None:
        def clear(name: str) -> None:
            self._in_force.release(self, name, lambda rules: self._put(name, rules))

        on_each(self._rules, clear, "the packet filter's clearing", ACTION_TIMEOUT_S).check("opening links")

    def verify(self) -> Evidence:
        """Wait until the links were cut and opened twice, and ask the beacons."""
        if not self.idle:
            self._loop.until(lambda: self._cuts >= LEAST_CUTS, LEAST_CUTS * self.params.period_s + _PROOF_S)
        return self.verify_still()

    def verify_still(self) -> Evidence:
        """Ask the beacons how often each link fell silent by now; again if the last opening may be just over."""
        if self.idle:
            return Evidence(kind=BEACONS, proven=False, summary="share 0: nothing was done", details={})
        for look in range(1, LOOKS + 1):
            cuts, stood = self._cuts, self._stood
            heard = self._beacons.heard()
            disturbed = self._in_force.disturbed(self, self._began_ns)
            evidence = judge(heard, cuts, self.hit - disturbed, (self.inside | self.others) - disturbed)
            evidence.details["looks"] = look
            if evidence.proven or self._loop.sleep(FIRST_BEAT_S):
                break
        if stood < cuts or self._loop.failed:
            said = f"the cut did not stand until its end in {cuts - stood} of {cuts}" if stood < cuts else ""
            summary = ", ".join(filter(None, (evidence.summary, said, self._loop.failed)))
            evidence = msgspec.structs.replace(evidence, proven=False, summary=summary)
        return beside_others(evidence, disturbed)

    def heal(self) -> None:
        """End the rhythm, open all links whatever the phase, and end the beacons."""
        if not self.idle:
            super().heal()


def judge(heard: Mapping[Link, Heard], cuts: int, hit: frozenset[Link], others: frozenset[Link]) -> Evidence:
    """Pure: what beacons prove of links that were cut and opened so many times.

    Where other faults hit all of its links nothing is heard of them, and the packet filters alone speak for it.

    Args:
        heard: of every link.
        cuts: how many times links were cut and opened again.
        hit: the directions that the fault hits and no other does.
        others: those that no fault hits.
    """
    wanted = math.ceil(cuts * SEEN_SHARE)
    unseen = sorted(link for link in hit if not wanted <= len(heard[link].silences_s))
    passed, broken = beacons.count_steady(heard, others, cuts - wanted)
    lengths = [silence for link in hit for silence in heard[link].silences_s] or [0.0]
    parts = [f"cut and opened {cuts} times"]
    if hit:
        each = [len(heard[link].silences_s) for link in hit]
        parts.append(
            f"{len(hit) - len(unseen)} of {len(hit)} links fell silent {_range(min(each), max(each))} times,"
            f" for {min(lengths):.2f} to {max(lengths):.2f} s"
        )
    if others:
        parts.append(f"{passed} of {len(others)} others carried all along")
    if wrong := unseen + broken:
        parts.append(f"wrong: {first_few([f'{a}→{b} {len(heard[a, b].silences_s)} silences' for a, b in wrong])}")
    details = {"cuts": cuts, "hit": beacons.details(heard, hit), "wrong": [f"{a}>{b}" for a, b in wrong]}
    return Evidence(kind=BEACONS, proven=cuts >= LEAST_CUTS and not wrong, summary=", ".join(parts), details=details)


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"
