"""The simulated network: how long messages take, which are lost, repeated or overtaken, whom packet filters cut off.

Between two hosts messages keep their order unless the weather says that some may be overtaken; every draw is of one
generator, so a seed decides them all. A packet filter's rules catch what arrives at a host, as iptables' would. What
they catch between nodes is lost, or it waits at the sender and comes late, as over a connection that is opened again.
"""

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

import msgspec

from chaos.core.clock import NS_PER_S
from cluster.network.packet_filter import Rule
from cluster.simulation.virtual_time import VirtualTime

PACKET_BYTES: Final = 60
NS_PER_MS: Final = NS_PER_S // 1000
NS_PER_US: Final = NS_PER_MS // 1000
AGAIN_NS: Final = 200 * NS_PER_MS
"""A sender tries this long after a message was caught whether the link lets it pass now: TCP's least time-out."""
WAITING: Final = 32
"""So many messages for a peer are kept by senders that keep any: minimq's own number (``OFFLINE_FRAMES_MAX``)."""


class Weather(msgspec.Struct, frozen=True, kw_only=True):
    """How the world behaves without any fault.

    ``latency_ms``: least and most of a message. ``repeated``, ``overtaken``: shares of the messages between nodes; one
    that is overtaken, or the second of two, comes up to ``late_ms`` later. ``disk_ms``: least and most of a sync,
    and ``slow_disk_ms`` on machines with a slow disk, whose share is ``slow_disks``; ``slow_sync``: the share of syncs
    that take up to ``slow_ms`` more. ``drift``: how much faster or slower than the true
    one a node's clock may run, as a share. ``start_ms``: least and most from a process' start until it serves.
    ``waiting``: while a link between nodes is cut, so many of its newest messages wait for its end; 0: all are lost.
    """

    latency_ms: tuple[float, float] = (0.1, 1.0)
    repeated: float = 0.0
    overtaken: float = 0.0
    late_ms: float = 20.0
    disk_ms: tuple[float, float] = (0.5, 3.0)
    slow_disk_ms: tuple[float, float] = (10.0, 60.0)
    slow_disks: float = 0.0
    slow_sync: float = 0.0
    slow_ms: float = 200.0
    drift: float = 0.0
    start_ms: tuple[float, float] = (50.0, 150.0)
    waiting: int = 0


def weather_of(seed: int) -> Weather:
    """Drawn: half of all seeds repeat and overtake messages, half stall disks, half let clocks drift.

    With half of them messages wait for the end of a cut; else they are lost. With half of them some or
    all disks are slower than the network, so that a crash finds much that is not durable.
    """
    draw = Random(f"{seed}/weather")
    rough, slow, drifting = (draw.random() < 0.5 for _ in range(3))  # noqa: PLR2004 - half of them
    return Weather(
        latency_ms=(0.1, draw.choice((0.5, 1.0, 5.0))),
        repeated=draw.choice((0.001, 0.02)) if rough else 0.0,
        overtaken=draw.choice((0.01, 0.1)) if rough else 0.0,
        late_ms=draw.choice((5.0, 50.0)),
        slow_sync=draw.choice((0.002, 0.02)) if slow else 0.0,
        drift=draw.choice((0.0001, 0.01)) if drifting else 0.0,
        slow_disk_ms=draw.choice(((10.0, 60.0), (30.0, 150.0))),
        slow_disks=draw.choice((0.0, 0.0, 0.5, 1.0)),
        waiting=draw.choice((0, WAITING)),
    )


