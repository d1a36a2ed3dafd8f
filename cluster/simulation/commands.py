"""What a command does on a simulated machine.

A fault that uses a program of its own gives an answer for it (``nemesis.faults.fault.Fault.simulated``), so that it can
be done on ``--backend sim``, too. The key of an answer is the text of a script (``sh -c SCRIPT`` and
``python3 … - < SCRIPT``), or the name of a program that is started by its path.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

from cluster.simulation.machine import Machine

Answer = Callable[[Machine, Sequence[str], bytes], str]
"""The machine, the arguments and the standard input → the standard output. Raises ``CommandFailed``."""
Answers = Mapping[str, Answer]


class CommandFailed(Exception):  # noqa: N818 - an exit code, not an error of this program
    """A command ended badly; what it wrote to standard error."""

    def __init__(self, code: int, said: str = "") -> None:
        super().__init__(said)
        self.code = code


def key_and_arguments(argv: Sequence[str], stdin: bytes) -> tuple[str, Sequence[str]]:
    """Pure: under what a command's answer is known, and what it is given."""
    if argv[:2] == ("sh", "-c"):
        return argv[2], argv[4:]
    if argv[:1] == ("python3",) and "-" in argv:
        return stdin.decode(errors="replace"), argv[argv.index("-") + 1 :]
    return PurePosixPath(argv[0]).name, argv[1:]
