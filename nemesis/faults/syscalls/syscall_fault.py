"""What faults share that do something to system calls of nodes: a rule put in place, proven by a probe, removed.

A node is started under a supervisor that the kernel asks before each call that a planned fault names
(``arming``). The probe is a small program under the same supervisor that makes these calls, with arguments
that do nothing, and tells what each returned and when; the same program beside the supervisor must see nothing. At the
end the node's own process must have made a call that was hit. A process that ended because of it is started again.
"""

import secrets
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import msgspec

from chaos.core.errors import DeployError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour, Hits
from cluster.cluster import Node
from cluster.host import Capability, Host
from cluster.nodes import process
from nemesis.arming import Arming
from nemesis.faults.bring_back import Restarts
from nemesis.faults.disks.disk_fault import bounds
from nemesis.faults.fault import Fact, Fault, Scene, look_then_act, on_each
from nemesis.faults.processes.process_fault import ACTION_TIMEOUT_S
from nemesis.faults.syscalls import supervised_start
from nemesis.faults.syscalls.calls import PROBED, Calls, members
from nemesis.proof import evidence

PATIENCE_MS: Final = 1000
LAST_PATIENCE_MS: Final = 400
"""Probes wait so long for a call, and so long at the last look; of longer waits they see only that it is not back."""

_MARGIN_MS: Final = 300

_RULE_IDS: Final = 1 << 30
_FILTERED: Final = "2"
# $1 and on: the command. Each of so many probes at a time is ended if it takes too long, and says so.
_PROBES: Final = """\
count=$1 patience=$2; shift 2
while [ "$count" -gt 0 ]; do
  count=$((count - 1))
  { timeout -s KILL "$patience" "$@" || echo late; } 2>/dev/null &
done
wait
"""


class Returned(msgspec.Struct, frozen=True):
    """What a probe saw of one call: the errno, and how long it took; infinite if it had not returned."""

    errno: int
    ms: float


