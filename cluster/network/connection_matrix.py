"""Which links carry connections: a TCP connection per direction between any hosts, and what came back over it.

Beside ``probe_matrix``, whose datagrams do not see what happens to connections alone. ``measure`` acts; what an answer
means for a fault is decided by whoever asks.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from chaos.core.errors import ChaosError, DeployError
from cluster.agent import tcp_probe
from cluster.host import Host
from cluster.network.probe_matrix import Link

_PROGRAM: Final = Path(tcp_probe.__file__)
_PORTS: Final = range(20_000, 32_000)
_HOLD_S: Final = 60
_TIMEOUT_S: Final = 40.0

Result = TypeVar("Result")


class Tried(msgspec.Struct, frozen=True):
    """What became of one connection; the words are those of ``cluster.agent.tcp_probe``."""

    began: str
    echoed: int
    ended: str

    def said(self) -> str:
        """In a few words, for people."""
        if self.began != "ok":
            return self.began
        return "passed" if self.ended == "ok" else f"{self.ended} after {self.echoed} bytes"


def measure(hosts: Mapping[str, Host], size: int, wait_s: float) -> dict[Link, Tried]:
    """Try a connection on each link and have ``size`` bytes sent back; all hosts act at the same time.

    Raises:
        DeployError: a host is gone or refused the program.
        DeadlineError: a host did not do it in time.
    """
    port = secrets.choice(_PORTS)
    with ThreadPoolExecutor(len(hosts), thread_name_prefix="connections") as pool:
        pids: dict[str, int] = {}

        def start(name: str) -> None:
            orders = {"do": "listen", "port": port, "hold_s": _HOLD_S}
            pids[name] = _run(hosts[name], orders, dict[str, int])["pid"]

        def stop(name: str) -> None:
            try:
                hosts[name].run("kill", "-KILL", str(pids[name]), timeout_s=_TIMEOUT_S)
            except ChaosError:  # a host that is gone has ended it already; elsewhere its alarm does
                return

        try:
            _everywhere(pool, hosts, start)
            ports = {(a, b): port for a in hosts for b in hosts if a != b}
            return _tried(pool, hosts, ports, size, wait_s)
        finally:
            _everywhere(pool, tuple(pids), stop)


def knock(hosts: Mapping[str, Host], ports: Mapping[Link, int], wait_s: float) -> dict[Link, Tried]:
    """Try a connection to a port of each link's destination, and send nothing.

    Raises:
        DeployError: a host is gone or refused the program.
        DeadlineError: a host did not do it in time.
    """
    with ThreadPoolExecutor(max(1, len(hosts)), thread_name_prefix="connections") as pool:
        return _tried(pool, hosts, ports, 0, wait_s)


def _tried(
    pool: ThreadPoolExecutor, hosts: Mapping[str, Host], ports: Mapping[Link, int], size: int, wait_s: float
) -> dict[Link, Tried]:
    links: dict[str, list[Link]] = {}
    for link in ports:
        links.setdefault(link[0], []).append(link)

    def ask(name: str) -> list[Tried]:
        to = [[hosts[link[1]].address, ports[link]] for link in links[name]]
        return _run(hosts[name], {"do": "connect", "to": to, "bytes": size, "wait_s": wait_s}, list[Tried])

    found = _everywhere(pool, links, ask)
    return {link: tried for name, own in links.items() for link, tried in zip(own, found[name], strict=True)}


def _everywhere(pool: ThreadPoolExecutor, names: Iterable[str], action: Callable[[str], Result]) -> dict[str, Result]:
    doing = {name: pool.submit(action, name) for name in names}
    wait(doing.values())  # each has its own deadline; nobody may still be starting when all are stopped
    return {name: done.result() for name, done in doing.items()}


def _run(host: Host, orders: Mapping[str, Any], kind: type[Result]) -> Result:
    done = host.run("python3", "-I", "-S", "-", json.dumps(orders), stdin=_PROGRAM.read_bytes(), timeout_s=_TIMEOUT_S)
    done.check(f"{host.name}: trying connections")
    try:
        return msgspec.json.decode(done.stdout, type=kind)
    except msgspec.DecodeError:
        raise DeployError(f"{host.name}: asked for connections it said {done.stdout[:100]!r}") from None
