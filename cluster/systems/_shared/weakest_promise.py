"""The least of several promises: what may be promised of a cluster whose nodes are not set alike."""

from collections.abc import Iterable

import msgspec

from chaos.storage.runinfo import Promises


def weakest_promises(all_of: Iterable[Promises]) -> Promises:
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
            redelivered_within_s=_longest(first.redelivered_within_s, other.redelivered_within_s),
            recovers_within_s=_longest(first.recovers_within_s, other.recovers_within_s),
            rejoins_within_s=_longest(first.rejoins_within_s, other.rejoins_within_s),
            fails_over_after_s=_longest(first.fails_over_after_s, other.fails_over_after_s),
            serves_without_minority_s=_longest(first.serves_without_minority_s, other.serves_without_minority_s),
            early_s=max(first.early_s, other.early_s),
            twice=first.twice or other.twice,
        )
    return first


def _longest(first_s: float, other_s: float) -> float:
    """The longer of two promised times; 0 promises nothing, so it is the least of all."""
    return max(first_s, other_s) if first_s and other_s else 0.0
