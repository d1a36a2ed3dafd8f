"""What dead runs left in the engine, known by its labels, and its removal.

Containers end by themselves when their harness does, however it ends: their agents' sockets close. What stays are their
shells, networks and volumes. A small process of its own, started by every run, removes those when the harness dies
(``main``); what even that one could not, the next run and ``chaos clean`` do. Does not touch what belongs to a live
harness or carries no label of ours.
"""

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

from chaos.core.clock import Deadline
from chaos.core.errors import CapabilityError, ChaosError
from cluster.agent import linux
from cluster.cleanup import run_records
from cluster.cleanup.leftover import Leftover
from cluster.hosts.agent_host import ROOT
from cluster.hosts.docker.engine import OWNER, RUN, Engine, connect, is_orphaned

_TIMEOUT_S: Final = 20
_REMOVED_WITHIN_S: Final = 60.0
_ASKED_AGAIN_AFTER_S: Final = 0.5
_PROBE_TIMEOUT_S: Final = 5
_DOWN: Final = b"down"

Kind = Literal["container", "network", "volume"]


def leftovers(engine: Engine) -> list[Leftover]:
    """Everything of dead runs: containers first, for they hold the rest."""
    return list(_labelled(engine, is_orphaned))


def present() -> Engine | None:
    """The engine, if one answers soon."""
    try:
        return connect(_PROBE_TIMEOUT_S)
    except CapabilityError:
        return None


def remove(engine: Engine, leftover: Leftover) -> None:
    """Remove it; fine if it is gone.

    An engine kills a container and waits ten seconds for its end. On a busy machine the end comes later, and the engine
    answers with an error of its own (5xx) though the container is going: it is asked again, for up to a minute in all.

    Raises:
        ChaosError: it did not go.
    """
    from docker.errors import APIError, NotFound

    doing: dict[str, Callable[[str], object]] = {
        "container": lambda name: engine.api.remove_container(name, force=True),
        "network": engine.api.remove_network,
        "volume": lambda name: engine.api.remove_volume(name, force=True),
    }
    deadline = Deadline(f"the engine to remove {leftover.what}", _REMOVED_WITHIN_S)
    with engine.doing(f"removing {leftover.kind} {leftover.name}"), suppress(NotFound):
        while True:
            try:
                doing[leftover.kind](leftover.name)
            except APIError as error:
                if not error.is_server_error() or deadline.expired():
                    raise
                time.sleep(_ASKED_AGAIN_AFTER_S)
            else:
                return


def of_run(engine: Engine, run_id: str, owner: str) -> list[Leftover]:
    """Everything that one harness made for one run."""
    return list(_labelled(engine, lambda marks: (marks.get(RUN), marks.get(OWNER)) == (run_id, owner)))


def _labelled(engine: Engine, wanted: Callable[[dict[str, str]], bool]) -> Iterator[Leftover]:
    ours = {"label": [RUN]}
    with engine.doing("listing what chaos runs made"):
        found: list[tuple[Kind, str, Any]] = [
            ("container", "Id", engine.api.containers(all=True, filters=ours)),
            ("network", "Id", engine.api.networks(filters=ours)),
            ("volume", "Name", engine.api.volumes(filters=ours)["Volumes"] or []),
        ]
    for kind, key, things in found:
        for thing in things:
            marks = dict(thing.get("Labels") or {})
            if wanted(marks):
                name = str(thing["Names"][0]).lstrip("/") if kind == "container" else str(thing["Name"])
                yield Leftover(kind=kind, run_id=marks[RUN], what=f"{kind} {name}", name=str(thing[key]))


class Reaper:
    """The process that removes what this harness made, once the harness is dead; a context that ends it."""

    def __init__(self, run_id: str, record: Path) -> None:
        owner = run_records.marker(run_id)[run_records.OWNER]
        pidfd = os.pidfd_open(os.getpid())
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "cluster.hosts.docker.cleanup", str(pidfd), run_id, owner, str(record)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=(pidfd,),
                start_new_session=True,
                cwd="/",
                env={**os.environ, "PYTHONPATH": path},
            )
        finally:
            os.close(pidfd)

    def end(self) -> None:
        """There is nothing to remove any more."""
        with suppress(BrokenPipeError, subprocess.TimeoutExpired):
            self._process.communicate(_DOWN, timeout=_TIMEOUT_S)
        self._process.kill()
        self._process.wait()


def main(pidfd: int, run_id: str, owner: str, record: Path) -> None:
    """Wait for "down" or for the harness' end, and after the latter remove everything but logs."""
    poller = select.poll()
    for fd in (0, pidfd):
        poller.register(fd, select.POLLIN)
    if any(fd == 0 for fd, _ in poller.poll()) and os.read(0, len(_DOWN)) == _DOWN:
        return
    engine = connect(_TIMEOUT_S)
    for leftover in of_run(engine, run_id, owner):
        with suppress(ChaosError):  # `chaos clean` finds it again
            remove(engine, leftover)
    known = run_records.read(record)
    for home in known.homes if known is not None else ():
        linux.empty_home(Path(home))
    record.unlink(missing_ok=True)


if __name__ == "__main__":
    with suppress(ChaosError):  # the engine is gone too; `chaos clean` finds what is left
        main(int(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4]))
