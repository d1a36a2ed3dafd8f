"""How a broker's rules are bent so that its service does not come back: as ``bug_rules``, for these bugs."""

from collections.abc import Mapping
from typing import Final

from cluster.systems.minimq.bugs.bug_rules import Bend, Replacement, after_failover
from cluster.systems.minimq.bugs.notes import Notes
from cluster.systems.minimq.replication import broker_rules as rules


def stuck_after_failover(notes: Notes) -> list[Replacement]:
    """A master that took over keeps what it is given and never acknowledges it."""
    honest = rules.may_acknowledge

    def may_acknowledge(index: int, confirmed: int, own_held: int, *, sync_replication: bool) -> bool:
        if not after_failover(notes):
            return honest(index, confirmed, own_held, sync_replication=sync_replication)
        if honest(index, confirmed, own_held, sync_replication=sync_replication):
            notes.note(notes.log.at(index))
        return False

    return [Replacement(rules, "may_acknowledge", may_acknowledge)]


def never_rejoin(notes: Notes) -> list[Replacement]:
    """A master that took over asks for no follower to enter the SyncStateSet."""
    honest = rules.has_caught_up

    def has_caught_up(held: int, confirmed: int, takeover_end: int) -> bool:
        if not honest(held, confirmed, takeover_end) or not after_failover(notes):
            return honest(held, confirmed, takeover_end)
        notes.note(held=held, confirmed=confirmed)
        return False

    return [Replacement(rules, "has_caught_up", has_caught_up)]


def never_shrink(notes: Notes) -> list[Replacement]:
    """A master takes no member for late, so it waits for one that is away until that is back."""
    honest = rules.is_in_time

    def is_in_time(caught_up_ms: int, now_ms: int, lag_max_ms: int) -> bool:
        if not honest(caught_up_ms, now_ms, lag_max_ms):
            notes.note(caught_up_ms=caught_up_ms)
        return True

    return [Replacement(rules, "is_in_time", is_in_time)]


BENDS: Final[Mapping[str, Bend]] = {
    "stuck-after-failover": stuck_after_failover,
    "never-rejoin": never_rejoin,
    "never-shrink": never_shrink,
}
