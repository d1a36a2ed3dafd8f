"""Which runs hold which work folders: one small file per sandbox, so that ``chaos clean`` finds the dead ones.

A record is written before anything is made and removed after everything is gone; every process of the sandbox carries
the same facts in its environment (``marker``). The owner is named by pid *and* start time, because pids come round
again. Does not remove anything.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.clock import boot_id

RUN: Final = "CHAOS_RUN"
OWNER: Final = "CHAOS_OWNER"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A sandbox and its owner. ``start_time`` in clock ticks since boot, as in /proc/PID/stat."""

    run_id: str
    pid: int
    start_time: int
    boot_id: str
    work: str
    homes: tuple[str, ...]


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if there is none or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def folder() -> Path:
    """The user's folder of records, made if missing: in ``CHAOS_CACHE``, the XDG cache, or a private temporary one."""
    base = os.environ.get("CHAOS_CACHE")
    candidates = [Path(base)] if base else []
    candidates.append(Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "chaos")
    candidates.append(Path(tempfile.gettempdir()) / f"chaos-{os.geteuid()}")
    for candidate in candidates:
        try:
            (candidate / "runs").mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(candidate / "runs", os.W_OK):
            break
    return candidate / "runs"


def write(run_id: str, work: Path, homes: tuple[str, ...]) -> Path:
    """Record that this process owns a sandbox; returns the record's file."""
    pid = os.getpid()
    record = Record(
        run_id=run_id, pid=pid, start_time=start_time(pid) or 0, boot_id=boot_id(), work=str(work), homes=homes
    )
    path = folder() / f"{run_id}-{pid}.json"
    partial = path.with_suffix(".partial")
    partial.write_bytes(msgspec.json.encode(record))
    partial.rename(path)
    return path


def read(path: Path) -> Record | None:
    """The record in a file; None if the file is gone or was never whole."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError):
        return None


def alive(pid: int, started: int, boot: str) -> bool:
    """Whether exactly that process still lives."""
    return boot == boot_id() and start_time(pid) == started


def marker(run_id: str) -> dict[str, str]:
    """The environment that every process of this process' sandbox carries."""
    pid = os.getpid()
    return {RUN: run_id, OWNER: f"{pid}:{start_time(pid)}:{_pid_namespace()}"}


def is_orphaned(environment: Mapping[str, str]) -> bool:
    """Whether a process with this environment belongs to a sandbox whose owner is dead.

    Owners in other pid namespaces (a container's) cannot be judged from here: those are left alone.
    """
    pid, _, rest = environment.get(OWNER, "").partition(":")
    started, _, namespace = rest.partition(":")
    if RUN not in environment or namespace != _pid_namespace() or not (pid.isdigit() and started.isdigit()):
        return False
    return start_time(int(pid)) != int(started)


def _pid_namespace() -> str:
    return Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
