"""Which links deliver: probes one way per direction between any hosts, counted where they arrive.

The proof of every network fault and of its healing. ``measure`` acts; what a count means for a cut or for a share of
loss is decided with ``binomial_bounds``, which is pure. Does not look at packet filters.
"""

import json
import math
import secrets
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from chaos.core import waiting
from chaos.core.errors import DeployError, UsageError
from cluster.agent import udp_probe
from cluster.host import Host

Link = tuple[str, str]
"""(source, destination), by name."""

MAX_PROBES: Final = 250
"""What a socket's default receive buffer holds even if its reader does not run at all."""

_ECHO: Final = Path(udp_probe.__file__)
_HOLD_S: Final = 30
_TIMEOUT_S: Final = 20.0
_PAUSE_S: Final = 0.0005
_STREAM_SETTLE_S: Final = 0.3
OBEY: Final = """\
[ -p "$1/in" ] || { echo "the probe program has ended" >&2; exit 1; }
printf '%s\\n' "$2" > "$1/in" && cat "$1/out"
"""
STOP: Final = '[ ! -p "$1/in" ] || { printf \'{"report": 0}\\n\' > "$1/in" && cat "$1/out"; }'

Result = TypeVar("Result")


class Matrix(msgspec.Struct, frozen=True):
    """``sent`` probes went out on every link; ``received``: how many of them arrived, by link."""

    sent: int
    received: dict[Link, int]

    def silent(self) -> frozenset[Link]:
        """The links on which nothing arrived."""
        return frozenset(link for link, count in self.received.items() if count == 0)

    def complete(self) -> frozenset[Link]:
        """The links on which everything arrived."""
        return frozenset(link for link, count in self.received.items() if count == self.sent)


def binomial_bounds(n: int, p: float, alpha: float = 1e-9) -> tuple[int, int]:
    """Pure: the counts (lowest, highest) that ``n`` trials of chance ``p`` leave with at most ``alpha`` in all.

    The tails are summed exactly, half of ``alpha`` on each side; no normal approximation.
    """
    if not (n >= 0 and 0.0 <= p <= 1.0 and 0.0 < alpha < 1.0):
        raise UsageError(f"binomial bounds of n={n}, p={p:g}, alpha={alpha:g}: n >= 0, p in [0, 1], alpha in (0, 1)")
    if p in (0.0, 1.0):
        return (round(n * p), round(n * p))

    def chance(k: int) -> float:
        ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))

    def edge(counts: Iterable[int]) -> int:
        tail = 0.0
        for k in counts:
            tail += chance(k)
            if tail > alpha / 2:
                return k
        raise AssertionError("the chances of all counts sum to 1")

    return edge(range(n + 1)), edge(range(n, -1, -1))


class Stream(msgspec.Struct, frozen=True):
    """What became of the probes of one link; the words are those of ``cluster.agent.udp_probe``."""

    arrived: int
    distinct: int
    late: int
    altered: int
    gaps: int
    took_s: float


def measure(hosts: Mapping[str, Host], probes_per_link: int, pairs: Iterable[Link] | None = None) -> Matrix:
    """Send ``probes_per_link`` datagrams on each link (all ordered pairs of ``hosts`` if None) and count arrivals.

    All hosts act at the same time; several measurements may overlap.

    Raises:
        DeployError: a host is gone or its probe program ended.
        DeadlineError: a host did not do it within 20 s.
    """
    links = tuple(dict.fromkeys(pairs)) if pairs is not None else _all_links(hosts)
    counts = _exchanged(hosts, links, probes_per_link, {"pause_s": _PAUSE_S}, {}, int)
    return Matrix(probes_per_link, counts)


