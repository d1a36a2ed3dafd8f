"""The program that the fault priority puts on hosts: it lowers the priority of a process, and raises it again.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.processes.priority``; its one argument is JSON::

    {"try": true}                               -> ["nice", "autogroup"], what can be lowered and raised again here
    {"pid": 71}                                 -> {"nice": [0], "autogroup": 0, "cpus": [0, 1]}
    {"pid": 71, "to": {"nice": 19, "autogroup": 19}}      -> nothing: it is set
    {"pid": 71, "to": {…}, "cpu": 1, "seconds": 0.5}      -> {"got": 0.01, "usual": 0.5, "ran": 0.0, "waited": 0.5,
                                                              "nice": [19], "autogroup": 19, "cpus": [1]}

Linux weighs threads by how nice they are. Where it weighs sessions (autogroup), the nice value of the session counts;
so both are set. ``nice``: of the process' threads, each value once; ``autogroup``: of its session, None where sessions
are not weighed; ``cpus``: the processors on which any of the threads may run. ``got`` and ``usual``: the share of a
processor that a loop gets with these values, and that another one gets meanwhile without; ``ran`` and ``waited``: how
long the process did, s, by the kernel.
"""

import json
import os
import signal
import sys
import time
from contextlib import suppress
from typing import Any

_TRIES = 20
_LOW = 19
_ENABLED = "/proc/sys/kernel/sched_autogroup_enabled"


def threads(pid: int) -> list[int]:
    """The threads of a process; none if it has ended."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208 - quicker
    except OSError:
        return []


def read(path: str) -> str:
    """A file of /proc; empty if there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - quicker
            return file.read()
    except OSError:
        return ""


def session_nice(pid: int) -> int | None:
    """The nice value of the process' session; None where sessions are not weighed."""
    words = read(f"/proc/{pid}/autogroup").split()
    return int(words[-1]) if words and read(_ENABLED).strip() == "1" else None


def nice_of(pid: int) -> list[int]:
    """The nice values of all threads, each once."""
    found = set()
    for thread in threads(pid):
        with suppress(ProcessLookupError):
            found.add(os.getpriority(os.PRIO_PROCESS, thread))
    return sorted(found)


def set_session(pid: int, nice: int) -> None:
    """Set the nice value of the process' session; the kernel takes one in a tenth of a second.

    Raises:
        OSError: it refuses.
    """
    for attempt in range(_TRIES):
        try:
            with open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as file:  # noqa: PTH123
                file.write(str(nice))
        except BlockingIOError:
            if attempt == _TRIES - 1:
                raise
            time.sleep(0.1)
        else:
            return


def set_threads(pid: int, nice: int) -> None:
    """Set the nice value of all threads, also of those that begin meanwhile."""
    done: set[int] = set()
    while new := set(threads(pid)) - done:
        for thread in new:
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, thread, nice)
        done |= new


def set_priority(pid: int, to: dict[str, int]) -> None:
    """Set what is named."""
    if "nice" in to:
        set_threads(pid, to["nice"])
    if "autogroup" in to:
        set_session(pid, to["autogroup"])


def state(pid: int) -> dict[str, Any]:
    """What is set."""
    cpus: set[int] = set()
    for thread in threads(pid):
        with suppress(ProcessLookupError):
            cpus |= os.sched_getaffinity(thread)
    return {"nice": nice_of(pid), "autogroup": session_nice(pid), "cpus": sorted(cpus)}


def _undone(way: str) -> bool:
    """Whether a process of ours can lower itself by that way, and raise itself again."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    child = os.fork()
    if child == 0:
        code = 1
        with suppress(OSError):
            os.setsid()
            set_priority(os.getpid(), {way: _LOW})
            set_priority(os.getpid(), {way: 0 if way == "autogroup" else usual})
            code = 0
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def ways() -> list[str]:
    """What can be lowered and raised again here."""
    able = ["nice"] if _undone("nice") else []
    return [*able, "autogroup"] if session_nice(os.getpid()) is not None and _undone("autogroup") else able


def times(pid: int) -> tuple[float, float]:
    """How long all threads of a process have run and have waited to run, s."""
    rows = [read(f"/proc/{pid}/task/{one}/schedstat").split() for one in threads(pid)]
    return sum(int(row[0]) for row in rows if row) / 1e9, sum(int(row[1]) for row in rows if row) / 1e9


def spin(cpu: int, to: dict[str, int], seconds: float) -> int:
    """Start a loop on a processor with these values, in a session of its own; where it will say what it got."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        signal.alarm(int(seconds) + 20)
        os.sched_setaffinity(0, [cpu])
        set_priority(os.getpid(), to)
        began, ran = time.monotonic(), time.process_time()
        while time.monotonic() < began + seconds:
            pass
        os.write(writer, str((time.process_time() - ran) / (time.monotonic() - began)).encode())
        os._exit(0)
    os.close(writer)
    return reader


def watch(pid: int, to: dict[str, int], cpu: int, seconds: float) -> dict[str, Any]:
    """What loops get with these values and without, and what became of the process meanwhile."""
    before = times(pid)
    readers = [spin(cpu, one, seconds) for one in (to, {})]
    for _ in readers:
        os.wait()
    got, usual = (float(os.read(reader, 100) or 0) for reader in readers)
    now = times(pid)
    return {"got": got, "usual": usual, "ran": now[0] - before[0], "waited": now[1] - before[1], **state(pid)}


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    if "try" in orders:
        print(json.dumps(ways()))
    elif "cpu" in orders:
        print(json.dumps(watch(**orders)))
    elif "to" in orders:
        set_priority(orders["pid"], orders["to"])
    else:
        print(json.dumps(state(orders["pid"])))
