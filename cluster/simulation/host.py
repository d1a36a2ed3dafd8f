"""A simulated host: it answers the commands that the harness runs on hosts as a Linux machine would.

So the same code starts and kills nodes, cuts links and proves faults as on any other backend:
``cluster.nodes.process``, ``cluster.network.packet_filter``, ``probe_matrix`` and ``cluster.hosts.interface`` run their
scripts here, and what they print is made of the simulated world. Of programs that faults bring with them the faults say
what they do (``answers``). A command that is not known fails with exit code 127 and says so; what needs it is refused
on this backend.
"""

import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from chaos.core import waiting
from chaos.core.errors import DeployError
from cluster.host import MISSING_PROGRAMS, Capability, Completed, ControlLink
from cluster.host import Machine as HostMachine
from cluster.hosts import interface
from cluster.network import packet_filter, probe_matrix
from cluster.network.packet_filter import Rule
from cluster.nodes import log_lines, process, process_end
from cluster.nodes.process import STDOUT
from cluster.simulation.commands import Answers, CommandFailed, key_and_arguments
from cluster.simulation.machine import Machine
from cluster.simulation.network import PACKET_BYTES, CountedRule, Network

HOME: Final = "/simulated"
IPTABLES: Final = "iptables"
ABLE: Final = frozenset(
    {
        Capability.IPTABLES,
        Capability.STATISTIC,
        Capability.SIGNALS,
        Capability.RESTART,
        Capability.LINK,
        Capability.DISK,
        Capability.FILES,
        Capability.CLOCK,
    }
)
PROBES_S: Final = 0.1
"""How long probes of links take, all of them."""
STOP_S: Final = 0.05
"""How long a process takes that was asked to end."""

_ALREADY: Final = 9
_UNKNOWN: Final = 127


