"""The pause between the load and the final phases: leadership has to stand still first (SEMANTICS 10)."""

from collections.abc import Callable, Sequence

from chaos.core.clock import Deadline, now_ns
from chaos.storage.runinfo import Subject
from chaos.workload.final import GIVE_UP_S
from cluster.leaders import Leads, incomplete, missing_to_settle
from cluster.system import System


def settle(
    system: System,
    leads: Callable[[], Leads],
    subjects: Sequence[Subject],
    limit_s: float,
    linger_s: float,
    check_insisted: Callable[[], None],
    say: Callable[[str], None],
    *,
    absent: bool,
) -> None:
    """Wait until leadership has settled and nothing is on its way any more that the workload knows of.

    Replicas out of sync are waited for, but not for ever; and not at all once nodes did not come back in time.

    Args:
        system: may have its own idea of when leadership has settled.
        leads: who leads now.
        subjects: what has a leader.
        limit_s: what is waited for at most.
        linger_s: what is waited for at least.
        check_insisted: raises if somebody wants to leave at once.
        say: gets a line for people.
        absent: whether something did not come back after the last fault.
    """
    deadline = Deadline("leadership to settle", min(limit_s, GIVE_UP_S) if absent else limit_s)
    patience = Deadline("replicas to be in sync", 0.0 if absent else limit_s / 2)
    linger = Deadline("messages that are still on their way", linger_s)
    while True:
        check_insisted()
        missing = missing_to_settle(system, leads(), now_ns())
        if deadline.expired():
            say(f"warning  {missing or deadline.what}: waited {deadline.timeout_s:g} s in vain; reading what is there")
            return
        complete = patience.expired() or incomplete(leads(), subjects) is None
        if missing is None and complete and linger.expired():
            return
        Deadline("a moment", 0.2).wait()
