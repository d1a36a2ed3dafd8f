"""Who asked whom around an occurrence: which stretch is drawn, and of which operations."""

from typing import Any

import msgspec
import synthetic

from chaos.core.verdict import Example
from reports.page.space_time import ALONE_S, LEAST_S, NEAR_S, Act, scene_of
from reports.page.trace import trace

RUN = synthetic.run_info("invalid")


def op(client: int, start: float, end: float | None, **more: Any) -> dict[str, Any]:
    return {"f": "send", "type": "ok", "client": client, "invoke_s": start, "complete_s": end, "node": "b1", **more}


def test_operations_are_numbered_in_order_of_time_as_in_the_list_beside_them() -> None:
    example = synthetic.lost_example()
    made, listed = scene_of(example, RUN), trace(example, [], [])
    assert made is not None
    assert listed is not None
    assert [act.number for act in made.acts] == [1, 2, 3, 4, 5, 6, 7]
    assert [(act.number, act.words) for act in made.acts] == [
        (step.number, step.words) for step in listed.steps if step.number
    ]
    of = {act.words.split()[1].rstrip(":"): act for act in made.acts}
    refused, lost = of["1:412"], of["5:233"]
    assert (refused.type, refused.guilty) == ("fail", False)
    assert (lost.client, RUN.nodes[lost.node].name, lost.guilty) == (5, "b1", True)


def test_final_reads_that_are_far_away_do_not_widen_the_stretch() -> None:
    made = scene_of(synthetic.lost_example(), RUN)
    assert made is not None
    assert 20.0 < made.start < 22.1
    assert 24.88 < made.end < 26.0
    assert made.acts[-1].start == 152.0


def test_a_single_short_operation_has_room_around_it() -> None:
    made = scene_of(Example(sentence="s", ops=(op(1, 3.0, 3.001),)), RUN)
    assert made is not None
    assert made.end - made.start >= LEAST_S
    assert made.start < 3.0
    assert made.end > 3.001


def test_an_operation_that_lasts_long_ends_behind_the_stretch() -> None:
    made = scene_of(Example(sentence="s", ops=(op(1, 3.0, 500.0), op(2, 4.0, None, node=None))), RUN)
    assert made is not None
    assert made.end < 3.0 + 2 * NEAR_S
    assert made.acts[1] == Act(2, 4.0, None, 2, -1, "ok", guilty=False, words=made.acts[1].words)


def test_without_operations_the_moment_that_the_check_noted_is_drawn() -> None:
    made = scene_of(Example(sentence="two leaders", at_ns=synthetic.ns(42.5)), RUN)
    assert made is not None
    assert (made.start, made.end, made.acts) == (42.5 - ALONE_S, 42.5 + ALONE_S, ())
    assert scene_of(Example(sentence="s"), RUN) is None


def test_what_is_no_log_is_told_in_its_own_words() -> None:
    row = {"f": "cas", "type": "ok", "process": 3, "client": 3, "invoke_s": 1.0, "complete_s": 1.1, "node": "b2"}
    made = scene_of(Example(sentence="s", ops=({**row, "what": "cas k4 2->7"},)), RUN)
    assert made is not None
    (act,) = made.acts
    assert act.words == "cas k4 2->7 (b2)"
    assert msgspec.to_builtins(made)["acts"][0][3:5] == [3, 5]
