"""The program that the fault memory-load puts on hosts: memory that is filled and kept, beside the node's process.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.processes.memory_load``; its one argument is
JSON::

    {"pid": 71, "start": 123456, "mib": 512, "pid_file": "…"}    -> "ready", once all of it is filled
    {"look": true, "pid_file": "…"}    -> {"held": 536870912, "available": 1234567890}, in bytes

It goes on in the background until SIGTERM, or until the process ends, and writes to every page of its memory on and on,
so that none of it can be swapped out for long. It is limited hard to what it fills, leaves a quarter of the machine's
memory to others, and is the first that the kernel ends where memory runs out all the same.
"""

import json
import mmap
import os
import resource
import signal
import sys
import time

MIB = 1 << 20
KIB = 1 << 10
LEFT = 0.25
"""The share of the machine's memory that is left to others at least."""

_STEP = MIB
_OVER = 64 * MIB
_POLL_S = 0.2


def lives(pid: int, start: int) -> bool:
    """Whether the pid is still of that process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - quicker
            seen = file.read().rpartition(")")[2].split()
    except OSError:
        return False
    return seen[0] not in "ZX" and int(seen[19]) == start


def amount(path: str, name: str) -> int:
    """What a table of /proc says under a name, in bytes; 0 if it does not."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - quicker
            return next((int(line.split()[1]) * KIB for line in file if line.startswith(f"{name}:")), 0)
    except OSError:
        return 0


def spare_bytes() -> int:
    """How many bytes may be filled such that enough is left to others."""
    table = "/proc/meminfo"
    return amount(table, "MemAvailable") - int(amount(table, "MemTotal") * LEFT)


def _check(size: int) -> None:
    if (most := spare_bytes()) < size:
        raise OSError(f"only {max(0, most) // MIB} MiB can be had without harm to others; give fewer mib")


def fill(size: int) -> mmap.mmap:
    """Memory of that size, all of it written to, a piece at a time.

    Raises:
        OSError: not so much is to be had.
    """
    _check(size)
    limit = amount("/proc/self/status", "VmSize") + size + _OVER
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    held = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, size, _STEP):
        piece = min(_STEP, size - at)
        _check(size - at)
        held[at : at + piece] = os.urandom(mmap.PAGESIZE) * (piece // mmap.PAGESIZE)
    return held


def keep(held: mmap.mmap, pid: int, start: int) -> None:
    """Write to every page on and on until the process ends."""
    turn = 0
    while lives(pid, start):
        turn = (turn + 1) % 256
        held[:: mmap.PAGESIZE] = bytes([turn]) * (len(held) // mmap.PAGESIZE)
        time.sleep(_POLL_S)


def load(pid: int, start: int, mib: int, pid_file: str) -> None:
    """Fill, say so, and keep it in the background until SIGTERM or the process' end."""
    reader, writer = os.pipe()
    if (child := os.fork()) > 0:
        with open(pid_file, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib would double the start-up
            file.write(f"{child}\n")
        os.close(writer)
        with open(reader, encoding="utf-8") as pipe:  # noqa: PTH123 - a descriptor
            said = pipe.read()
        if said != "ready":
            sys.exit(said or "the memory could not be filled")
        print(said, flush=True)
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("1000")
    try:
        held = fill(mib * MIB)
    except (OSError, ValueError) as error:
        os.write(writer, str(error).encode())
        os._exit(1)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.write(writer, b"ready")
    os.close(writer)
    keep(held, pid, start)


def look(pid_file: str) -> dict[str, int]:
    """What the program holds by the kernel's count, and what is available on the machine."""
    try:
        with open(pid_file, encoding="ascii") as file:  # noqa: PTH123
            held = amount(f"/proc/{int(file.read())}/status", "RssAnon")
    except (OSError, ValueError):
        held = 0
    return {"held": held, "available": amount("/proc/meminfo", "MemAvailable")}


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    if "look" in orders:
        print(json.dumps(look(orders["pid_file"])))
    else:
        load(**orders)