class SimulatedHost:
    """One host, which carries a node or (``machine`` is None) the clients; implements ``cluster.host.Host``."""

    capabilities = ABLE
    machine: HostMachine | None = None
    control: ControlLink | None = None

    def __init__(
        self,
        name: str,
        address: str,
        network: Network,
        node: Machine | None,
        next_pid: Callable[[], int],
        answers: Answers,
    ) -> None:
        self.name = name
        self.address = address
        self.home = f"{HOME}/{name}"
        self._network = network
        self._node = node
        self._next_pid = next_pid
        self._answers = answers
        self._probes: dict[str, dict[str, int]] = {}
        self._peers: Mapping[str, SimulatedHost] = {}
        self._known: dict[str, Callable[..., str]] = {
            process.STATE: self._scan,
            process.SIGNAL: self._signal,
            process.START: self._start,
            process.OUTPUT: self._output,
            process_end.TAIL: self._tail,
            log_lines.SIZES: self._sizes,
            log_lines.TAIL: self._part,
            process_end.TIMES: lambda: "",
            process_end.MISSING: lambda *_: "",
            process_end.OOM_KILLS: lambda: "",
            MISSING_PROGRAMS: lambda *_: "",
            packet_filter.VARIANT: lambda: IPTABLES,
            packet_filter.STATISTIC: lambda *_: "",
            packet_filter.APPLY: self._apply,
            packet_filter.CLEAR: self._clear,
            probe_matrix.OBEY: self._probe,
            probe_matrix.STOP: lambda *_: "",
            interface.SET: self._set_link,
            interface.FLAGS: lambda *_: f"1: eth0: <{'UP' if network.is_plugged(name) else 'DOWN'}>",
        }
        self._stdin = b""

    def meet(self, hosts: Mapping[str, "SimulatedHost"]) -> None:
        """Know the others, for probes: address → host."""
        self._peers = hosts

    # ------------------------------------------------------------ Host

    def run(self, *argv: str, stdin: bytes = b"", timeout_s: float) -> Completed:  # noqa: ARG002 - nothing takes long
        """See ``cluster.host.Host``."""
        try:
            out = self._answer(argv, stdin)
        except CommandFailed as exit_:
            return Completed(argv, exit_.code, b"", str(exit_).encode())
        return Completed(argv, 0, out.encode(), b"")

    def put(self, source: bytes | Path, target: str, *, mode: int = 0o644) -> None:  # noqa: ARG002 - nobody else is there
        """See ``cluster.host.Host``."""
        content = source if isinstance(source, bytes) else source.read_bytes()
        if self._node is not None:
            self._node.files[target.removeprefix(f"{self.home}/")] = content

    def get(self, source: str, target: Path) -> None:
        """See ``cluster.host.Host``."""
        path = source.removeprefix(f"{self.home}/")
        if self._node is None or (path != STDOUT and path not in self._node.files):
            raise FileNotFoundError(source)
        target.write_bytes(bytes(self._node.log) if path == STDOUT else self._node.files[path])

    # ------------------------------------------------------------ commands

    def _answer(self, argv: tuple[str, ...], stdin: bytes) -> str:
        self._stdin = stdin
        if argv[:2] == ("sh", "-c") and (act := self._known.get(argv[2])) is not None:
            own = argv[4:]
            if own[:1] == (self.home,) or argv[2] in _OF_NO_FOLDER:
                own = own[1:]
            return act(*own)
        if argv[0] == IPTABLES and argv[-1] == "-S":
            return self._rules(counted="-v" in argv)
        if argv[:3] == ("python3", "-I", "-S") and argv[3:4] == ("-",) and len(argv) > _PROBE_WORDS:
            folder, _, _, _, *sources = argv[4:]
            self._probes[folder] = dict.fromkeys(sources, 0)
            return json.dumps({source: number for number, source in enumerate(sources, 1)})
        key, arguments = key_and_arguments(argv, stdin)
        if self._node is not None and (answer := self._answers.get(key)) is not None:
            return answer(self._node, arguments, stdin)
        if argv[0] == "rm":
            if self._node is not None:
                self._node.disk.empty([word for word in argv[1:] if not word.startswith("-")])
            return ""
        if argv[:2] == ("test", "-x") and key_and_arguments(argv[2:], b"")[0] in self._answers:
            return ""
        raise CommandFailed(_UNKNOWN, f"a simulated host does not know the command {argv[0]}")

    def _carried(self) -> Machine:
        if self._node is None:
            raise DeployError(f"{self.name}: no node is here")
        return self._node

    def _scan(self) -> str:
        node = self._carried()
        if not node.pid:
            return ""
        head = f"{node.pid} {node.begun} {node.log_offset}\n"
        return head + (f"{node.pid} {node.pid} {'T' if node.stopped else 'S'} {node.begun}\n" if node.alive else "")

    def _signal(self, name: str) -> str:
        node = self._carried()
        if name not in _SIGNALS:
            raise CommandFailed(_UNKNOWN, f"a simulated process knows no signal {name}")
        if name == "TERM" and node.alive and not node.stopped:
            waiting.sleep(STOP_S)
        if name in ("KILL", "TERM") and not (name == "TERM" and node.stopped):
            node.kill()
        elif name == "STOP":
            node.stop()
        elif name == "CONT":
            node.resume()
        return ""

    def _start(self, *_: str) -> str:
        node = self._carried()
        if node.alive:
            raise CommandFailed(_ALREADY, "runs already")
        node.start(self._next_pid())
        return f"{node.pid} {node.begun} {node.log_offset}"

    def _output(self, position: str) -> str:
        return f"{self._scan()}\n{self._carried().log[int(position) :].decode()}"

    def _file(self, path: str) -> bytes:
        node, name = self._carried(), path.removeprefix(f"{self.home}/")
        return bytes(node.log) if name == STDOUT else node.files.get(name, b"")

    def _sizes(self, *paths: str) -> str:
        return "\n".join(str(len(self._file(path))) for path in paths)

    def _part(self, first: str, path: str, most: str) -> str:
        begin = int(first) - 1
        return self._file(path)[begin : begin + int(most)].decode(errors="replace")

    def _tail(self) -> str:
        node = self._carried()
        return node.log[node.log_offset :].decode()

    # ------------------------------------------------------------ packet filter

    def _apply(self, chain: str) -> str:
        lines = [line.split() for line in self._stdin.decode().splitlines() if line.startswith(f"-A {chain} ")]
        self._network.hold(self.name, chain, [_rule(words) for words in lines])
        return ""

    def _clear(self, chain: str) -> str:
        self._network.release(self.name, chain)
        return ""

    def _rules(self, *, counted: bool) -> str:
        lines = []
        for chain, rules in self._network.chains(self.name).items():
            lines += [f"-A {hook} {'-c 1 60 ' if counted else ''}-j {chain}" for hook in ("INPUT", "OUTPUT")]
            lines += [_line(chain, each) for each in rules]
        return "\n".join(lines)

    # ------------------------------------------------------------ links

    def _set_link(self, what: str) -> str:
        (self._network.unplug if what == "down" else self._network.plug)(self.name)
        return ""

    def _probe(self, folder: str, line: str) -> str:
        command: dict[str, Any] = json.loads(line)
        if "streams" in command:
            raise CommandFailed(_UNKNOWN, "a simulated probe counts, and does not measure streams")
        if "send" not in command:
            waiting.sleep(PROBES_S)
            return json.dumps(self._probes.pop(folder, {}))
        for address, _ in command["send"]:
            peer = self._peers[address]
            arrived = sum(self._network.passes(self.name, peer.name) for _ in range(command["count"]))
            peer.count_probes(folder.rpartition("/")[2], self.address, arrived)
        return json.dumps({"sent": command["count"]})

    def count_probes(self, measurement: str, source: str, arrived: int) -> None:
        """Probes of a measurement have arrived here."""
        for folder, counts in self._probes.items():
            if folder.endswith(measurement):
                counts[source] += arrived


_OF_NO_FOLDER: Final = frozenset({packet_filter.APPLY, packet_filter.CLEAR, interface.SET})
"""Scripts whose first argument is not the host's home and is not needed."""
_PROBE_WORDS: Final = 8
_SIGNALS: Final = frozenset({"KILL", "TERM", "STOP", "CONT"})
_OPTIONS: Final = frozenset({"-A", "-s", "-d", "-m", "--mode", "--probability", "-j"})
"""All that a simulated packet filter knows. What it does not must not pass for a rule that catches everything."""


def _rule(words: list[str]) -> Rule:
    """One line of an input of ``iptables-restore`` as ``packet_filter.program`` writes it."""
    if "DROP" not in words:
        raise CommandFailed(1, "a simulated packet filter only drops")
    strange = sorted({word for word in words if word.startswith("-")} - _OPTIONS)
    if strange:
        raise CommandFailed(
            1, f"a simulated packet filter drops all packets of a peer, it does not know {' '.join(strange)}"
        )
    after = dict(itertools.pairwise(words))
    share = float(after["--probability"]) if "--probability" in after else None
    peer = (after.get("-s") or after["-d"]).removesuffix("/32")
    return Rule(peer, "INPUT" if "-s" in after else "OUTPUT", share)


def _line(chain: str, counted: CountedRule) -> str:
    """The same as ``iptables -v -S`` prints it."""
    rule = counted.rule
    some = "" if rule.probability is None else f" -m statistic --mode random --probability {rule.probability:.11f}"
    flag = "-s" if rule.direction == "INPUT" else "-d"
    counts = f" -c {counted.packets} {counted.packets * PACKET_BYTES}"
    return f"-A {chain} {flag} {rule.address}/32{some}{counts} -j DROP"
