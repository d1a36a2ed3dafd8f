"""Beacons: programs on all hosts that say for how long, and how often, each link carried nothing.

For faults that change while they last: a probe matrix shows one moment, beacons show every one of them. Each silence is
measured where it is heard, so the clocks of hosts need not agree.
"""

import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from chaos.core.errors import ChaosError, DeployError
from cluster.host import Host
from nemesis.faults.cuts import beacon_program
from nemesis.faults.fault import Outcomes, on_each
from nemesis.faults.programs import ACTION_TIMEOUT_S, Resident, run_program
from nemesis.targets.grudge import Link

EVERY_S: Final = 0.02
_PROGRAM: Final = Path(beacon_program.__file__)
_PORTS: Final = range(20_000, 32_000)


class Heard(msgspec.Struct, frozen=True):
    """What one end of a link heard of the other; the words are those of ``beacon_program``."""

    arrived: int
    silences_s: tuple[float, ...]
    silent_s: float


class Beacons:
    """The programs on these hosts, for one fault.

    Args:
        hosts: by name; each sends to all others.
        least_s: what is shorter than this many seconds is no silence.
    """

    def __init__(self, hosts: Mapping[str, Host], least_s: float) -> None:
        self._hosts = hosts
        self._names = {host.address: name for name, host in hosts.items()}
        self._least_s = least_s
        self._resident = Resident("beacon", _PROGRAM)
        self._orders = {"port": secrets.choice(_PORTS), "nonce": secrets.randbits(63)}
        self._started = False

    def start(self) -> None:
        """Start all of them.

        Raises:
            ChaosError: one could not be started.
        """
        self._started = True

        def start(name: str) -> None:
            host = self._hosts[name]
            orders = {
                "do": "start",
                "own": host.address,
                "peers": [other.address for other in self._hosts.values() if other is not host],
                "every_s": EVERY_S,
                "least_s": self._least_s,
            }
            self._resident.run(host, {**self._orders, **orders})

        on_each(self._hosts, start, "starting the beacons", ACTION_TIMEOUT_S).check("starting the beacons")

    def heard(self) -> dict[Link, Heard]:
        """What each link has carried so far.

        Raises:
            ChaosError: one of the programs does not answer.
        """
        asked: Outcomes[dict[str, Heard]] = on_each(self._hosts, self._ask, "asking the beacons", ACTION_TIMEOUT_S)
        return {
            (self._names[peer], name): heard
            for name, own in asked.check("asking the beacons").items()
            for peer, heard in own.items()
        }

    def _ask(self, name: str) -> dict[str, Heard]:
        said = run_program(self._hosts[name], _PROGRAM, {"do": "report", **self._orders})
        try:
            return msgspec.json.decode(said, type=dict[str, Heard])
        except msgspec.DecodeError:
            raise DeployError(f"{name}: the beacon said {said[:100]!r}") from None

    def end(self) -> None:
        """End all of them; fine if they have ended or never began.

        Raises:
            ChaosError: one could not be ended.
        """
        if self._started:
            ended = on_each(
                self._hosts,
                lambda name: self._resident.end(self._hosts[name]),
                "ending the beacons",
                ACTION_TIMEOUT_S,
            )
            ended.check("ending the beacons")


def why_unable(host: Host) -> str | None:
    """Why no beacon can run on a host, None if one can: found by running one for a moment."""
    beacons = Beacons({host.name: host}, 1.0)
    try:
        try:
            beacons.start()
            beacons.heard()
        finally:
            beacons.end()
    except ChaosError as error:
        return f"no beacon runs: {' '.join(str(error).split())}; choose another backend"
    return None


def count_steady(heard: Mapping[Link, Heard], links: Iterable[Link], most: int) -> tuple[int, list[Link]]:
    """Pure: how many links always carried beacons, and which fell silent more than ``most`` times."""
    wanted = sorted(links)
    broken = [link for link in wanted if len(heard[link].silences_s) > most or not heard[link].arrived]
    return len(wanted) - len(broken), broken


def details(heard: Mapping[Link, Heard], links: Iterable[Link]) -> dict[str, Any]:
    """Pure: what links heard, for the history; of many silences the first 50."""
    return {
        f"{a}>{b}": {"arrived": heard[a, b].arrived, "silences_s": list(heard[a, b].silences_s[:50])}
        for a, b in sorted(links)
    }
