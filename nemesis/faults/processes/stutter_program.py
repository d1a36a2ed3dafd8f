"""The program that the fault stutter puts on hosts: stops processes and lets them go on, many times a second.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.processes.stutter``; its one argument is JSON::

    {"home": "…", "pid": 71, "start": 123456, "on_ms": 10, "off_ms": 30, "pid_file": "…"}           -> "ready"
    {"watch": 71, "samples": 200}                            -> {"stopped": 0.74}, of looks at the process over a second

It goes on in the background until SIGTERM, and then lets the process go on. It ends when the process does.
"""

import json
import os
import random
import signal
import sys
import time


def stat(pid: int) -> list[str]:
    """State and what follows it, of /proc; empty if the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - quicker
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def is_same_process(pid: int, start: int) -> bool:
    """Whether the pid is still of that process."""
    seen = stat(pid)
    return bool(seen) and seen[0] not in "ZX" and int(seen[19]) == start


def stutter(pid: int, start: int, on_ms: float, off_ms: float, pid_file: str) -> None:
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
    going = True

    def end(_number: int, _frame: object) -> None:
        nonlocal going
        going = False

    signal.signal(signal.SIGTERM, end)
    while going and is_same_process(pid, start):
        for number, pause_ms in ((signal.SIGSTOP, off_ms), (signal.SIGCONT, on_ms)):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                return
            time.sleep(pause_ms / 1e3)


def watch(pid: int, samples: int) -> None:
    """Look often, at moments that are drawn, so that no rhythm is met."""
    stopped = 0
    for _ in range(samples):
        stopped += stat(pid)[:1] == ["T"]
        time.sleep(random.uniform(0.002, 0.008))
    print(json.dumps({"stopped": stopped / samples}))


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    if "watch" in orders:
        watch(orders["watch"], orders["samples"])
    else:
        stutter(**orders)
