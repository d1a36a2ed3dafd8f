"""What is printed when nobody may be there to read it: behind a pipe that was closed, on a terminal that is gone."""

import contextlib
import errno
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reports.summary.text_style import TextStyle

CLOSED_PIPE: Final = 141
"""The exit code of a command whose reader went away: what shells show of any program that SIGPIPE ended."""

_HELPS: Final = {
    errno.EACCES: "name what this user may use, or change its rights",
    errno.EPERM: "name what this user may use, or change its rights",
    errno.EROFS: "name a place that can be written",
    errno.ENAMETOOLONG: "name a file or folder that can be",
    errno.ELOOP: "name a file or folder that is no ring of links",
    errno.ENOSPC: "make room, or write elsewhere",
    errno.EDQUOT: "make room, or write elsewhere",
}
_NAME_MAX: Final = 80


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


def refusal(error: OSError) -> str:
    """What the machine refuses, in a line; empty if nobody could mend it by another name or other rights. Pure."""
    helps = _HELPS.get(error.errno or 0)
    if helps is None:
        return ""
    what = str(error.filename) if error.filename is not None else "the output"
    shown = what if len(what) <= _NAME_MAX else f"{what[:_NAME_MAX]}…"
    return f"{shown}: {error.strerror}; {helps}"


def discard(descriptor: int) -> None:
    """Let a stream lead nowhere, else the interpreter fails to flush what is left of it and ends with 120."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def text_style() -> "TextStyle":
    """How to write on the standard output."""
    from reports.summary.text_style import style_of

    return style_of(sys.stdout)
