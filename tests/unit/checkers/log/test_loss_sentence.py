"""The headline of a loss: what reads prove of who had the message, under which fault, and what its numbers count."""

import pytest
from leading import said as heard

from chaos.core.clock import NS_PER_S
from chaos.core.events import Evidence, Fault
from chaos.core.verdict import Example
from chaos.testing.history_files import ORIGIN_NS, run_info
from chaos.testing.history_literal import RunLiteral
from checkers.history.check_input import Context
from checkers.history.timeline import timeline_of
from checkers.log.loss_clusters import Cluster
from checkers.log.loss_sentence import loss_sentence


def ns(at_s):
    return ORIGIN_NS + round(at_s * NS_PER_S)


def context_of(heal=10.0):
    """b1 leads epoch 1 and is killed at 5.0 s; b2 is heard to lead epoch 2 from 6.7 s on."""
    gone = Evidence(kind="matrix", proven=True, summary="it serves again")
    events = [
        Fault(time_ns=ns(5.0), id=1, name="leader-kill", stage="inject", targets=("b1",)),
        Fault(time_ns=ns(heal), id=1, name="leader-kill", stage="healed", targets=("b1",), evidence=gone),
        *(heard(ns(at_s), "b1", "master", 1) for at_s in (1.0, 2.0, 3.0, 4.0, 4.7)),
        *(heard(ns(at_s), "b2", "slave", None) for at_s in (1.0, 3.0, 4.7)),
        *(heard(ns(at_s), "b2", "master", 2) for at_s in (6.7, 8.0, 12.0, 20.0)),
    ]
    run = run_info(RunLiteral(), "loss")
    return Context(run=run, streams=(), timeline=timeline_of(sorted(events, key=lambda one: one.time_ns), run))


def cluster(count=1, shown=(), again_s=6.4, without_s=7.5):
    return Cluster(
        key=0,
        node="b1",
        count=count,
        cut=0,
        first_ack_ns=ns(4.8),
        last_ack_ns=ns(4.9),
        value="0:29",
        offset=49,
        acked_ns=ns(4.8),
        example=Example(sentence=""),
        without_ns=ns(without_s),
        without_node="b2",
        shown_ns={node: ns(at_s) for node, at_s in shown},
        again="6:34" if again_s else "",
        again_node="b2" if again_s else "",
        again_ns=ns(again_s) if again_s else 0,
    )


def told(one, heal=10.0, count=20):
    return loss_sentence((one,), count, context_of(heal)).sentence


def test_a_node_whose_read_had_shown_the_message_is_not_said_to_have_lacked_it():
    text = told(cluster(shown=[("b2", 5.978)]))
    assert (
        "b2, master of epoch 2, while b1 was killed by fault 1 (leader-kill, since 5.0 s), had shown it at 5.98 s"
        in text
    )
    said = "and no longer had it when it gave its offset to 6:34 at 6.4 s. b1, master of epoch 1, had acknowledged"
    assert said in text
    assert "did not have" not in text


def test_of_a_node_that_no_read_saw_with_the_message_only_what_it_did_is_said():
    text = told(cluster(shown=[("b3", 5.2), ("b1", 4.95)]))
    assert "did not have" not in text
    assert text.endswith("b3 last showed 0:29 at 5.20 s and b1 at 4.950 s, b2 never.")
    assert told(cluster()).endswith("No read ever returned 0:29.")


def test_a_read_without_the_message_is_told_with_its_time():
    assert "answered without it at 7.5 s." in told(cluster(again_s=0.0))


def test_a_leader_is_not_said_to_lead_later_than_it_acknowledged():
    text = told(cluster())
    assert "at the latest" not in text
    assert "6.7 s" not in text


@pytest.mark.parametrize(
    ("count", "more"), [(2, "and 1 more of the lost until 4.9 s"), (4, "and 3 more of the lost until 4.9 s")]
)
def test_the_count_beside_the_example_says_that_it_counts_lost_ones(count, more):
    assert more in told(cluster(count=count))


def test_a_fault_that_had_ended_is_told_by_how_long_before():
    text = told(cluster(again_s=20.0, without_s=20.0))
    assert "b2, master of epoch 2, 10.0 s after fault 1 (leader-kill on b1) had ended," in text
    assert "while b1" not in text
