"""What the scan of a host says of a node's process. Pure; ``cluster.nodes.process`` asks the hosts."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

_TICKS_PER_S: Final = 100  # USER_HZ, in which /proc tells start times


class ProcId(msgspec.Struct, frozen=True):
    """Which process: ``start_time`` in clock ticks since boot; ``log_offset``: bytes of log that older ones wrote."""

    pid: int
    start_time: int
    log_offset: int


class Successor(msgspec.Struct, frozen=True):
    """A process that something other than the harness started in the place of the node's. ``age_s``: since when."""

    pid: int
    age_s: float


class ProcState(msgspec.Struct, frozen=True, kw_only=True):
    """What /proc showed.

    ``pid``, ``start_time``: of the process started last (None: none ever was). ``alive``: that very process
    runs or is stopped. ``stopped``: alive, and every thread of it and of its children is in state T.
    ``zombie``: it ended and nobody has reaped it. ``others``: live pids of its session beside it.
    ``successor``: of a process that is found by its command line (``Launch.found_by``) and does not live: the one that
    fits now.
    """

    alive: bool
    pid: int | None = None
    start_time: int | None = None
    stopped: bool = False
    zombie: bool = False
    others: tuple[int, ...] = ()
    successor: Successor | None = None

    @property
    def gone(self) -> bool:
        """Whether nothing of the process is left."""
        return not self.alive and not self.others


def parse_state(text: str) -> ProcState:
    """Pure: the state in what the scan of a host printed."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines:
        return ProcState(alive=False)
    pid, start = int(lines[0][0]), int(lines[0][1])
    threads = [(int(tgid), int(tid), state, int(begun)) for tgid, tid, state, begun in lines[1:]]
    if any(tid == pid and begun != start for _, tid, _, begun in threads):
        return ProcState(alive=False, pid=pid, start_time=start)  # the number, and the session, are another's now
    live = [(tgid, state) for tgid, _, state, _ in threads if state not in "ZX"]
    alive = any(tgid == pid for tgid, _ in live)
    return ProcState(
        alive=alive,
        pid=pid,
        start_time=start,
        stopped=alive and all(state == "T" for _, state in live),
        zombie=not alive and any(tgid == pid for tgid, *_ in threads),
        others=tuple(sorted({tgid for tgid, _ in live if tgid != pid})),
    )


class Listed(msgspec.Struct, frozen=True):
    """One process of a host. ``start_time`` in clock ticks since boot; ``command``: its command line."""

    pid: int
    start_time: int
    command: str


def parse_list(text: str) -> list[Listed]:
    """Pure: the processes in what the list of a host printed."""
    out = []
    for line in text.split("\n"):
        words, blank, command = line.partition(" ")
        pid, _, begun = words.partition(":")
        if blank:
            out.append(Listed(int(pid), int(begun), command.rstrip("| ")))
    return out


def with_successor(seen: ProcState, pattern: str, uptime_s: float, listed: Sequence[Listed]) -> ProcState:
    """Pure: the state of a process that is found by its command line, with the process that took its place."""
    if seen.alive:
        return seen
    known = (seen.pid, seen.start_time)
    found = [each for each in listed if re.search(pattern, each.command) and (each.pid, each.start_time) != known]
    if not found:
        return seen
    first = min(found, key=lambda each: each.start_time)
    age_s = max(0.0, uptime_s - first.start_time / _TICKS_PER_S)
    return msgspec.structs.replace(seen, successor=Successor(first.pid, age_s))
