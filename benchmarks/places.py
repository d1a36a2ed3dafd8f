"""Places that runs need around them, made with the first run: machines by SSH, and a cluster that no run started.

The network of such a place is that of one thread, so all of its runs are in that thread, one after the other.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Self

from rows import ROOT
from runs import Job, perform

REUSE = "--reuse REUSE"
MACHINES = "--nodes-file MACHINES"
"""What a command says in the place of the options that name the place, which differ each time."""

Make = Callable[[Path], AbstractContextManager[list[str]]]


@contextmanager
def cluster(folder: Path) -> Iterator[list[str]]:
    """A minimq cluster; gives the options of a run on it."""
    from standing_cluster import minimq_cluster

    with minimq_cluster(folder) as options:
        yield options


@contextmanager
def machines(folder: Path) -> Iterator[list[str]]:
    """Machines for RocketMQ that are namespaces with an sshd of their own; gives the options of a run on them."""
    from ssh_support import MINIMQ, laboratory

    with laboratory(folder) as make:
        lab = make("n1", *MINIMQ)
        yield ["--nodes-file", lab.nodes_file(), "--install", "--known-hosts", str(lab.known_hosts)]


class Place:
    """A place that is there from its first run to the end of the block. ``instead_of``: the words that stand for it."""

    def __init__(self, make: Make, instead_of: str) -> None:
        self._make, self._instead_of = make, instead_of
        self._thread = ThreadPoolExecutor(1)
        self._undo = ExitStack()
        self._options: list[str] = []
        self._runs: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.submit(self._undo.close).result()
        self._thread.shutdown()

    def holds(self, command: str) -> bool:
        """Whether a command asks for this place."""
        return self._instead_of in command

    def act(self, job: Job, store: Path) -> tuple[Path, int]:
        """Run a job here: its command, with the options that name the place."""
        return self._thread.submit(self._act, job, store).result()

    def number_of(self, folder: Path) -> int:
        """The number of a run here, from 1."""
        return self._runs[folder.name]

    def _act(self, job: Job, store: Path) -> tuple[Path, int]:
        if not self._options:
            sys.path.append(str(ROOT / "tests" / "support"))
            folder = self._undo.enter_context(tempfile.TemporaryDirectory(prefix="chaos-place-"))
            self._options = self._undo.enter_context(self._make(Path(folder)))
        folder, code = perform(job.command.replace(self._instead_of, " ".join(self._options)), store)
        self._runs[folder.name] = len(self._runs) + 1
        return folder, code
