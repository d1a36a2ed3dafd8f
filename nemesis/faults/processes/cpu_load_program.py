"""The program that the fault cpu-load puts on hosts: loops that compete with a process for one processor.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.processes.cpu_load``; its one argument is JSON::

    {"pid": 71, "start": 123456, "hogs": 4, "cpu": 1, "usual": {"71": [0, 1]}, "pid_file": "…"}    -> "ready"
    {"pid": 71, "pin": 1}                    -> {"71": [0, 1], "72": [0, 1]}, where each thread could run before
    {"pid": 71, "back": {"71": [0, 1]}}      -> nothing: threads that are new run where the process could
    {"pid": 71, "watch": 1, "seconds": 0.5, "pid_file": "…"}  -> {"got": 0.19, "loops": [0.2, 0.19], "elsewhere": 0}

The loops go on in the background until SIGTERM, when threads run again where they could (``usual``), so that this needs
no harness; or until the process ends. Each is in a session of its own, so that the kernel weighs each like the process,
and ends with the program that started it. ``got``: the share of processor ``watch`` that another loop gets, ``loops``:
that each of the loops gets meanwhile, by the kernel; ``elsewhere``: how many threads of the process may run on another
one.
"""

import ctypes
import json
import os
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1


def lives(pid: int, start: int) -> bool:
    """Whether the pid is still of that process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - quicker
            seen = file.read().rpartition(")")[2].split()
    except OSError:
        return False
    return seen[0] not in "ZX" and int(seen[19]) == start


def threads(pid: int) -> list[int]:
    """The threads of a process; none if it has ended."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208 - quicker
    except OSError:
        return []


def place(thread: int, cpus: list[int]) -> list[int]:
    """Let a thread run there and nowhere else; where it could run before, nowhere if it has ended."""
    try:
        before = sorted(os.sched_getaffinity(thread))
        os.sched_setaffinity(thread, cpus)
    except ProcessLookupError:
        return []
    return before


def pin(pid: int, cpu: int) -> dict[str, list[int]]:
    """Put all threads on one processor, also those that begin meanwhile."""
    before: dict[str, list[int]] = {}
    while new := [thread for thread in threads(pid) if str(thread) not in before]:
        before |= {str(thread): place(thread, [cpu]) for thread in new}
    return before


def restore_threads(pid: int, before: dict[str, list[int]]) -> None:
    """Let all threads run where they could."""
    usual = before.get(str(pid)) or sorted(os.sched_getaffinity(0))
    for thread in threads(pid):
        place(thread, before.get(str(thread)) or usual)


def hog(cpu: int, parent: int) -> None:
    """Loop until the parent ends."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.sched_setaffinity(0, [cpu])
    if os.getppid() != parent:
        os._exit(0)
    while True:
        pass


def load(pid: int, start: int, hogs: int, cpu: int, usual: dict[str, list[int]], pid_file: str) -> None:
    """Until SIGTERM, or the process' end."""
    if (child := os.fork()) > 0:
        with open(pid_file, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib would double the start-up
            file.write(f"{child}\n")
        print("ready", flush=True)
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)

    def end(_number: int, _frame: object) -> None:
        if lives(pid, start):
            restore_threads(pid, usual)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    parent = os.getpid()
    for _ in range(hogs):
        if os.fork() == 0:
            hog(cpu, parent)
    while lives(pid, start):
        time.sleep(0.2)


def loops_of(pid_file: str) -> list[int]:
    """The loops of the program with this pid file; none if there is no such program."""
    try:
        with open(pid_file, encoding="ascii") as file:  # noqa: PTH123 - pathlib would double the start-up
            parent = int(file.read())
        with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:  # noqa: PTH123
            return [int(word) for word in file.read().split()]
    except (OSError, ValueError):
        return []


def ran_s(pid: int) -> float:
    """How long a process has run by now."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[0]) / 1e9
    except OSError:
        return 0.0


def watch(pid: int, cpu: int, seconds: float, pid_file: str) -> dict[str, object]:
    """What a loop gets of a processor; it is in a session of its own, as every command on a host."""
    os.sched_setaffinity(0, [cpu])
    before = {one: ran_s(one) for one in loops_of(pid_file)}
    began, ran = time.monotonic(), time.process_time()
    while time.monotonic() < began + seconds:
        pass
    wall_s = time.monotonic() - began
    got = (time.process_time() - ran) / wall_s
    loops = [(ran_s(one) - then_s) / wall_s for one, then_s in before.items()]
    elsewhere = 0
    for thread in threads(pid):
        try:
            elsewhere += os.sched_getaffinity(thread) != {cpu}
        except ProcessLookupError:
            continue
    return {"got": got, "loops": loops, "elsewhere": elsewhere}


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    if "hogs" in orders:
        load(**orders)
    elif "pin" in orders:
        print(json.dumps(pin(orders["pid"], orders["pin"])))
    elif "back" in orders:
        restore_threads(orders["pid"], orders["back"])
    else:
        print(json.dumps(watch(orders["pid"], orders["watch"], orders["seconds"], orders["pid_file"])))
