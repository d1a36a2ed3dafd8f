"""Let packets on links come later, each way, and show by measured round trips that they do, and how much.

A program on the host that receives gives them back after their time, in their order (``nemesis.faults.links.packets``).
"""

import math
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.clock import now_ns
from chaos.core.errors import DeployError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from nemesis.faults.fault import Scene, on_each
from nemesis.faults.links import round_trips
from nemesis.faults.links.link_fault import LOOKS
from nemesis.faults.links.packets import PacketFault
from nemesis.faults.programs import ACTION_TIMEOUT_S, run_program
from nemesis.proof.evidence import beside_others, combine_evidence, first_few
from nemesis.targets.grudge import Link
from nemesis.targets.selectors import Selector

ROUND_TRIP: Final = "round-trips"
ROUND_TRIPS: Final = 20
SLACK_MS: Final = 100.0
"""A median round trip may be so much longer than the fault makes it: a busy machine is late."""

_METER: Final = Path(round_trips.__file__)
_PORTS: Final = range(20_000, 32_000)

RoundTrips = dict[Link, list[float]]
"""(from, to) → how long answers took, ms; few or none where packets got lost."""


class DelayParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much later, each way."""

    delay_ms: Annotated[
        float, Meta(ge=5, le=10_000, description="how much later a packet comes, each way", extra={"unit": "ms"})
    ] = 100.0
    jitter_ms: Annotated[
        float,
        Meta(ge=0, le=5_000, description="how much more or less that is, at most half of it", extra={"unit": "ms"}),
    ] = 20.0

    def __post_init__(self) -> None:
        """Refuse a jitter that could hide the delay from its proof."""
        if self.jitter_ms > self.delay_ms / 2:
            raise ValueError(f"jitter_ms {self.jitter_ms:g}: give at most half of delay_ms, {self.delay_ms / 2:g}")


class Delay(PacketFault):
    """Packets on the links of the grudge wait on the host that receives them."""

    name: ClassVar[str] = "delay"
    verb: ClassVar[str] = "slowed down"
    help: ClassVar[str] = "delay the packets on every link of {}, each way"
    Params: ClassVar[type[msgspec.Struct]] = DelayParams
    colour: ClassVar[Colour] = "blue"
    done: ClassVar[str] = "delayed"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        self._usual: RoundTrips = {}
        super().__init__(scene)

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """How much later."""
        return f"{' '.join(names)}, {params.delay_ms:g} ± {params.jitter_ms:g} ms later each way"

    def orders(self) -> Mapping[str, Any]:
        """Hold them."""
        return {"do": "hold", "delay_ms": self.params.delay_ms, "jitter_ms": self.params.jitter_ms}

    def act(self) -> None:
        """Measure how long round trips take, then delay them."""
        self._usual = self._measured(0.0)
        super().act()

    def verify(self) -> Evidence:
        """Measure round trips on every link; where others hit all of ours, the rules are looked at instead."""
        if self.hit <= self._in_force.disturbed(self, now_ns()):
            return self.verify_still()
        return self._compared(self.hit)

    def verify_healed(self) -> Evidence:
        """No rule is left, every probe arrives, and round trips take as long as before."""
        evidence = super().verify_healed()
        return combine_evidence(evidence, self._compared(frozenset())) if evidence.proven else evidence

    def _measured(self, longest_ms: float) -> RoundTrips:
        """Round trips among all hosts, measured by all at the same time; ``longest_ms``: one that is to be expected."""
        orders = {
            "port": secrets.choice(_PORTS),
            "nonce": secrets.randbits(63),
            "count": ROUND_TRIPS,
            "limit_s": 4.0 + 3 * longest_ms / 1e3,
        }
        address = {name: host.address for name, host in self.everyone.items()}

        def ask(name: str) -> dict[str, list[float]]:
            peers = [own for other, own in address.items() if other != name]
            said = run_program(self.everyone[name], _METER, {**orders, "peers": peers})
            try:
                return msgspec.json.decode(said, type=dict[str, list[float]])
            except msgspec.DecodeError:
                raise DeployError(f"{name}: asked for round trips it said {said[:100]!r}") from None

        wait_s = ACTION_TIMEOUT_S + longest_ms / 1e3
        found = on_each(self.everyone, ask, "round trips", wait_s).check("measuring round trips")
        return {(a, b): found[a].get(address[b], []) for a in found for b in found if a != b}

    def _compared(self, slow: frozenset[Link]) -> Evidence:
        """Measure until what is seen is as it should be, a few times at most; ``slow``: the links that are delayed."""
        longest_ms = 2 * (self.params.delay_ms + self.params.jitter_ms) if slow else 0.0
        for look in range(1, LOOKS + 1):
            began_ns = now_ns()
            seen = self._measured(longest_ms)
            disturbed = self._in_force.disturbed(self, began_ns)
            both_ways = disturbed | {(b, a) for a, b in disturbed}
            evidence = judge(self._usual, seen, slow, both_ways, self.params)
            evidence.details["looks"] = look
            if evidence.proven:
                break
        return beside_others(evidence, disturbed)


def judge(
    usual: RoundTrips, seen: RoundTrips, slow: frozenset[Link], disturbed: frozenset[Link], params: DelayParams
) -> Evidence:
    """Pure: what round trips prove.

    Over a link that is delayed even the quickest takes longer than ever before by the least delay of each way, and the
    middle one by no more than the greatest and some slack. Over any other the quickest is about as quick as before: not
    longer by half of the least delay of one way.

    A link without a round trip before the fault tells nothing.

    Args:
        usual: before the fault.
        seen: now.
        slow: the directions that are delayed.
        disturbed: links that another fault hits, which tell nothing of this one.
        params: the fault's.
    """
    least_ms, greatest_ms = params.delay_ms - params.jitter_ms, params.delay_ms + params.jitter_ms
    known = sorted(link for link in seen.keys() - disturbed if usual.get(link))
    late = [link for link in known if link in slow or link[::-1] in slow]
    wrong = []
    for link in known:
        ways = (link in slow) + (link[::-1] in slow)
        later_ms = _quickest(seen[link]) - _quickest(usual[link])
        more_ms = _middle(seen[link]) - _middle(usual[link])
        enough = later_ms >= ways * least_ms * 0.95 - 0.5 and more_ms <= ways * greatest_ms + SLACK_MS
        if not (enough if ways else later_ms < least_ms / 2):
            wrong.append(link)
    parts = []
    if slow:
        middle_ms = median([_middle(seen[link]) for link in late]) if late else math.inf
        parts.append(f"round trips on {len(late)} links take {middle_ms:.0f} ms")
    others = [link for link in known if link not in late]
    if others:
        quick = len(others) - len(set(others) & set(wrong))
        parts.append(f"{quick} of {len(others)} {'others' if slow else 'links'} are as quick as before")
    if wrong:
        shown = [f"{a}→{b} {_middle(seen[a, b]):.1f} ms, before {_middle(usual[a, b]):.1f} ms" for a, b in wrong]
        parts.append(f"wrong: {first_few(shown, '; ')}")
    details: dict[str, Any] = {
        "median_ms": {f"{a}>{b}": round(_middle(seen[a, b]), 2) for a, b in known if seen[a, b]},
        "wrong": [f"{a}>{b}" for a, b in wrong],
    }
    proven = not wrong and bool(late if slow else known)
    return Evidence(kind=ROUND_TRIP, proven=proven, summary=", ".join(parts), details=details)


def _quickest(took_ms: Sequence[float]) -> float:
    return min(took_ms, default=math.inf)


def _middle(took_ms: Sequence[float]) -> float:
    return median(took_ms) if took_ms else math.inf
