"""The pause between the load and the final phases: leadership has to stand still first (SEMANTICS 10)."""

from collections.abc import Callable, Sequence
from typing import Final

from chaos.core.clock import NS_PER_S, Deadline, now_ns
from chaos.workload.final import GIVE_UP_S
from cluster.system import Leadership

STABLE_S: Final = 5.0
"""Master, epoch and SyncStateSet must have stood still this long before the final phases."""


def settle(
    leadership: Callable[[], Leadership],
    replicas: Sequence[str],
    limit_s: float,
    linger_s: float,
    check_insisted: Callable[[], None],
    say: Callable[[str], None],
    *,
    absent: bool,
) -> None:
    """Wait until leadership stood still and nothing is on its way any more that the workload knows of.

    A complete SyncStateSet is waited for, but not for ever; and not at all once nodes did not come back in time.

    Args:
        leadership: who leads now.
        replicas: the nodes that belong into the SyncStateSet.
        limit_s: what is waited for at most.
        linger_s: what is waited for at least.
        check_insisted: raises if somebody wants to leave at once.
        say: gets a line for people.
        absent: whether something did not come back after the last fault.
    """
    deadline = Deadline("master, epoch and SyncStateSet to stand still", min(limit_s, GIVE_UP_S) if absent else limit_s)
    patience = Deadline("a complete SyncStateSet", 0.0 if absent else limit_s / 2)
    linger = Deadline("messages that are still on their way", linger_s)
    last, since_ns = leadership(), now_ns()
    while True:
        check_insisted()
        if deadline.expired():
            say(f"warning  {deadline.what}: waited {deadline.timeout_s:g} s in vain; reading what is there")
            return
        Deadline("a moment", 0.2).wait()
        seen = leadership()
        if seen != last:
            last, since_ns = seen, now_ns()
        stood_s = (now_ns() - since_ns) / NS_PER_S
        complete = last.master is not None and len(last.sync_state_set) >= len(replicas)
        if stood_s >= STABLE_S + 1.5 and (complete or patience.expired()) and linger.expired():
            return