class SyscallFault(Fault):
    """One rule for some nodes; a subclass says which, and how a probe sees it."""

    hits: ClassVar[Hits] = "nodes"
    colour: ClassVar[Colour] = "green"
    in_all: ClassVar[bool] = False
    restarts: ClassVar[bool] = True
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.SIGNALS, Capability.RESTART, Capability.PROGRAMS})
    arming: ClassVar[Arming | None] = supervised_start.SUPERVISED

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._nodes: dict[str, Node] = {name: scene.cluster.nodes[name] for name in scene.targets.names}
        self._id = str(1 + secrets.randbelow(_RULE_IDS))
        self._hits: dict[str, int] = {}
        self._details: dict[str, dict[str, dict[str, int]]] = {}
        self._restarts = Restarts(scene.cluster.run_id, scene.serve_within_s)
        self._wait_s = scene.serve_within_s + ACTION_TIMEOUT_S

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Which calls."""
        return f"{' '.join(names)}, {cls.verb}: {cls.said(params)}"

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Let a call of a program of ours fail."""
        return supervised_start.obstacle(host)

    @classmethod
    @abstractmethod
    def said(cls, params: Any) -> str:
        """Which calls, and what becomes of them, for people."""

    @abstractmethod
    def action(self) -> tuple[int, int]:
        """The errno that calls return, or 0 and the microseconds that they wait."""

    @abstractmethod
    def probes(self) -> tuple[int, int]:
        """How many probes look at a time, and how many calls each makes."""

    @abstractmethod
    def is_hit(self, seen: Returned, patience_ms: float) -> bool:
        """Pure: whether a call that returned so was hit, of which so long was waited for."""

    @abstractmethod
    def effect(self, patience_ms: float) -> str:
        """What calls do that are hit, of which so long is waited for."""

    def act(self) -> None:
        """Put the rule in place, on nodes whose process is under the supervisor."""
        if not self.params.share:
            return
        errno, microseconds = self.action()
        parts = (f"{members(frozenset({call}))}:{self.params.every}" for call in self.params.call)
        share, seed = f"{self.params.share:f}", str(secrets.randbits(60) | 1)
        words = ("rule", self._id, str(errno), str(microseconds), share, seed, *parts)

        def look(name: str) -> None:
            host, seen = self._nodes[name].host, process.state(self._nodes[name])
            under = (supervised_start.ask(host, "tell", "0") or {}).get("pids", "").split("+")
            if str(seen.pid) not in under:
                raise DeployError("its process is not under the supervisor; only those are that chaos run has started")

        def put(name: str, _seen: None) -> None:
            supervised_start.ask(self._nodes[name].host, *words)

        what = "hitting system calls"
        look_then_act(self._nodes, look, put, what, ACTION_TIMEOUT_S).check(what)

    def verify(self) -> Evidence:
        """Make the calls under the supervisor and beside it, and look at what came of them."""
        return self._look(self._in_force)

    def verify_still(self) -> Evidence:
        """Make some calls again, and look whether the node has made one that was hit."""
        return self._look(self._still_in_force)

    def _in_force(self, name: str) -> Fact:
        """Whether calls are hit, of a program and of no other beside the supervisor."""
        return self._seen(name, PATIENCE_MS, beside=True)

    def _still_in_force(self, name: str) -> Fact:
        good, said = self._seen(name, LAST_PATIENCE_MS, beside=False)
        return good and bool(self._hits.get(name)), said

    def _seen(self, name: str, patience_ms: float, *, beside: bool) -> Fact:
        if not self.params.share:
            return False, "nothing is hit: the share is 0"
        host, seen = self._nodes[name].host, process.state(self._nodes[name])
        if supervised_start.ask(host, "tell", self._id) is None:
            return False, "its supervisor is gone"
        facts = [self._probed(name, call, patience_ms, beside=beside) for call in self.params.call]
        if seen.alive and self._is_unfiltered(host, seen.pid):
            facts.append((False, "the kernel does not ask about its process"))
        told = supervised_start.ask(host, "tell", self._id)
        if told is None:
            return False, "its supervisor is gone"
        calls, self._hits[name] = int(told["node.calls"]), int(told["node.hits"])
        facts.append((True, f"its own process made {calls} of these calls, {self._hits[name]} were hit"))
        return all(good for good, _ in facts), ", ".join(said for _, said in facts)

    def _probed(self, name: str, call: str, patience_ms: float, *, beside: bool) -> Fact:
        """Whether so many calls of a probe are hit as should be, and none beside the supervisor."""
        host = self._nodes[name].host
        inside = self._hit(host, call, patience_ms, under=True)
        outside = self._hit(host, call, patience_ms, under=False) if beside else []
        least, most = bounds(self.params.share / self.params.every, len(inside))
        hit = sum(inside)
        self._details.setdefault(name, {})[call] = {"hit": hit, "of": len(inside), "beside": sum(outside)}
        said = f"{hit} of {len(inside)} probes of {call} {self.effect(patience_ms)}"
        good = max(least, 1 if beside else 0) <= hit <= most and not any(outside)
        return good, f"{said}{f' and {sum(outside)} beside the supervisor' if beside else ''}"

    def heal(self) -> None:
        """Remove the rule, which lets go on what waits, and start a process that has ended."""

        def mend(name: str) -> None:
            supervised_start.ask(self._nodes[name].host, "unrule", self._id)
            if not process.state(self._nodes[name]).alive:
                self._restarts.bring_back(self._nodes[name])

        on_each(self._nodes, mend, "letting system calls be", self._wait_s).check("letting system calls be")

    def verify_healed(self) -> Evidence:
        """No probe is hit, no rule is left, and the process lives and is still asked for."""
        failed: dict[str, str] = {}

        def fact(name: str) -> Fact:
            node = self._nodes[name]
            seen = process.state(node)
            if not seen.alive:
                failed[name] = self._restarts.why_not(name, alive=False)
                return False, "its process is dead"
            told = supervised_start.ask(node.host, "tell", self._id)
            if self.params.share and (told is None or str(seen.pid) not in told["pids"].split("+")):
                return False, "its process has lost its supervisor"
            hit = sum(sum(self._hit(node.host, call, PATIENCE_MS, under=True)) for call in self.params.call)
            left = told is not None and told["rules"] != "0"
            phrase = f"{hit or 'no'} calls of probes are hit, {'a' if left else 'no'} rule is left"
            if name in self._restarts.ready_s:
                phrase += f", its process had ended and serves after {self._restarts.ready_s[name]:.1f} s"
            return not hit and not left, phrase

        found = self._look(fact)
        return msgspec.structs.replace(found, details={"failed": failed}) if failed else found

    def _look(self, fact: Callable[[str], Fact]) -> Evidence:
        facts = on_each(self._nodes, fact, "a look at system calls", ACTION_TIMEOUT_S)
        return evidence.each_node(
            facts.facts(lambda _name, one: one), {"probes": dict(self._details), "hits": dict(self._hits)}
        )

    def _is_unfiltered(self, host: Host, pid: int | None) -> bool:
        """Whether the kernel says that no filter decides about its calls; of one that has ended it says nothing."""
        argv = ("sed", "-n", r"s/^Seccomp:\s*//p", f"/proc/{pid}/status")
        return host.run(*argv, timeout_s=ACTION_TIMEOUT_S).text not in (_FILTERED, "")

    def _hit(self, host: Host, call: str, patience_ms: float, *, under: bool) -> list[bool]:
        """Of each call of probes on the host whether it was hit, by what they see."""
        at_a_time, each = self.probes()
        path = supervised_start.PROGRAM.path_in(host.home)
        member = PROBED[call]
        run = (path, "run", supervised_start.socket_of(host.home), supervised_start.PROBE, member) if under else ()
        patience_s = f"{(patience_ms * each + _MARGIN_MS) / 1e3:g}"
        argv = ("sh", "-c", _PROBES, "sh", str(at_a_time), patience_s, *run, path, "probe", member, str(each))
        done = host.run(*argv, timeout_s=ACTION_TIMEOUT_S).check(f"{host.name}: probing {call}")
        return [self.is_hit(one, patience_ms) for one in parse_returned(done.text, at_a_time * each, call)]


def parse_returned(text: str, count: int, call: str) -> list[Returned]:
    """Pure: what probes printed of ``count`` calls.

    Raises:
        DeployError: they did not tell of as many.
    """
    seen = []
    for line in text.splitlines():
        errno, _, microseconds = line.partition(" ")
        late = errno == "late"
        seen.append(Returned(0, float("inf")) if late else Returned(int(errno), int(microseconds) / 1e3))
    if len(seen) != count:
        raise DeployError(f"{len(seen)} of {count} probes of {call} told what they saw")
    return seen


def describe_calls(params: Calls) -> str:
    """Pure: which calls, for people: ``every fsync, every write``, or ``one in 3 write``, with the share."""
    how = "every" if params.every == 1 else f"one in {params.every}"
    parts = ", ".join(f"{how} {call}" for call in params.call)
    return parts + ("" if params.share == 1 else f" ({params.share:g} of them)")
