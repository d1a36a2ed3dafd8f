"""Where Spark runs: what a master's URL means, which address its executors reach us at, whether anybody is there.

Spark itself tries an absent master for minutes and binds wherever it likes; here both are settled before a JVM starts.
Does not start anything.
"""

import re
import socket
from collections.abc import Mapping
from typing import Final, NamedTuple

from chaos.core.errors import ChaosError, UsageError

LOOPBACK: Final = "127.0.0.1"
EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - behind a translated address the driver cannot bind to the one it is known by
ATTEMPTS: Final = 4
"""How often Spark itself runs a slice before it gives up the job; only the first of them performs anything."""
REACH_S: Final = 5.0
_CORES: Final = re.compile(r"local\[(?P<cores>\d+|\*)(?:,(?P<failures>\d+))?\]")
_OTHERS: Final = re.compile(r"local-cluster\[\d+,\d+,\d+\]|yarn|k8s://.+")
_STANDALONE: Final = "spark://"


class Where(NamedTuple):
    """A master, and the address at which its executors reach the driver (empty: found out)."""

    master: str = "local[2]"
    driver_host: str = ""

    @property
    def local(self) -> bool:
        """Whether executors are children of this process' JVM, with this Python and its packages."""
        return self.master == "local" or self.master.startswith("local[")


def resolve_master(where: Where) -> Where:
    """The same place with its master spelled in full.

    Raises:
        UsageError: no master that Spark knows; a driver's address where nobody is far away.
    """
    master = "local[1]" if where.master == "local" else where.master
    local = _CORES.fullmatch(master)
    if local is not None:
        if where.driver_host:
            raise UsageError(f"--driver-host {where.driver_host}: --master {where.master} has no executors elsewhere")
        return Where(f"local[{local['cores']},{local['failures'] or ATTEMPTS}]")
    if master.startswith(_STANDALONE):
        endpoints(master)
    elif not _OTHERS.fullmatch(master):
        raise UsageError(f"--master {master}: no master; name local[N], local[*], spark://HOST:PORT, yarn or k8s://URL")
    return where


def endpoints(master: str) -> list[tuple[str, int]]:
    """Hosts and ports of ``spark://a:7077,b:7077``; none of masters of other kinds.

    Raises:
        UsageError: one has no port.
    """
    if not master.startswith(_STANDALONE):
        return []
    found = []
    for text in master.removeprefix(_STANDALONE).split(","):
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise UsageError(f"--master {master}: {text!r} is not HOST:PORT")
        found.append((host.strip("[]"), int(port)))
    return found


def reach(master: str) -> None:
    """Connect to one of the masters named, so that an absent one is told at once.

    Raises:
        ChaosError: nobody answers; in one line, after at most ``REACH_S`` seconds a master.
    """
    why = ""
    for endpoint in endpoints(master):
        try:
            socket.create_connection(endpoint, timeout=REACH_S).close()
        except OSError as error:
            why = error.strerror or str(error) or type(error).__name__
        else:
            return
    if why:
        raise ChaosError(f"no Spark master at {master}: {why}; start one, or check with --engine local")


def source_address(master: str) -> str:
    """Our address on the route to the master: where executors find the driver unless told otherwise."""
    for host, port in endpoints(master):
        try:
            family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind) as probe:
                probe.connect(address)  # a datagram socket: the route is looked up, nothing is sent
                return str(probe.getsockname()[0])
        except OSError:
            continue
    return LOOPBACK if master.startswith("local") else socket.gethostname()


def _bindable(host: str) -> bool:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.bind(address)
    except OSError:
        return False
    return True


def settings(where: Where) -> Mapping[str, str]:
    """What of Spark's configuration depends on the place."""
    if where.local:
        return {"spark.master": where.master, "spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    host = where.driver_host or source_address(where.master)
    return {
        "spark.master": where.master,
        "spark.driver.host": host,
        "spark.driver.bindAddress": host if _bindable(host) else EVERYWHERE,
        "spark.task.maxFailures": str(ATTEMPTS),
    }
