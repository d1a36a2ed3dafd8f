"""What is printed when nobody may be there to read it: behind a pipe that was closed, on a terminal that is gone."""

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reports.summary.look import Look

CLOSED_PIPE: Final = 141
"""The exit code of a command whose reader went away: what shells show of any program that SIGPIPE ended."""


def tell(text: str) -> None:
    """Print a line of a command whose exit code is a verdict: a reader that went away must not change it."""
    try:
        print(text, flush=True)
    except OSError:
        discard(1)


def complain(text: str) -> None:
    """Print a line on the error stream, if anybody reads it."""
    try:
        print(f"chaos: {text}", file=sys.stderr, flush=True)
    except OSError:
        discard(2)


def discard(descriptor: int) -> None:
    """Let a stream lead nowhere, else the interpreter fails to flush what is left of it and ends with 120."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def look() -> "Look":
    """How to write on the standard output."""
    from reports.summary.look import look_of

    return look_of(sys.stdout)
