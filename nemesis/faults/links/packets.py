"""What faults of packets share: a program on each host that receives, to which rules hand what peers send.

Rules at the receiving end of each direction hand packets to a program on that host (``packet_program.py``) through an
NFQUEUE; it says what becomes of them. Needs no kernel module for queueing disciplines and leaves those of a machine
alone. Where two such faults hit one link, the one that was there first does. A program that dies lets packets pass
(``--queue-bypass``), and the last look says that it is gone.
"""

import json
import secrets
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec

from chaos.core.errors import ChaosError
from chaos.core.events import Evidence
from cluster.host import Capability, Host
from cluster.network import packet_filter
from cluster.network.packet_filter import Rule
from nemesis.faults.fault import Outcomes, Scene, on_each
from nemesis.faults.links import packet_program
from nemesis.faults.links.link_fault import LinkFault
from nemesis.faults.programs import ACTION_TIMEOUT_S, Resident
from nemesis.targets.grudge import Grudge, links_touching
from nemesis.targets.selectors import Selector

MOST_HELD: Final = 20_000
"""So many packets wait on one host at most; what comes then is dropped, as by a link that is full."""

TRIED_MS: Final = 20
HELP: Final = "modprobe -a nfnetlink_queue xt_NFQUEUE xt_mark"
_COPIES: Final = 2
_PROGRAM: Final = Path(packet_program.__file__)
_NOT_OURS: Final = f"-m mark ! --mark {packet_program.MARK:#x}"
_QUEUES: Final = range(2_000, 60_000)
_PORTS: Final = range(20_000, 32_000)

# $1 iptables, $2 a chain of its own, $3 port, $4 queue, $5 orders, $6 the mark of copies; program on standard input.
_TRY: Final = """\
end() { "$1" -w 5 -D INPUT -j "$2"; "$1" -w 5 -F "$2"; "$1" -w 5 -X "$2"; }
"$1" -w 5 -N "$2" || exit
"$1" -w 5 -A "$2" -i lo -p udp --dport "$3" -m mark ! --mark "$6" -j NFQUEUE --queue-num "$4" --queue-bypass &&
  "$1" -w 5 -I INPUT -j "$2" && timeout 10 python3 -I -S - "$5"; result=$?
end "$1" "$2" >/dev/null 2>&1; exit $result
"""


class PacketFault(LinkFault):
    """Packets on the links of the grudge pass a program on the host that receives them."""

    in_all: ClassVar[bool] = False
    needs: ClassVar[frozenset[Capability]] = LinkFault.needs | {Capability.PROGRAMS}
    done: ClassVar[str] = "handed over"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        self._queue = secrets.choice(_QUEUES)
        self._resident = Resident(self.name, _PROGRAM)
        super().__init__(scene)

    @classmethod
    def grudge(cls, selector: Selector, names: Sequence[str], participants: Sequence[str]) -> Grudge:  # noqa: ARG003
        """Every link of the targets, each way."""
        return links_touching(names, participants)

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Hold one datagram over the host's loopback for 20 ms, alter it, and have it come again."""
        queue, port = secrets.choice(_QUEUES), secrets.choice(_PORTS)
        orders = json.dumps({"do": "try", "queue": queue, "port": port, "delay_ms": TRIED_MS})
        chain = packet_filter.chain(f"try-{secrets.randbits(40):010x}")
        try:
            command = (packet_filter.variant(host), chain, str(port), str(queue), orders, f"{packet_program.MARK:#x}")
            done = host.run("sh", "-c", _TRY, "sh", *command, stdin=_PROGRAM.read_bytes(), timeout_s=ACTION_TIMEOUT_S)
            seen = msgspec.json.decode(done.check("holding a packet").stdout, type=dict[str, float])
            took_ms, copies = seen["took_ms"], seen["copies"]
        except (ChaosError, msgspec.DecodeError, KeyError) as error:
            return f"no packet can be held back: {' '.join(str(error).split())}; {HELP}"
        if took_ms < TRIED_MS:
            return f"a packet held for {TRIED_MS} ms took {took_ms:.1f} ms; {HELP}"
        return None if copies == _COPIES else f"a packet cannot be altered and sent again; {HELP}"

    @abstractmethod
    def orders(self) -> Mapping[str, Any]:
        """What the program is to do, as ``packet_program`` says."""

    def rule(self, address: str) -> Rule:
        """Hand what the peer sends to the program, but not what the program sends itself."""
        return Rule(address, "INPUT", queue=self._queue, match=_NOT_OURS)

    def act(self) -> None:
        """Start the programs, and lead the packets to them."""
        orders = {**self.orders(), "queue": self._queue, "most": MOST_HELD}
        self._on_receivers(
            lambda name: self._resident.run(self._hosts[name], orders),
            "starting to hold packets",
        ).check("starting the program")
        super().act()

    def verify_still(self) -> Evidence:
        """Ask whether the rules are there and whether the programs live."""
        rules = super().verify_still()
        lives = self._on_receivers(lambda name: self._resident.lives(self._hosts[name]), "a look at the program").check(
            "looking at the programs"
        )
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
            self._on_receivers(lambda name: self._resident.end(self._hosts[name]), "ending the program").check(
                "letting packets go"
            )

    def _on_receivers(self, action: Any, what: str) -> Outcomes[Any]:
        return on_each(self._rules, action, what, ACTION_TIMEOUT_S)
