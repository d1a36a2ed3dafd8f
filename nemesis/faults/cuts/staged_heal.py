"""Cut links, both ways, and open them one by one before the fault's end: for a while the network is half whole.

A link is opened direction by direction (``by=link``), so that some nodes are heard that hear nobody; or all links
between one node and the others at once (``by=node``). Beacons on all hosts tell for how long each link was silent.
"""

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from chaos.basics.rand import stream
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.events import Evidence
from nemesis.faults.cuts import beacons
from nemesis.faults.cuts.beacons import Heard
from nemesis.faults.cuts.changing_cut import BEACONS, ChangingCut
from nemesis.faults.fault import Scene, Shape, on_each
from nemesis.faults.programs import ACTION_TIMEOUT_S
from nemesis.proof.evidence import beside_others, first_few
from nemesis.targets.grudge import Link
from nemesis.targets.selectors import Selector

LEAST_SILENCE_S: Final = 1.0
SLACK_S: Final = 0.8
"""A silence may be so much shorter or longer than the cut: a busy machine is late."""

_SILENCES: Final = 4

By = Literal["link", "node"]
Stages = tuple[frozenset[Link], ...]


class StagedHealParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it goes."""

    whole_s: Annotated[float, Meta(ge=2, le=600, description="how long all links are cut", extra={"unit": "s"})] = 3.0
    over_s: Annotated[
        float, Meta(ge=0.5, le=600, description="over how long they are opened after that", extra={"unit": "s"})
    ] = 3.0
    by: Annotated[
        By,
        Meta(description="link: one direction of one link at a time; node: all links of one node at a time"),
    ] = "link"
    order: Annotated[
        int, Meta(ge=0, le=1_000_000, description="which order they are opened in; another number, another order")
    ] = 0


class StagedHeal(ChangingCut):
    """A partition that ends piece by piece."""

    name: ClassVar[str] = "staged-heal"
    verb: ClassVar[str] = "cut off and healed in stages"
    ends_itself: ClassVar[bool] = True
    help: ClassVar[str] = "cut {} off from the others, both ways; open the links one by one before the fault ends"
    Params: ClassVar[type[msgspec.Struct]] = StagedHealParams
    shapes: ClassVar[tuple[Shape, ...]] = (
        Shape(
            "all-staged-heal",
            Selector.ALL,
            "cut all nodes off from each other; open the links one by one before the fault ends",
        ),
    )
    least_s: ClassVar[float] = 10.0
    doing: ClassVar[str] = "healing in stages"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        others = [name for name in scene.targets.participants if name not in scene.targets.names]
        self._stages = stages(self.hit, scene.targets.names, others, self.params.by, self.params.order)
        self._changing = threading.Lock()
        """Held while links are opened, and while somebody looks at all of them."""
        self._cut_ns = 0
        self._opened_ns: dict[Link, int] = {}

    @property
    def least_silence_s(self) -> float:
        """Half of the shortest cut."""
        return LEAST_SILENCE_S

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:
        """Who is on which side, and when that ends."""
        sides = super().describe(selector, names, others, params)
        return f"{sides} for {params.whole_s:g} s, opened in stages over {params.over_s:g} s"

    def act(self) -> None:
        """Start the beacons, cut everything, and let the stages go on."""
        self.listen()
        super().act()
        self._cut_ns = now_ns()
        self._loop.start(self._open_all)

    def _open_all(self) -> None:
        pause_s = self.params.over_s / len(self._stages)
        for number, links in enumerate(self._stages):
            due_ns = self._cut_ns + round((self.params.whole_s + number * pause_s) * NS_PER_S)
            if self._loop.sleep(max(0.0, (due_ns - now_ns()) / NS_PER_S)):
                return
            with self._changing:
                self._open(links)

    def _open(self, links: Collection[Link]) -> None:
        """Open these beside those that are open."""
        opened = self._opened_ns.keys() | set(links)

        def keep(name: str) -> None:
            shut = tuple(self.rule(self._hosts[a].address) for a, b in sorted(self.hit - opened) if b == name)
            self._in_force.hold(self, name, shut, lambda rules: self._put(name, rules))

        on_each({b for _, b in links}, keep, "the packet filter's rules", ACTION_TIMEOUT_S).check("opening links")
        self._opened_ns |= dict.fromkeys(links, now_ns())

    def verify(self) -> Evidence:
        """Probe every link while all are cut; the first stage waits for the end of the look."""
        with self._changing:
            if self._opened_ns:
                return self._looked_back()
            return super().verify()

    def verify_still(self) -> Evidence:
        """Ask the beacons for how long each link was silent."""
        with self._changing:
            return self._looked_back()

    def _looked_back(self) -> Evidence:
        heard, seen_ns = self._beacons.heard(), now_ns()
        disturbed = self._in_force.disturbed(self, self._began_ns)
        cut_s = {link: (self._opened_ns.get(link, seen_ns) - self._cut_ns) / NS_PER_S for link in self.hit - disturbed}
        shut = frozenset(cut_s) - self._opened_ns.keys()
        evidence = judge(heard, cut_s, shut, (self.inside | self.others) - disturbed)
        left = len(self.hit - self._opened_ns.keys())
        said = [f"the end came before {left} of {len(self.hit)} links were opened; let it last longer"] if left else []
        said += [self._loop.failed] if self._loop.failed else []
        if said:
            summary = ", ".join([evidence.summary, *said])
            evidence = msgspec.structs.replace(evidence, proven=False, summary=summary)
        return beside_others(evidence, disturbed)


def stages(hit: frozenset[Link], names: Sequence[str], others: Sequence[str], by: By, order: int) -> Stages:
    """Pure: which links are opened together, in order.

    Args:
        hit: the directions that are cut.
        names: the targets.
        others: who is on the other side; nobody where all nodes are cut off from each other.
        by: ``link``: each direction by itself; ``node``: the others join the targets one by one, with all links.
        order: draws another order for each number.
    """
    if by == "link":
        return tuple(frozenset({link}) for link in sorted(hit, key=lambda one: stream(order, "stage", *one).random()))
    joining = sorted(others or names, key=lambda name: stream(order, "stage", name).random())
    joined = set(names) if others else {joining.pop(0)}
    found = []
    for name in joining:
        found.append(frozenset(link for link in hit if name in link and not joined.isdisjoint(link)))
        joined.add(name)
    return tuple(links for links in found if links)


def judge(
    heard: Mapping[Link, Heard], cut_s: Mapping[Link, float], shut: frozenset[Link], others: frozenset[Link]
) -> Evidence:
    """Pure: what beacons prove of links that were opened one after the other.

    Args:
        heard: of every link.
        cut_s: for how long each was cut by now, of those that no other fault hits.
        shut: which of them still are.
        others: those that no fault hits.
    """
    wrong = sorted(link for link, long_s in cut_s.items() if not _as_long(heard[link], long_s, shut=link in shut))
    passed, broken = beacons.count_steady(heard, others, 0)
    opened = [cut_s[link] for link in cut_s if link not in shut]
    parts = [f"{len(cut_s) - len(wrong)} of {len(cut_s)} links were silent for as long as they were cut"]
    if opened:
        parts[0] += f", {min(opened):.1f} to {max(opened):.1f} s"
    if others:
        parts.append(f"{passed} of {len(others)} others carried all along")
    if bad := wrong + broken:
        parts.append(f"wrong: {first_few([f'{a}→{b} silent for {_said(heard[a, b])}' for a, b in bad])}")
    details = {
        "cut_s": {f"{a}>{b}": round(long_s, 3) for (a, b), long_s in sorted(cut_s.items())},
        "hit": beacons.details(heard, cut_s),
        "wrong": [f"{a}>{b}" for a, b in bad],
    }
    return Evidence(kind=BEACONS, proven=bool(opened) and not bad, summary=", ".join(parts), details=details)


def _as_long(heard: Heard, cut_s: float, *, shut: bool) -> bool:
    """Whether a link carried nothing for so long, and something before and after."""
    if shut:
        return heard.arrived > 0 and not heard.silences_s and abs(heard.silent_s - cut_s) <= SLACK_S
    whole = [silence for silence in heard.silences_s if abs(silence - cut_s) <= SLACK_S]
    return len(whole) == 1 and len(heard.silences_s) == 1 and heard.silent_s < LEAST_SILENCE_S


def _said(heard: Heard) -> str:
    return ", ".join(f"{one:.1f} s" for one in (*heard.silences_s[:_SILENCES], heard.silent_s))
