"""What may be promised of nodes that are not set alike."""

from chaos.storage.runinfo import Promises
from cluster.systems._shared.weakest_promise import weakest_promises


def test_the_longest_time_holds_for_all() -> None:
    assert (
        weakest_promises([Promises(recovers_within_s=20.0), Promises(recovers_within_s=80.0)]).recovers_within_s == 80.0
    )


def test_where_one_promises_nothing_nothing_is_promised() -> None:
    both = weakest_promises([Promises(recovers_within_s=80.0, rejoins_within_s=20.0), Promises(rejoins_within_s=20.0)])
    assert (both.recovers_within_s, both.rejoins_within_s) == (0.0, 20.0)


def test_the_lowest_minimum_holds_for_all() -> None:
    assert weakest_promises([Promises(min_in_sync=2), Promises(min_in_sync=1)]).min_in_sync == 1