def streams(hosts: Mapping[str, Host], probes_per_link: int, size: int, pause_s: float) -> dict[Link, Stream]:
    """Send so many datagrams of ``size`` bytes on each link, ``pause_s`` apart, and say what became of them.

    Raises:
        DeployError: a host is gone or its probe program ended.
        DeadlineError: a host did not do it within 20 s.
    """
    report = {"streams": True, "settle_s": _STREAM_SETTLE_S}
    send = {"pause_s": pause_s, "size": size}
    return _exchanged(hosts, _all_links(hosts), probes_per_link, send, report, Stream)


def _exchanged(
    hosts: Mapping[str, Host],
    links: tuple[Link, ...],
    count: int,
    send: Mapping[str, Any],
    report: Mapping[str, Any],
    kind: type[Result],
) -> dict[Link, Result]:
    """Send probes on links and have each counted where it arrives; an answer of that kind for each link."""
    if not 0 < count <= MAX_PROBES:
        raise UsageError(f"{count} probes per link: give 1 to {MAX_PROBES}")
    taking_part = {name: hosts[name] for name in dict.fromkeys(name for link in links for name in link)}
    if not taking_part:
        return {}
    nonce = secrets.randbits(63)
    echoes = {name: _Echo(host, nonce) for name, host in taking_part.items()}

    def everywhere(action: Callable[[str], Any]) -> dict[str, Any]:
        # Each has its own deadline; nobody may still be starting when all are stopped.
        done = waiting.at_once([partial(action, name) for name in taking_part], "matrix")
        return dict(zip(taking_part, done, strict=True))

    try:
        sources = {name: [hosts[a].address for a, b in links if b == name] for name in taking_part}
        ports = everywhere(lambda name: echoes[name].start(sources[name]))
        targets = {
            name: [[hosts[b].address, ports[b][hosts[name].address]] for a, b in links if a == name]
            for name in taking_part
        }
        orders = {name: {"send": to, "count": count, **send} for name, to in targets.items()}
        everywhere(lambda name: echoes[name].ask(orders[name], int))
        found = everywhere(lambda name: echoes[name].ask({"report": count, **report}, kind))
    except BaseException:
        everywhere(lambda name: echoes[name].stop())
        raise
    return {(a, b): found[b][hosts[a].address] for a, b in links}


def _all_links(names: Iterable[str]) -> tuple[Link, ...]:
    ordered = tuple(names)
    return tuple((a, b) for a in ordered for b in ordered if a != b)


class _Echo:
    """The probe program on one host."""

    def __init__(self, host: Host, nonce: int) -> None:
        self._host = host
        self._nonce = nonce
        self._folder = f"{host.home}/.echo-{nonce:x}"

    def start(self, sources: list[str]) -> dict[str, int]:
        """Start it; returns the port that counts each source."""
        own = self._host.address
        command = ("python3", "-I", "-S", "-", self._folder, str(_HOLD_S), str(self._nonce), own, *sources)
        done = self._host.run(*command, stdin=_ECHO.read_bytes(), timeout_s=_TIMEOUT_S)
        done.check(f"{self._host.name}: starting the probe program")
        return self._decoded(done.stdout, dict[str, int])

    def ask(self, command: Mapping[str, Any], kind: type[Result]) -> dict[str, Result]:
        """Give it a line, return its answer: something of that kind by name."""
        line = json.dumps(command)
        done = self._host.run("sh", "-c", OBEY, "sh", self._folder, line, timeout_s=_TIMEOUT_S)
        done.check(f"{self._host.name}: asking the probe program")
        return self._decoded(done.stdout, dict[str, kind])  # type: ignore[valid-type]

    def stop(self) -> None:
        """End it early; a host that is gone has ended it already."""
        try:
            self._host.run("sh", "-c", STOP, "sh", self._folder, timeout_s=_TIMEOUT_S)
        except DeployError:
            return

    def _decoded(self, said: bytes, kind: type[Result]) -> Result:
        try:
            return msgspec.json.decode(said, type=kind)
        except msgspec.DecodeError:
            raise DeployError(f"{self._host.name}: the probe program said {said[:100]!r}, which is no answer") from None
