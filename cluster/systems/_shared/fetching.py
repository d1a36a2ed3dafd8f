"""What fetching or building a program takes, whoever does it: a lock between runs, and a tool that is watched."""

import fcntl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from chaos.core.clock import Deadline

_POLL_S: Final = 0.2
_SAY_EVERY_S: Final = 5.0

Say = Callable[[str], None]


@contextmanager
def cache_lock(path: Path, name: str, timeout_s: float, say: Say) -> Iterator[None]:
    """Hold the lock of a program in the cache while inside; wait while another run has it.

    Args:
        path: the file that is locked.
        name: of the program, for people.
        timeout_s: so long is waited.
        say: gets a line if there is something to wait for.

    Raises:
        DeadlineError: the other run takes longer than that.
    """
    deadline = Deadline(f"another run to finish fetching {name} (lock {path})", timeout_s)
    with path.open("w") as file:
        told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    say(f"{name}: another run is fetching it; waiting")
                    told = True
                deadline.check()
                time.sleep(_POLL_S)
        yield


def run_watched(
    argv: Sequence[str],
    log: Path,
    deadline: Deadline,
    environment: Mapping[str, str],
    progress: Callable[[bytes], str],
    say: Say,
) -> int:
    """Run a tool and tell now and then how far it is; its exit code.

    Args:
        argv: its command line.
        log: takes all that it prints.
        deadline: it is ended when this has run out.
        environment: its variables.
        progress: makes a line for people of what the tool has printed so far.
        say: gets these lines.

    Raises:
        DeadlineError: it took too long.
    """
    with (
        log.open("wb") as out,
        subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment) as tool,
    ):
        try:
            next_word = time.monotonic() + _SAY_EVERY_S
            while tool.poll() is None:
                deadline.check()
                if time.monotonic() >= next_word:
                    say(progress(log.read_bytes()))
                    next_word += _SAY_EVERY_S
                time.sleep(_POLL_S)
        except BaseException:
            tool.terminate()
            raise
    return tool.returncode
