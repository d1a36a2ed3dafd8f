"""What is asked after the load: the workload's final phases, one after the other, by the workers that live.

The workload says what is asked and when a part of it is complete. What is missing is said here and judged by the checks
from the history; only a phase that the workload calls required ends badly without its end.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from chaos.basics.amounts import duration
from chaos.core.clock import ns_from_now
from chaos.core.errors import ChaosError, DeadlineError, RunInterrupted
from chaos.run.wait_for_recovery import Absent
from chaos.run.workers import Workers
from chaos.workload.final import FinalPhase, Limits, Part

Say = Callable[[str], None]


def perform_final_phases(
    phases: tuple[FinalPhase, ...],
    noun: str,
    workers: Workers,
    absent: Absent,
    timeout_s: float,
    phase_in_history: Callable[[str], AbstractContextManager[None]],
    check_insisted: Callable[[], None],
    say: Say,
) -> None:
    """Do the final phases of a workload.

    Args:
        phases: in their order.
        noun: what one key is called.
        workers: who ask.
        absent: what did not come back after the last fault.
        timeout_s: for each phase.
        phase_in_history: marks the beginning and the end of a phase, by its name.
        check_insisted: raises if somebody wants to leave at once.
        say: gets a line for people.

    Raises:
        ChaosError: no worker is left, or one did not answer, in a phase that is required.
        RunInterrupted: somebody wants to leave.
    """
    for number, phase in enumerate(phases):
        check_insisted()
        parts = tuple(phase.parts())
        if not parts:
            continue
        limits = Limits(
            until_ns=ns_from_now(timeout_s),
            keys_missing=bool(absent.keys),
            nodes_missing=bool(absent.nodes),
        )
        unended: dict[Part, str] = {}
        say(f"{phase.name:<8} 0 of {len(parts)} {phase.what}; at most {duration(timeout_s)}")
        try:
            with phase_in_history(phase.name):
                unended = workers.final(number, parts, limits, check_insisted)
                _check_end(phase, unended, noun)
        except RunInterrupted:
            raise
        except DeadlineError as error:
            say(f"warning  {phase.name} is not complete: {error}")
        except ChaosError as error:
            if phase.required:
                raise
            say(f"warning  {phase.name} is not complete: {error}")
        else:
            if unended:
                say(f"warning  {phase.name} is not complete: {missing_words(unended, noun)}")
            say(f"{phase.name:<8} {len(parts) - len(unended)} of {len(parts)} {phase.what}")


def _check_end(phase: FinalPhase, unended: dict[Part, str], noun: str) -> None:
    """Let a phase end badly that must be complete and is not."""
    if unended and phase.required:
        raise DeadlineError(missing_words(unended, noun))


def missing_words(unended: dict[Part, str], noun: str) -> str:
    """The first part that did not reach its end, and how many others there are."""
    part, why = min(unended.items())
    more = f", and {len(unended) - 1} more" if len(unended) > 1 else ""
    return f"{noun} {part.key}: {why}{more}"
