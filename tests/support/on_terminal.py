"""What a command prints on a terminal of some width."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path


def shown(columns: int, cwd: Path, *argv: str, **environ: str) -> str:
    """What a command prints on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, True)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = {**{name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}}
    env |= {"TERM": "xterm", **environ}
    chaos = [sys.executable, "-m", "chaos", *argv]
    with subprocess.Popen(chaos, stdout=theirs, stderr=theirs, stdin=theirs, env=env, cwd=cwd) as running:
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end was closed
                break
            if not piece:
                break
            said += piece
        running.wait()
    os.close(ours)
    return said.decode().replace("\r\n", "\n")
