"""Let packets on links come later, each way, and show by measured round trips that they do, and how much.

Rules at the receiving end of each direction hand packets to a program on that host (``delay_program.py``) through an
NFQUEUE; it gives them back after their time, in their order. Needs no kernel module for queueing disciplines and
leaves those of a machine alone. Where two faults delay one link, the one that was there first does. A program that
dies lets packets pass (``--queue-bypass``), and the last look says that it is gone.
"""

import json
import math
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.clock import now_ns
from chaos.core.errors import ChaosError, DeployError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from cluster.host import Host
from cluster.network import packet_filter
from cluster.network.packet_filter import Rule
from nemesis.faults import delay_program
from nemesis.faults.fault import Outcomes, Scene, on_each
from nemesis.faults.links import ACTION_TIMEOUT_S, LOOKS, LinkFault
from nemesis.proof.evidence import beside_others
from nemesis.targets.grudge import Grudge, Link, touching
from nemesis.targets.selectors import Selector

MOST_HELD: Final = 20_000
"""So many packets wait on one host at most; what comes then is dropped, as by a link that is full."""

ROUND_TRIP: Final = "round-trips"
ROUND_TRIPS: Final = 20
_NAMED: Final = 4
SLACK_MS: Final = 100.0
"""A median round trip may be so much longer than the fault makes it: a busy machine is late."""

TRIED_MS: Final = 20
_HELP: Final = "modprobe -a nfnetlink_queue xt_NFQUEUE"
_PROGRAM: Final = Path(delay_program.__file__)
_QUEUES: Final = range(2_000, 60_000)
_PORTS: Final = range(20_000, 32_000)

# $1 iptables, $2 a chain of its own, $3 port, $4 queue, $5 orders; the program comes on standard input.
_TRY: Final = """\
end() { "$1" -w 5 -D INPUT -j "$2"; "$1" -w 5 -F "$2"; "$1" -w 5 -X "$2"; }
"$1" -w 5 -N "$2" || exit
"$1" -w 5 -A "$2" -i lo -p udp --dport "$3" -j NFQUEUE --queue-num "$4" --queue-bypass && "$1" -w 5 -I INPUT -j "$2" &&
  timeout 10 python3 -I -S - "$5"; result=$?
end "$1" "$2" >/dev/null 2>&1; exit $result
"""
_IS_OURS: Final = 'read -r pid < "$1" && grep -qsaF -e "$1" "/proc/$pid/cmdline"'
_STOP: Final = f"""\
[ -f "$1" ] || exit 0
if {_IS_OURS}; then
  kill -TERM "$pid"; left=100
  while [ -d "/proc/$pid" ] && [ "$left" -gt 0 ]; do sleep 0.05; left=$((left - 1)); done
  [ ! -d "/proc/$pid" ] || kill -KILL "$pid"
fi
rm -f "$1"
"""

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


