"""The least of several promises: what may be promised of a cluster whose nodes are not set alike."""

from collections.abc import Iterable

import msgspec

from chaos.core.runinfo import Promises


def least(all_of: Iterable[Promises]) -> Promises:
    """What holds whichever of several makes the promise: the fewest excuses, the longest times, the lowest minimum."""
    first, *others = all_of
    for other in others:
        first = msgspec.structs.replace(
            first,
            allowed={name: why for name, why in first.allowed.items() if name in other.allowed},
            min_in_sync=min(first.min_in_sync, other.min_in_sync),
            readable_after_s=min(first.readable_after_s, other.readable_after_s),
            replicas_read=first.replicas_read and other.replicas_read,
            progress_margin_s=min(first.progress_margin_s, other.progress_margin_s),
            redelivered_within_s=max(first.redelivered_within_s, other.redelivered_within_s),
            recovers_within_s=max(first.recovers_within_s, other.recovers_within_s),
            rejoins_within_s=max(first.rejoins_within_s, other.rejoins_within_s),
            fails_over_after_s=max(first.fails_over_after_s, other.fails_over_after_s),
            early_s=max(first.early_s, other.early_s),
            twice=first.twice or other.twice,
        )
    return first
