"""How far replicas are behind their leaders."""

from typing import Any

import msgspec
import synthetic
from synthetic import ns

from chaos.core.events import Claim, Observation
from chaos.storage.runinfo import Subject
from reports.page.replica_lag import lags

RUN = msgspec.structs.replace(synthetic.run_info("valid"), keys=2)


def seen(node: str, at: float, offsets: dict[str, int] | None, *, epoch: int | None = None, **more: Any) -> Observation:
    claims = None if epoch is None else (Claim(subject=synthetic.GROUP, leader=node, epoch=epoch),)
    fields = {"alive": True, "claims": claims, **more}
    return Observation(time_ns=ns(at), asked_ns=ns(at), node=node, max_offsets=offsets, **fields)


def both(total: int) -> dict[str, int]:
    return {"0": total - 1, "1": 1}


def leader(node: str, epoch: int, totals: dict[float, int]) -> list[Observation]:
    return [seen(node, at, both(total), epoch=epoch) for at, total in totals.items()]


def test_a_replica_that_lacks_messages_of_the_leader_is_that_many_behind() -> None:
    events = [*leader("b1", 1, {0.0: 10, 1.0: 110}), seen("b2", 0.5, both(40)), seen("b3", 1.0, both(110))]
    assert lags(events, RUN, synthetic.ORIGIN) == {
        "b1": [(0.0, 0), (1.0, 0)],
        "b2": [(0.5, 20)],
        "b3": [(1.0, 0)],
    }


def test_messages_of_unknown_outcome_make_no_replica_seem_ahead() -> None:
    # 355 sends that nobody acknowledged are in every copy: the series knows of no acknowledgement at all.
    events = [seen(node, 50.0, both(355), epoch=1 if node == "b1" else None) for node in ("b1", "b2", "b3")]
    assert lags(events, RUN, synthetic.ORIGIN) == {node: [(50.0, 0)] for node in ("b1", "b2", "b3")}


def test_what_an_old_leader_has_alone_is_ahead() -> None:
    events = [
        *leader("b1", 1, {0.0: 10, 1.0: 60}),
        *leader("b2", 2, {1.5: 20, 2.5: 20}),
        seen("b1", 2.0, both(75), epoch=1),
    ]
    assert lags(events, RUN, synthetic.ORIGIN)["b1"] == [(0.0, 0), (1.0, 0), (2.0, -55)]


def test_nothing_is_told_where_the_node_or_the_leader_did_not_say() -> None:
    events = [
        *leader("b1", 1, {0.0: 10, 1.0: 20, 30.0: 20}),
        seen("b2", 0.2, {"1": 3}),
        seen("b2", 0.4, both(12)),
        seen("b2", 0.6, None, alive=False),
        seen("b2", 15.0, both(20)),
        seen("c1", 0.5, both(9)),
    ]
    assert lags(events, RUN, synthetic.ORIGIN)["b2"] == [(0.2, None), (0.4, 2), (0.6, None), (15.0, None)]
    assert "c1" not in lags(events, RUN, synthetic.ORIGIN)
    alone = msgspec.structs.replace(RUN, subjects=())
    assert lags(events, alone, synthetic.ORIGIN) == {}


def test_each_group_has_its_own_leader_and_keys() -> None:
    two = msgspec.structs.replace(
        RUN,
        subjects=(
            Subject(name="g0", nodes=("b1", "b2"), keys=(0,)),
            Subject(name="g1", nodes=("b3",), keys=(1,)),
        ),
    )

    def says(node: str, at: float, offsets: dict[str, int], led: str | None = None) -> Observation:
        claims = None if led is None else (Claim(subject=led, leader=node, epoch=7),)
        return Observation(time_ns=ns(at), asked_ns=ns(at), node=node, alive=True, claims=claims, max_offsets=offsets)

    events = [says("b1", 1.0, {"0": 50}, "g0"), says("b2", 1.0, {"0": 8}), says("b3", 1.0, {"1": 900}, "g1")]
    assert lags(events, two, synthetic.ORIGIN) == {"b1": [(1.0, 0)], "b2": [(1.0, 42)], "b3": [(1.0, 0)]}
