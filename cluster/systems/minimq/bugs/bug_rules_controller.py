"""How the controllers' rules are bent: for each bug what stands in for the honest functions; see ``bug_rules``."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import msgspec

from cluster.systems.minimq.bugs.bug_rules import Bend, Replacement
from cluster.systems.minimq.bugs.notes import Notes
from cluster.systems.minimq.consensus import controller_rules, metadata, raft_rules
from cluster.systems.minimq.protocol.messages import Command, Group, HardState, Metadata, RefusedReason, RegisterBroker

PATIENCE: Final = 10
"""So many times too long a silent broker counts as alive."""


def unclean_election(notes: Notes) -> list[Replacement]:
    """If no member of the SyncStateSet lives, any living broker becomes master."""
    honest = metadata.eligible_masters

    def eligible_masters(group: Group, alive: Collection[str], *, unclean: bool) -> tuple[str, ...]:
        chosen = honest(group, alive, unclean=True)
        if chosen != honest(group, alive, unclean=unclean):
            notes.note(epoch=group.epoch + 1, sync_state_set=group.sync_state_set, eligible=chosen)
        return chosen

    return [Replacement(metadata, "eligible_masters", eligible_masters)]


def forget_vote(notes: Notes) -> list[Replacement]:
    """What a controller writes of its term and vote says nothing: after a restart it knows neither."""

    def hard_state(term: int, voted_for: str | None) -> HardState:
        notes.note(term=term, voted_for=voted_for)
        return HardState(term=0, voted_for=None)

    return [Replacement(raft_rules, "hard_state", hard_state)]


def quorum_of_half(notes: Notes) -> list[Replacement]:
    """Half of the controllers, rounded down, count as a majority of them."""
    majority, honest = raft_rules.quorum_of, raft_rules.committed_by

    def quorum_of(count: int) -> int:
        return max(1, count // 2)

    def committed_by(matched: Sequence[int], term: int, commit: int, term_at: Callable[[int], int]) -> int:
        committed = honest(matched, term, commit, term_at)
        held_by = sum(index >= committed for index in matched)
        if committed > commit and held_by < majority(len(matched)):
            notes.note(index=committed, held_by=held_by)
        return committed

    return [Replacement(raft_rules, "quorum_of", quorum_of), Replacement(raft_rules, "committed_by", committed_by)]


def commit_old_term(notes: Notes) -> list[Replacement]:
    """A leader takes all of its log for committed, of whatever term it is and whoever else has it."""
    honest = raft_rules.committed_by

    def committed_by(matched: Sequence[int], term: int, commit: int, term_at: Callable[[int], int]) -> int:
        proven, own = honest(matched, term, commit, term_at), matched[-1]
        if own > proven:
            notes.note(index=own, entry_term=term_at(own), commit=proven)
        return max(own, proven)

    return [Replacement(raft_rules, "committed_by", committed_by)]


def same_epoch_after_restart(notes: Notes) -> list[Replacement]:
    """A master that restarts before the controllers took it for dead goes on in the same epoch."""
    honest = metadata.applied

    def applied(before: Metadata, index: int, command: Command) -> tuple[Metadata, RefusedReason | None]:
        after, refused = honest(before, index, command)
        if not isinstance(command, RegisterBroker) or after.group.master == before.group.master:
            return after, refused
        notes.note(master=before.group.master, master_epoch=before.group.epoch)
        group = msgspec.structs.replace(after.group, master=before.group.master)
        return msgspec.structs.replace(after, group=group), refused

    return [Replacement(metadata, "applied", applied)]


def slow_recovery(notes: Notes) -> list[Replacement]:
    """A silent broker counts as alive ten times as long as it should."""
    honest = controller_rules.is_alive

    def is_alive(heard_ms: int, now_ms: int, dead_after_ms: int) -> bool:
        alive = honest(heard_ms, now_ms, PATIENCE * dead_after_ms)
        if alive and not honest(heard_ms, now_ms, dead_after_ms):
            notes.note(silent_since_ms=heard_ms)
        return alive

    return [Replacement(controller_rules, "is_alive", is_alive)]


BENDS: Final[Mapping[str, Bend]] = {
    "unclean-election": unclean_election,
    "forget-vote": forget_vote,
    "quorum-of-half": quorum_of_half,
    "commit-old-term": commit_old_term,
    "same-epoch-after-restart": same_epoch_after_restart,
    "slow-recovery": slow_recovery,
}
