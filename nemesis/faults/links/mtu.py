"""Lower the MTU of interfaces: small packets pass, large ones need fragments, or are lost without a word.

What the targets send adapts: TCP sends smaller segments, datagrams are cut into fragments, and one that must not be cut
(DF) is refused with EMSGSIZE. What others send them does not: in one network no router is there to tell the sender, so
path MTU discovery never hears of it. Whether a larger packet then arrives is the interface's choice: a veth drops it,
and lets through what is to be cut into segments later. Proven by datagrams of two sizes, with and without DF.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.clock import now_ns
from chaos.core.errors import ChaosError, DeployError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour, Hits
from cluster.host import Host
from nemesis.faults.fault import Scene, on_each
from nemesis.faults.links import sized_datagrams
from nemesis.faults.links.blackhole import HELP
from nemesis.faults.links.kernel_change import Change, Command, KeptChange, device, output_of, why_impossible
from nemesis.faults.links.link_fault import LOOKS
from nemesis.faults.programs import ACTION_TIMEOUT_S
from nemesis.proof.evidence import beside_others, combine_evidence, first_few
from nemesis.targets.grudge import Link, all_links
from nemesis.targets.selectors import Selector

SIZES: Final = "sized-datagrams"
COUNT: Final = 3
WAIT_S: Final = 1.0
OVER_BYTES: Final = 100
"""So much longer than the MTU is a large packet: interfaces leave room for a tag or two."""

_PROGRAM: Final = Path(sized_datagrams.__file__)
_PORTS: Final = range(20_000, 32_000)
_HOLD_S: Final = 60


class MtuParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How narrow."""

    bytes: Annotated[
        int,
        Meta(ge=1280, le=1400, description="the longest packet, headers included; below 1280 IPv6 would be lost"),
    ] = 1280


class Sizes(msgspec.Struct, frozen=True):
    """How many of ``COUNT`` datagrams were answered: short ones, long ones that must not be cut, and long ones."""

    small: int
    whole: int
    cut: int

    def said(self) -> str:
        """In a few words, for people."""
        return f"small {self.small}, large {self.whole}, large in fragments {self.cut} of {COUNT}"


