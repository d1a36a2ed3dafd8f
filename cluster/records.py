"""Which runs hold which work folders: one small file per sandbox, so that ``chaos clean`` finds the dead ones.

A record is written before anything is made and removed after everything is gone. The owner is named by pid
*and* start time, because pids come round again. The module refuses to remove anything but records.
"""

import os
import tempfile
from pathlib import Path

import msgspec

from chaos.core.clock import boot_id


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
