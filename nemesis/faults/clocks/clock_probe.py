"""The program that reads clocks on hosts as the node's processes see them.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.clocks.readings``; its one argument is JSON::

    {"pid": 71, "start": 123456, "looks": 40, "span_s": 0.5}   -> {"71": {"name": "java", "samples": [[…], …], …}, …}

For each process of the node a process of ours takes a copy of the code by which that process reads clocks (its vDSO) in
place of its own, and then reads the clock as any program does, between two reads that ask the kernel itself. It knows
nothing of how clocks are moved, and neither stops nor changes the node's processes.

A sample is ``[before, seen, after]`` of the wall clock in ns. ``steady`` says whether the monotonic clock and the time
since boot were always between two reads of the kernel's own.
"""

import ctypes
import json
import os
import random
import struct
import sys
import time

_VDSO, _GETTIME = 33, 228
_READS = 8
_YOUNG_S = 0.5
_MOST = 64
_TICKS = os.sysconf("SC_CLK_TCK")
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Time(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))


def kernel(clock: int) -> int:
    """A clock as the kernel itself says, in ns."""
    at = _Time()
    if _LIBC.syscall(_GETTIME, clock, ctypes.byref(at)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(at.s * 1_000_000_000 + at.ns)


def _between(clock: int) -> "list[int]":
    """The narrowest of several reads: what the kernel says before, what a program is told, and the kernel after."""
    found = []
    for _ in range(_READS):
        before = kernel(clock)
        seen = time.clock_gettime_ns(clock)
        found.append([before, seen, kernel(clock)])
    return min(found, key=lambda one: one[2] - one[0])


def _vdso(pid: "int | str") -> int:
    """Where a process has its code for reading clocks."""
    with open(f"/proc/{pid}/auxv", "rb") as file:  # noqa: PTH123 - pathlib would double the start-up
        data = file.read()
    found: dict[int, int] = dict(struct.iter_unpack("QQ", data[: len(data) // 16 * 16]))
    return found[_VDSO]


def _size() -> int:
    with open("/proc/self/maps", encoding="ascii", errors="replace") as file:  # noqa: PTH123
        place = next(line.split()[0] for line in file if "[vdso]" in line)
    low, high = (int(word, 16) for word in place.split("-"))
    return high - low


def wear(pid: int) -> None:
    """Read clocks by the code of that process from now on."""
    size = _size()
    theirs = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    code = os.pread(theirs, size, _vdso(pid))
    ours = os.open("/proc/self/mem", os.O_RDWR)
    if len(code) != size or os.pwrite(ours, code, _vdso("self")) != size:
        raise OSError(f"the code of process {pid} for reading clocks cannot be copied")


def looks(count: int, span_s: float) -> "dict[str, object]":
    """Read the clock ``count`` times, at moments that are drawn, within ``span_s`` altogether."""
    samples, steady = [], True
    begun = kernel(time.CLOCK_MONOTONIC)
    for moment in sorted(random.uniform(0, span_s) for _ in range(count)):
        left_s = moment - (kernel(time.CLOCK_MONOTONIC) - begun) / 1e9
        if left_s > 0:
            time.sleep(left_s)
        samples.append(_between(time.CLOCK_REALTIME))
        for clock in (time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME):
            before, seen, after = _between(clock)
            steady = steady and before <= seen <= after
    return {"samples": samples, "steady": steady}


def _stat(pid: str) -> "list[str]":
    """The name of a process, then state and what follows it, of /proc; empty if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            name, _, rest = file.read().partition("(")[2].rpartition(")")
    except OSError:
        return []
    return [name, *rest.split()]


def tree(root: int, start: int) -> "dict[int, str]":
    """The names of the node's process, of its session and of all that descend from them, but for the youngest."""
    with open("/proc/uptime", encoding="ascii") as file:  # noqa: PTH123
        uptime_s = float(file.read().split()[0])
    stats = {int(pid): stat for pid in os.listdir("/proc") if pid.isdigit() and (stat := _stat(pid))}  # noqa: PTH208
    if root not in stats or int(stats[root][20]) != start:
        return {}
    found = {pid for pid, stat in stats.items() if pid == root or int(stat[4]) == root}
    while more := {pid for pid, stat in stats.items() if pid not in found and int(stat[2]) in found}:
        found |= more
    old = (pid for pid in sorted(found) if pid == root or uptime_s - int(stats[pid][20]) / _TICKS > _YOUNG_S)
    return {pid: stats[pid][0] for pid in list(old)[:_MOST] if stats[pid][1] not in "ZX"}


def read(pid: int, count: int, span_s: float) -> "tuple[int, int]":
    """Begin to look at one process: the pid of who does, and a pipe from it."""
    from_child, to_us = os.pipe()
    if (child := os.fork()) == 0:
        try:
            wear(pid)
            said = json.dumps(looks(count, span_s))
        except OSError as error:
            said = json.dumps({"error": str(error)})
        os.write(to_us, said.encode())
        os._exit(0)
    os.close(to_us)
    return child, from_child


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    names = tree(orders["pid"], orders["start"])
    begun = {pid: read(pid, orders["looks"], orders["span_s"]) for pid in names}
    found = {}
    for pid, (child, pipe) in begun.items():
        with os.fdopen(pipe, "rb") as file:
            said = json.loads(file.read() or b'{"error": "nothing was read"}')
        os.waitpid(child, 0)
        if "error" not in said or _stat(str(pid)):
            found[pid] = {"name": names[pid], **said}
    print(json.dumps(found))