class Mtu(KeptChange):
    """The MTU of the interface that has each target's address."""

    name: ClassVar[str] = "mtu"
    verb: ClassVar[str] = "behind a small MTU"
    help: ClassVar[str] = "lower the MTU of the network interface of {}"
    hits: ClassVar[Hits] = "nodes"
    Params: ClassVar[type[msgspec.Struct]] = MtuParams
    colour: ClassVar[Colour] = "peach"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        everything = all_links(self.everyone)
        self.hit = frozenset(link for link in everything if link[0] in self.targets)
        self.touched = frozenset(link for link in everything if not self.targets.keys().isdisjoint(link))

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """How narrow."""
        return f"{' '.join(names)}, an MTU of {params.bytes}"

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Set the MTU to what it is."""
        try:
            own = device(host)
            return why_impossible(host, [_set(own, _mtu(host, own))], [], HELP)
        except ChaosError as error:
            return f"{error}; {HELP}"

    def state(self, name: str, host: Host) -> str:  # noqa: ARG002 - of one interface
        """The MTU."""
        own = device(host)
        return f"{own} mtu {_mtu(host, own)}"

    def change(self, name: str, host: Host, before: str) -> Change:  # noqa: ARG002 - as ``state``
        """Another MTU."""
        own, _, usual = before.split()
        if int(usual) < self.params.bytes + OVER_BYTES:
            raise ChaosError(f"its MTU is {usual}: give bytes of at most {int(usual) - OVER_BYTES}")
        return Change(put=(_set(own, self.params.bytes),), back=(_set(own, int(usual)),))

    def verify(self) -> Evidence:
        """Send datagrams of both sizes on every link."""
        return self._compared(self.hit)

    def verify_healed(self) -> Evidence:
        """Everything is as before, and datagrams of both sizes pass on every link."""
        evidence = super().verify_healed()
        return combine_evidence(evidence, self._compared(frozenset())) if evidence.proven else evidence

    def _compared(self, hit: frozenset[Link]) -> Evidence:
        for look in range(1, LOOKS + 1):
            began_ns = now_ns()
            seen = measure(self.everyone, self.params.bytes)
            disturbed = self._in_force.disturbed(self, began_ns)
            back = frozenset(link[::-1] for link in hit) - hit
            evidence = judge(seen, hit, back, disturbed)
            evidence.details["looks"] = look
            if evidence.proven:
                break
        return beside_others(evidence, disturbed)


def judge(
    seen: Mapping[Link, Sizes], hit: frozenset[Link], back: frozenset[Link], disturbed: frozenset[Link]
) -> Evidence:
    """Pure: what datagrams of two sizes prove.

    Args:
        seen: what was answered on each link; an answer is short and comes back over the same link.
        hit: from a target with a small MTU: what must not be cut does not leave it.
        back: to such a target: small ones pass, what becomes of large ones is only said.
        disturbed: links that another fault hits.
    """
    known = sorted(link for link in seen if link not in disturbed and link[::-1] not in disturbed)
    ours, theirs = [link for link in known if link in hit], [link for link in known if link in back]
    others = [link for link in known if link not in hit and link not in back]
    whole = Sizes(COUNT, COUNT, COUNT)
    wrong = [link for link in ours if seen[link] != Sizes(COUNT, 0, COUNT)]
    wrong += [link for link in theirs if seen[link].small != COUNT]
    wrong += [link for link in others if seen[link] != whole]
    parts = []
    if hit:
        good = len(ours) - sum(link in hit for link in wrong)
        parts.append(f"{good} of {len(ours)} links carried small packets, and large ones only in fragments")
    if theirs:
        lost = sum(seen[link].whole == 0 for link in theirs)
        parts.append(f"large ones to the targets got lost on {lost} of {len(theirs)}")
    if others:
        passed = sum(seen[link] == whole for link in others)
        parts.append(f"{passed} of {len(others)} {'others' if hit else 'links'} carried all")
    if wrong:
        parts.append(f"wrong: {first_few([f'{a}→{b} {seen[a, b].said()}' for a, b in wrong], '; ')}")
    details: dict[str, Any] = {
        "hit": {f"{a}>{b}": msgspec.to_builtins(seen[a, b]) for a, b in ours + theirs},
        "wrong": [f"{a}>{b}" for a, b in wrong],
    }
    proven = not wrong and bool(ours if hit else others)
    return Evidence(kind=SIZES, proven=proven, summary=", ".join(parts), details=details)


def measure(hosts: Mapping[str, Host], mtu: int) -> dict[Link, Sizes]:
    """Send datagrams of that length, and longer ones with and without DF, on every link.

    Raises:
        ChaosError: a host is gone, refused the program or did not do it in time.
    """
    port = secrets.choice(_PORTS)
    pids: dict[str, int] = {}

    def start(name: str) -> None:
        pids[name] = _run(hosts[name], {"do": "answer", "port": port, "hold_s": _HOLD_S}, dict[str, int])["pid"]

    def ask(name: str) -> dict[Link, Sizes]:
        peers = [other for other in hosts if other != name]
        orders = {"do": "ask", "to": [[hosts[peer].address, port] for peer in peers], "count": COUNT, "wait_s": WAIT_S}
        three = [
            _run(hosts[name], {**orders, "bytes": size, "whole": whole}, list[int])
            for size, whole in ((mtu, True), (mtu + OVER_BYTES, True), (mtu + OVER_BYTES, False))
        ]
        return {(name, peer): Sizes(*counts) for peer, *counts in zip(peers, *three, strict=True)}

    try:
        on_each(hosts, start, "starting to answer", ACTION_TIMEOUT_S).check("starting to answer datagrams")
        asked = on_each(hosts, ask, "sending datagrams", ACTION_TIMEOUT_S).check("sending datagrams")
        return {link: sizes for own in asked.values() for link, sizes in own.items()}
    finally:
        on_each(
            pids,
            lambda name: hosts[name].run("kill", str(pids[name]), timeout_s=ACTION_TIMEOUT_S),
            "",
            ACTION_TIMEOUT_S,
        )


def _run(host: Host, orders: Mapping[str, Any], kind: Any) -> Any:
    done = host.run(
        "python3", "-I", "-S", "-", json.dumps(orders), stdin=_PROGRAM.read_bytes(), timeout_s=ACTION_TIMEOUT_S
    )
    try:
        return msgspec.json.decode(done.check(f"{host.name}: datagrams of two sizes").stdout, type=kind)
    except msgspec.DecodeError:
        raise DeployError(f"{host.name}: asked for datagrams it said {done.stdout[:100]!r}") from None


def _mtu(host: Host, own: str) -> int:
    words = output_of(host, "ip", "-o", "link", "show", "dev", own).split()
    return int(words[words.index("mtu") + 1])


def _set(own: str, mtu: int) -> Command:
    return ("ip", "link", "set", "dev", own, "mtu", str(mtu))