class Delay(LinkFault):
    """Packets on the links of the grudge wait on the host that receives them."""

    name: ClassVar[str] = "delay"
    verb: ClassVar[str] = "slowed down"
    help: ClassVar[str] = "let the packets on every link of {} come later, each way"
    Params: ClassVar[type[msgspec.Struct]] = DelayParams
    colour: ClassVar[Colour] = "blue"
    in_all: ClassVar[bool] = False  # ``all`` of 150 s still deposes the leader by each means, and keeps its seeds
    done: ClassVar[str] = "delayed"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        self._queue = secrets.choice(_QUEUES)
        self._token = f"{secrets.randbits(40):010x}"
        self._usual: RoundTrips = {}
        super().__init__(scene)

    @classmethod
    def grudge(cls, selector: Selector, names: Sequence[str], participants: Sequence[str]) -> Grudge:  # noqa: ARG003
        """Every link of the targets, each way."""
        return touching(names, participants)

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """How much later."""
        return f"{' '.join(names)}, {params.delay_ms:g} ± {params.jitter_ms:g} ms later each way"

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Hold one datagram over the host's loopback for 20 ms."""
        queue, port = secrets.choice(_QUEUES), secrets.choice(_PORTS)
        orders = json.dumps({"do": "try", "queue": queue, "port": port, "delay_ms": TRIED_MS})
        chain = packet_filter.chain(f"try-{secrets.randbits(40):010x}")
        try:
            command = (packet_filter.variant(host), chain, str(port), str(queue), orders)
            done = host.run("sh", "-c", _TRY, "sh", *command, stdin=_PROGRAM.read_bytes(), timeout_s=ACTION_TIMEOUT_S)
            took_ms = msgspec.json.decode(done.check("holding a packet").stdout, type=dict[str, float])["took_ms"]
        except (ChaosError, msgspec.DecodeError, KeyError) as error:
            return f"no packet can be held back: {' '.join(str(error).split())}; {_HELP}"
        return None if took_ms >= TRIED_MS else f"a packet held for {TRIED_MS} ms took {took_ms:.1f} ms; {_HELP}"

    def rule(self, address: str) -> Rule:
        """Hand what the peer sends to the program."""
        return Rule(address, "INPUT", queue=self._queue)

    def act(self) -> None:
        """Measure how long round trips take, start the programs, and lead the packets to them."""
        self._usual = self._measured(0.0)
        orders = {
            "do": "hold",
            "queue": self._queue,
            "delay_ms": self.params.delay_ms,
            "jitter_ms": self.params.jitter_ms,
            "most": MOST_HELD,
        }
        self._on_receivers(
            lambda name: self._run(self._hosts[name], {**orders, "pid_file": self._pid_file(name)}),
            "starting to hold packets",
        ).check("delaying packets")
        super().act()

    def verify(self) -> Evidence:
        """Measure round trips on every link; where others hit all of ours, the rules are looked at instead."""
        if self.hit <= self._in_force.disturbed(self, now_ns()):
            return self.verify_still()
        return self._compared(self.hit)

    def verify_still(self) -> Evidence:
        """Ask whether the rules are there and whether the programs live."""
        rules = super().verify_still()
        lives = self._on_receivers(
            lambda name: (
                self._hosts[name]
                .run("sh", "-c", _IS_OURS, "sh", self._pid_file(name), timeout_s=ACTION_TIMEOUT_S)
                .returncode
                == 0
            ),
            "a look at the program",
        ).check("looking at the programs")
        gone = [name for name, alive in lives.items() if not alive]
        if not gone:
            return rules
        summary = f"{rules.summary}, nobody holds packets on {' '.join(gone)}"
        return msgspec.structs.replace(rules, proven=False, summary=summary)

    def heal(self) -> None:
        """Remove the rules, then end the programs, which let go what they hold."""
        try:
            super().heal()
        finally:
            self._on_receivers(
                lambda name: (
                    self._hosts[name]
                    .run("sh", "-c", _STOP, "sh", self._pid_file(name), timeout_s=ACTION_TIMEOUT_S)
                    .check(f"{name}: ending the program that holds packets")
                ),
                "ending the program",
            ).check("letting packets go")

    def verify_healed(self) -> Evidence:
        """No rule is left, every probe arrives, and round trips take as long as before."""
        evidence = super().verify_healed()
        if not evidence.proven:
            return evidence
        times = self._compared(frozenset())
        details = evidence.details | times.details
        return msgspec.structs.replace(
            evidence, proven=times.proven, summary=f"{evidence.summary}, {times.summary}", details=details
        )

    def _pid_file(self, name: str) -> str:
        return f"{self._hosts[name].home}/.delay-{self._token}.pid"

    def _on_receivers(self, action: Any, what: str) -> Outcomes[Any]:
        return on_each(self._rules, action, what, ACTION_TIMEOUT_S)

    def _run(self, host: Host, orders: Mapping[str, Any]) -> bytes:
        """Run the program on a host to the end of its first part; what it said."""
        done = host.run(
            "python3", "-I", "-S", "-", json.dumps(orders), stdin=_PROGRAM.read_bytes(), timeout_s=ACTION_TIMEOUT_S
        )
        return done.check(f"{host.name}: the program that delays packets").stdout

    def _measured(self, longest_ms: float) -> RoundTrips:
        """Round trips among all hosts, measured by all at the same time; ``longest_ms``: one that is to be expected."""
        orders = {
            "do": "measure",
            "port": secrets.choice(_PORTS),
            "nonce": secrets.randbits(63),
            "count": ROUND_TRIPS,
            "limit_s": 4.0 + 3 * longest_ms / 1e3,
        }
        address = {name: host.address for name, host in self.everyone.items()}

        def ask(name: str) -> dict[str, list[float]]:
            peers = [own for other, own in address.items() if other != name]
            said = self._run(self.everyone[name], {**orders, "peers": peers})
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
        shown = [
            f"{a}→{b} {_middle(seen[a, b]):.1f} ms, before {_middle(usual[a, b]):.1f} ms" for a, b in wrong[:_NAMED]
        ]
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        parts.append(f"wrong: {'; '.join(shown)}{more}")
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
