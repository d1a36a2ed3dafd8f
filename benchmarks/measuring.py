"""Runs a piece of work in a process of its own and says what it took: seconds, memory of the whole tree, its profile.

Work is a function of a module of benchmarks/, named ``module:function``, that takes and gives what JSON can hold. A
command is work too. Memory is the sum of the resident sets of the process and all below it, sampled ten times a second:
what they share is counted for each of them.
"""

import cProfile
import json
import os
import pstats
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DEADLINE_S = 3 * 3600
SAMPLE_S = 0.1
SHOWN = 8
_PAGE = os.sysconf("SC_PAGE_SIZE")


def _tree(root: int) -> list[int]:
    """A process and all below it."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(parent, []).append(int(path.parent.name))
    out = [root]
    for process in out:
        out += parents.get(process, [])
    return out


def _resident_bytes(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


class _Memory:
    """The most that a process and all below it held."""

    def __init__(self, process: int) -> None:
        self.peak_bytes = 0
        self._process, self._over = process, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self.peak_bytes = max(self.peak_bytes, sum(_resident_bytes(one) for one in _tree(self._process)))

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


def command(argv: Sequence[str], *, cores: int | None = None, codes: Sequence[int] = (0,)) -> dict[str, Any]:
    """Run a command: ``wall_s``, ``peak_mib``, and what it printed. ``cores``: on so many, None: on all there are.

    Raises:
        SystemExit: it ended with another code; what it said is printed.
    """
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    began = time.perf_counter()
    with subprocess.Popen(
        argv,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        preexec_fn=lambda: os.sched_setaffinity(0, allowed),  # noqa: PLW1509 - one call, before any thread is there
    ) as process:
        memory = _Memory(process.pid)
        try:
            out, error = process.communicate(timeout=DEADLINE_S)
        finally:
            process.kill()
            memory.stop()
    wall_s = time.perf_counter() - began
    if process.returncode not in codes:
        raise SystemExit(f"exit {process.returncode}: {' '.join(argv)}\n{out[-2000:]}{error[-2000:]}")
    return {"wall_s": round(wall_s, 3), "peak_mib": round(memory.peak_bytes / 2**20), "out": out}


_CALL = (
    "import importlib, json, sys\n"
    "if __name__ == '__main__':\n"
    "    module, function = sys.argv[1].split(':')\n"
    "    done = getattr(importlib.import_module('benchmarks.' + module), function)(**json.loads(sys.argv[2]))\n"
    "    print(json.dumps(done))\n"
)


def work(name: str, *, cores: int | None = None, **arguments: Any) -> dict[str, Any]:
    """Call a function in a process of its own: what it gave, and ``peak_mib``."""
    ran = command([sys.executable, "-c", _CALL, name, json.dumps(arguments)], cores=cores)
    return {**json.loads(ran["out"].splitlines()[-1]), "peak_mib": ran["peak_mib"]}


def times(act: Callable[[], object], repeats: int) -> dict[str, Any]:
    """Seconds of the first call in this process and of some more."""
    took = []
    for _ in range(1 + repeats):
        began = time.perf_counter()
        act()
        took.append(round(time.perf_counter() - began, 4))
    return {"cold_s": took[0], "warm_s": took[1:], "median_s": round(median(took[1:]), 4)}


def profile(act: Callable[[], object]) -> list[list[Any]]:
    """The functions that took most of a call's CPU time by themselves, with their shares."""
    profiler = cProfile.Profile(time.process_time)
    profiler.runcall(act)
    stats: dict[Any, Any] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    own = sorted(((row[2], where) for where, row in stats.items()), reverse=True, key=lambda one: one[0])
    total = sum(seconds for seconds, _ in own)
    return [
        [f"{Path(file).name}:{line} {name}" if line else name, round(seconds / total, 3)]
        for seconds, (file, line, name) in own[:SHOWN]
    ]
