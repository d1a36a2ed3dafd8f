"""One run as a process of its own that ends with us, and what it left.

The run is in a session of its own, so that an interrupt reaches it once and through us; the kernel kills it if we are
killed, and its hosts end with it.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from chaos.matrix.jobs import BROKE, Attempt
from cluster.agent.linux import die_with_parent

_POLL_S: Final = 0.2
_TAIL_BYTES: Final = 2000
_END_S: Final = 30.0


def perform(options: Path, runs: Path, log: Path, deadline_s: float, interrupts: Callable[[], int]) -> Attempt:
    """``chaos run -d OPTIONS`` to its end.

    Args:
        options: the file of its options.
        runs: where its folder goes; nobody else makes runs there.
        log: where its output goes.
        deadline_s: after this long it is killed, and has broken.
        interrupts: how often the person at the keyboard asked to stop so far; each is passed on once.
    """
    argv = ("chaos", "run", "-d", str(options), "--store", str(runs))
    current = runs / "current"
    current.unlink(missing_ok=True)
    began, began_s = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    parent = os.getpid()

    def bound() -> None:
        die_with_parent()
        if os.getppid() != parent:
            os._exit(BROKE)

    with log.open("ab") as out:
        child = subprocess.Popen(
            [sys.executable, "-m", *argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=bound,  # noqa: PLW1509 - no other thread runs here
        )
        passed = 0
        while child.poll() is None:
            if time.monotonic() - began_s > deadline_s:
                child.send_signal(signal.SIGKILL)
                child.wait(_END_S)
                out.write(f"killed: it had not ended after {deadline_s:.0f} s\n".encode())
                break
            while passed < interrupts():
                child.send_signal(signal.SIGINT)
                passed += 1
            time.sleep(_POLL_S)
    code = child.returncode if child.returncode >= 0 else BROKE
    return Attempt(
        exit=code,
        folder=current.resolve() if current.exists() else None,
        began=began,
        took_s=time.monotonic() - began_s,
        said=_last_line(log),
    )


def _last_line(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
