"""What dead runs left on this machine, and its removal: the work of ``chaos clean``.

The namespaces of a sandbox end with its harness, so normally there is nothing; this is for the machine that was too
busy, the init program that was killed by hand, the power that went. Nothing is ever made in the machine's own network
or mount namespace, so only processes, hosts' homes and records can be left; in a Docker engine also what
``cluster.hosts.docker.cleanup`` knows. Does not touch what belongs to a live harness: an owner is known by pid and
start time.
"""

import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from chaos.core.errors import ChaosError
from cluster.agent import linux
from cluster.cleanup import run_records
from cluster.cleanup.leftover import Leftover
from cluster.hosts.docker import cleanup
from cluster.hosts.docker.engine import Engine

_END_TIMEOUT_S: Final = 5.0


def leftovers(engine: Engine | None = None) -> list[Leftover]:
    """Everything of dead runs that this user may see: processes first, records last, as they are to be removed.

    ``engine``: a Docker engine to be looked at too.
    """
    return [*_processes(), *(cleanup.leftovers(engine) if engine is not None else ()), *_files()]


def remove(leftover: Leftover, engine: Engine | None = None) -> None:
    """Remove it; fine if it is gone. Logs in a home stay.

    Raises:
        ChaosError: it did not go, or it belongs to somebody else.
    """
    if leftover.kind == "process":
        _end(leftover)
    elif leftover.kind in ("container", "network", "volume"):
        assert engine is not None
        cleanup.remove(engine, leftover)
    elif leftover.kind == "home":
        linux.empty_home(Path(leftover.path))
    else:
        Path(leftover.path).unlink(missing_ok=True)


def environment(pid: int) -> dict[str, str]:
    """A process' environment as it was at its start; empty if it is gone or somebody else's."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (entry.partition("=") for entry in raw.decode(errors="replace").split("\0"))
    return {name: value for name, _, value in pairs}


def _processes() -> Iterator[Leftover]:
    for pid in sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        seen = environment(pid)
        started = run_records.start_time(pid)
        if started is None or pid == os.getpid() or not run_records.is_orphaned(seen):
            continue
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        yield Leftover(
            kind="process",
            run_id=seen[run_records.RUN],
            what=f"process {pid}: {command[:100]}",
            pid=pid,
            start_time=started,
        )


def _files() -> Iterator[Leftover]:
    for path in sorted(run_records.folder().glob("*.json")):
        record = run_records.read(path)
        if record is None or run_records.alive(record.pid, record.start_time, record.boot_id):
            continue
        for home in record.homes:
            if Path(home).is_dir() and {entry.name for entry in Path(home).iterdir()} != {"logs"}:
                yield Leftover(kind="home", run_id=record.run_id, what=f"data in {home}", path=home)
        yield Leftover(kind="record", run_id=record.run_id, what=f"record {path}", path=str(path))


def _end(leftover: Leftover) -> None:
    try:
        pidfd = os.pidfd_open(leftover.pid)
    except ProcessLookupError:
        return
    try:
        if run_records.start_time(leftover.pid) != leftover.start_time:
            return  # the number is another's by now, and the pidfd too
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        if not select.select([pidfd], [], [], _END_TIMEOUT_S)[0]:
            raise ChaosError(f"{leftover.what}: still there {_END_TIMEOUT_S:g} s after SIGKILL")
    except ProcessLookupError:
        return
    except PermissionError:
        raise ChaosError(f"{leftover.what}: not yours; run `chaos clean` as its owner") from None
    finally:
        os.close(pidfd)