class CountedRule:
    """A rule of a host's packet filter, and what it has caught."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.packets = 0


class Network:
    """Everything between hosts, which are known by name."""

    def __init__(self, time: VirtualTime, weather: Weather, draw: Random) -> None:
        self._loop = time.loop
        self._weather = weather
        self._random = draw.random
        least_ms, most_ms = weather.latency_ms
        self._least_ns = int(least_ms * NS_PER_MS)
        self._spread_ns = (most_ms - least_ms) * NS_PER_MS
        self._repeated, self._overtaken = weather.repeated, weather.overtaken
        self._names: dict[str, str] = {}
        self._rules: dict[str, dict[str, list[CountedRule]]] = {}
        self._caught: dict[tuple[str, str], tuple[CountedRule, ...]] = {}
        self._unplugged: set[str] = set()
        self._catches = False
        """Whether anything might not pass."""
        self._arrived_ns: dict[tuple[str, str], int] = {}
        self._waiting: dict[tuple[str, str], deque[tuple[Callable[..., object], tuple[Any, ...]]]] = {}
        """Messages that a link has caught and that will be sent again, by link."""

    def join(self, name: str, address: str) -> None:
        """A host is there."""
        self._names[address] = name
        self._rules[name] = {}

    def name_at(self, address: str) -> str:
        """The host that has an address."""
        return self._names[address]

    # ------------------------------------------------------------ packet filters

    def hold(self, host: str, chain: str, rules: Sequence[Rule]) -> None:
        """Make a chain of a host's packet filter hold exactly these rules; what they have caught is counted anew."""
        self._rules[host][chain] = [CountedRule(rule) for rule in rules]
        self._look_at_rules()

    def release(self, host: str, chain: str) -> None:
        """Remove a chain; fine if there is none."""
        self._rules[host].pop(chain, None)
        self._look_at_rules()

    def chains(self, host: str) -> dict[str, list[CountedRule]]:
        """What a host's packet filter holds."""
        return self._rules[host]

    def _look_at_rules(self) -> None:
        found: dict[tuple[str, str], list[CountedRule]] = {}
        for host, chains in self._rules.items():
            for counted in (each for rules in chains.values() for each in rules):
                peer = self._names.get(counted.rule.address, "")
                link = (peer, host) if counted.rule.direction == "INPUT" else (host, peer)
                found.setdefault(link, []).append(counted)
        self._caught = {link: tuple(rules) for link, rules in found.items()}
        self._catches = bool(self._caught or self._unplugged)

    def unplug(self, host: str) -> None:
        """Take a host off the network."""
        self._unplugged.add(host)
        self._catches = True

    def plug(self, host: str) -> None:
        """Put it back."""
        self._unplugged.discard(host)
        self._catches = bool(self._caught or self._unplugged)

    def is_plugged(self, host: str) -> bool:
        """Whether it is on the network."""
        return host not in self._unplugged

    def passes(self, source: str, target: str) -> bool:
        """Whether a packet that is sent now arrives; counts it where a rule catches it."""
        if self._unplugged and (source in self._unplugged or target in self._unplugged):
            return False
        for counted in self._caught.get((source, target), ()):
            share = counted.rule.probability
            if share is None or self._random() < share:
                counted.packets += 1
                return False
        return True

    # ------------------------------------------------------------ messages

    def latency_ns(self) -> int:
        """How long one message takes."""
        return self._least_ns + int(self._spread_ns * self._random())

    def send(self, source: str, target: str, arrive: Callable[..., object], *arguments: Any) -> None:
        """Let a message between nodes arrive, if it does: perhaps late, twice or behind a later one."""
        if (self._catches or self._waiting) and self._is_caught(source, target, arrive, arguments):
            return
        if self._repeated and self._random() < self._repeated:
            self._later(arrive, arguments)
        if self._overtaken and self._random() < self._overtaken:
            self._later(arrive, arguments)
        else:
            self._in_order(source, target, arrive, arguments)

    def forget(self, source: str) -> None:
        """A node's process has ended: what waited there to be sent again is gone."""
        for link, waiting in self._waiting.items():
            if link[0] == source:
                waiting.clear()

    def _is_caught(self, source: str, target: str, arrive: Callable[..., object], arguments: tuple[Any, ...]) -> bool:
        """Whether a message does not arrive now: it is lost, or waits behind those that were caught before it."""
        link = source, target
        waiting = self._waiting.get(link)
        if waiting is None:
            if self.passes(source, target):
                return False
            if not self._weather.waiting:
                return True
            waiting = self._waiting[link] = deque(maxlen=self._weather.waiting)
            self._loop.at(self._loop.now_ns + AGAIN_NS, self._send_again, link)
        waiting.append((arrive, arguments))
        return True

    def _send_again(self, link: tuple[str, str]) -> None:
        """Send what waits, in order, up to the first that is caught again."""
        waiting = self._waiting[link]
        while waiting and self.passes(*link):
            self._in_order(*link, *waiting.popleft())
        if waiting:
            self._loop.at(self._loop.now_ns + AGAIN_NS, self._send_again, link)
        else:
            del self._waiting[link]

    def stream(self, source: str, target: str, arrive: Callable[..., object], *arguments: Any) -> None:
        """Let a message of a connection between a client and a node arrive once and in order, unless it is lost."""
        if not self._catches or self.passes(source, target):
            self._in_order(source, target, arrive, arguments)

    def _in_order(self, source: str, target: str, arrive: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        link, arrived_ns, loop = (source, target), self._arrived_ns, self._loop
        at_ns = loop.now_ns + self._least_ns + int(self._spread_ns * self._random())
        last_ns = arrived_ns.get(link, 0)
        if last_ns > at_ns:  # noqa: PLR1730 - a call of max costs more, for every message
            at_ns = last_ns
        arrived_ns[link] = at_ns
        loop.at(at_ns, arrive, *arguments)

    def _later(self, arrive: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        late_ns = int(self._random() * self._weather.late_ms * NS_PER_MS)
        self._loop.at(self._loop.now_ns + self.latency_ns() + late_ns, arrive, *arguments)
