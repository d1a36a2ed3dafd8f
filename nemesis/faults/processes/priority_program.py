"""The program that the fault priority puts on hosts: it lowers the priority of a process, and raises it again.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.processes.priority``; its one argument is JSON::

    {"try": true}                            -> {"ways": ["nice", "autogroup"]}, those that can be undone here
    {"pid": 71, "lower": 19, "ways": […]}    -> {"nice": 0, "autogroup": 0}, how it was
    {"pid": 71, "lower": {"nice": 0}, "ways": ["nice"]}      the same, back to what it was
    {"pid": 71, "cpu": 1, "lower": 19, "ways": […], "seconds": 0.5, "loops": […]}
        -> {"got": 0.014, "ran": 0.001, "waited": 0.48, "nice": [19], "autogroup": 19}

Linux weighs threads by how nice they are. Where sessions are weighed (autogroup), it weighs the nice value of sessions
first; so both are lowered. ``got``: the share of a processor that a loop of that priority gets, ``ran`` and ``waited``:
how long the process did meanwhile, by the kernel; ``nice``: of its threads, and ``autogroup`` of its session, None where
there is none.
"""

import json
import os
import signal
import sys
import time
from contextlib import suppress
from typing import Any

_TRIES = 20
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


def lower(pid: int, to: dict[str, int]) -> dict[str, int]:
    """Set what is named, and say how it was."""
    before = {}
    if "nice" in to:
        before["nice"] = os.getpriority(os.PRIO_PROCESS, pid)
        set_threads(pid, to["nice"])
    if "autogroup" in to:
        before["autogroup"] = session_nice(pid) or 0
        set_session(pid, to["autogroup"])
    return before


def _undone(way: str) -> bool:
    """Whether a process of ours can lower itself by that way, and raise itself again."""
    child = os.fork()
    if child == 0:
        code = 1
        with suppress(OSError):
            os.setsid()
            before = lower(os.getpid(), {way: 5})
            lower(os.getpid(), before)
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


def spin(cpu: int, to: dict[str, int], seconds: float) -> float:
    """The share of a processor that a loop of that priority gets, in a session of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.alarm(int(seconds) + 20)
        os.sched_setaffinity(0, [cpu])
        began = time.monotonic()
        lower(os.getpid(), to)
        began, ran = time.monotonic(), time.process_time()
        while time.monotonic() < began + seconds:
            pass
        os.write(writer, str((time.process_time() - ran) / (time.monotonic() - began)).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="ascii") as pipe:
        got = float(pipe.read() or 1)
    os.waitpid(child, 0)
    return got


def watch(pid: int, cpu: int, to: dict[str, int], seconds: float) -> dict[str, Any]:
    """What a loop of that priority gets, and what became of the process meanwhile."""
    ran, waited = times(pid)
    got = spin(cpu, to, seconds)
    now = times(pid)
    seen = {"nice": nice_of(pid), "autogroup": session_nice(pid)}
    return {"got": got, "ran": now[0] - ran, "waited": now[1] - waited, **seen}


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    if "try" in orders:
        print(json.dumps({"ways": ways()}))
    elif "cpu" in orders:
        print(json.dumps(watch(orders["pid"], orders["cpu"], orders["lower"], orders["seconds"])))
    else:
        print(json.dumps(lower(orders["pid"], orders["lower"])))
