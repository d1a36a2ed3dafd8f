"""What two conventions answer differently, and the budget of a search.

Has no default that depends on a file's format: whoever reads the file says which rules hold.
"""

import time
from typing import Any, Literal

import msgspec


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How results are to be understood.

    ``nil_means``: an ok read of nil tells nothing (``any``, as Knossos has it) or that nothing was there (``absent``,
    as Porcupine's etcd model has it). ``init``: what a register holds at first. ``fail_observes``: a failed
    compare-and-set saw that the register did not hold what it expected (Porcupine), instead of telling nothing.
    ``blind_takes``: a dequeue of which nobody knows what it took may have taken something; Knossos lets it take
    nothing. ``strict``: what the reference checker of a format does not call an error is one. ``linearizable``:
    stale reads of a set-full are errors; set and queue must be linearizable.
    """

    nil_means: Literal["any", "absent"] = "any"
    init: Any = None
    fail_observes: bool = False
    blind_takes: bool = True
    strict: bool = False
    linearizable: bool = False


class Budget:
    """How long and how much a search may go on.

    Args:
        seconds: wall time from now.
        configurations: remembered dead ends, some 200 bytes each.
    """

    def __init__(self, seconds: float = 60.0, configurations: int = 20_000_000) -> None:
        self.seconds = seconds
        self.configurations = configurations
        self._until = time.monotonic() + seconds

    def spent(self, remembered: int) -> str | None:
        """What ran out, in words; None if nothing did."""
        if remembered >= self.configurations:
            return f"{remembered:,} configurations were remembered"
        return f"{self.seconds:g} s were over" if time.monotonic() > self._until else None
