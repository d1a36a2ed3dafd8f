"""The decisions on which Raft's safety rests, each one small and pure, so that each can be read and bent alone.

Everything else in the Raft core moves messages; these functions decide. They hold no state and refuse to know of
messages, timers or time. Sources: Ongaro and Ousterhout, USENIX ATC 2014, sections 5.2, 5.4.1, 5.4.2.
"""

from collections.abc import Callable, Sequence

from cluster.systems.minimq.protocol.messages import HardState

Position = tuple[int, int]
"""(term, index) of a log's last entry; tuples compare as section 5.4.1 compares logs."""


def quorum_of(count: int) -> int:
    """The least number of ``count`` voters that is a majority."""
    return count // 2 + 1


def hard_state(term: int, voted_for: str | None) -> HardState:
    """What must be durable before anything is said in ``term`` (figure 2: persistent state)."""
    return HardState(term=term, voted_for=voted_for)


def is_up_to_date(candidate: Position, own: Position) -> bool:
    """Whether the candidate's log holds all that the voter's could have committed (section 5.4.1)."""
    return candidate >= own


def may_vote(voted_for: str | None, name: str) -> bool:
    """Whether the vote of the present term is free for, or already given to, the candidate ``name`` (section 5.2)."""
    return voted_for is None or voted_for == name


def committed_by(matched: Sequence[int], term: int, commit: int, term_at: Callable[[int], int]) -> int:
    """The leader's new commit index.

    ``matched``: for every voter, the leader included, the index up to which its durable log is the leader's. Only an
    entry of the leader's own ``term`` is committed by counting; earlier ones with it (section 5.4.2, figure 8).
    """
    held_by_quorum = sorted(matched, reverse=True)[quorum_of(len(matched)) - 1]
    if held_by_quorum > commit and term_at(held_by_quorum) == term:
        return held_by_quorum
    return commit
