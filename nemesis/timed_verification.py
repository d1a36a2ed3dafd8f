"""A look at a fault, which runs beside the clock: what it saw, or that it saw nothing in time."""

from collections.abc import Callable
from typing import Final

from chaos.core import waiting
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.events import Evidence
from nemesis.faults.fault import one_line

LOOK: Final = "look"
"""The kind of evidence of a look that saw nothing: it could not be made, or did not end in time."""

LEFTOVER_S: Final = 30.0
"""How long a look that the row's end overtook may go on before its thread is left behind."""


class TimedVerification:
    """A look at a fault that runs beside the clock."""

    def __init__(self, verify: Callable[[], Evidence]) -> None:
        self._verify = verify
        self._began_ns = now_ns()
        self._evidence: Evidence | None = None
        self._thread = waiting.thread(self._run, "nemesis-look")

    def _run(self) -> None:
        self._evidence = verified_now(self._verify)

    def done(self) -> bool:
        """Whether it has ended."""
        return self._evidence is not None

    def evidence(self) -> Evidence:
        """What was seen; unproven if the look has not ended."""
        spent_s = (now_ns() - self._began_ns) / NS_PER_S
        return self._evidence or Evidence(
            kind=LOOK, proven=False, summary=f"not looked at: the fault ended {spent_s:.1f} s into the look"
        )

    def leave(self) -> None:
        """Wait for its end, so that two looks never run at once."""
        self._thread.join(LEFTOVER_S)


def verified_now(verify: Callable[[], Evidence]) -> Evidence:
    """The evidence, or an unproven one saying why there is none."""
    try:
        return verify()
    except Exception as error:  # noqa: BLE001 - a proof that failed is a fault that is not proven, never a hidden one
        return Evidence(kind=LOOK, proven=False, summary=f"could not look: {one_line(error)}")
