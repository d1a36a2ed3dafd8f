"""Queues are read whole until two passes agree and nothing acknowledged is missing; other phases ask what they must."""

import pytest
from final_steps import performed
from log_ops import gave, goes_on_at

from chaos.core.op import Completion, Type
from chaos.models.log.words import F
from chaos.models.objects.register import F as REGISTER
from chaos.storage.runinfo import Promises
from chaos.workload.final import FinalSpec, Part
from chaos.workload.logs.final_reads_of_logs import BETWEEN_PASSES_S, LOST_AFTER_S, FinalReads
from chaos.workload.logs.replica_copies import ReplicaCopies
from chaos.workload.logs.unread_values import LogNote
from chaos.workload.objects.final_reads_of_objects import LastReads

SPEC = FinalSpec(keys=2, op_timeout_s=3, operations=frozenset(F), promises=Promises(), copies=((2, 3, 4), (2, 3)))
TWO = gave((0, (1, 0)), (1, (1, 1)), next_offset=2, max_offset=2, min_offset=0)
ONE = gave((0, (1, 0)), next_offset=1, max_offset=1, min_offset=0)
SHORT = gave((0, (1, 0)), next_offset=1, max_offset=2, min_offset=0)
OTHER = gave((0, (1, 0)), (1, (9, 9)), next_offset=2, max_offset=2, min_offset=0)
REFUSED = Completion(type=Type.FAIL, error="not master")


def drained(*answers, then=TWO, note=None, has_group=False, **more):
    left = list(answers)

    def answer(f, _argument, _at_s):
        if f is F.COMMITTED_READ:
            return goes_on_at(1)
        return left.pop(0) if left else then

    notes = () if note is None else (note,)
    why, asked = performed(FinalReads(SPEC, has_group=has_group), Part(0), answer, notes=notes, **more)
    return why, [at_s for at_s, f, _ in asked if f is F.DRAIN], [f for _, f, _ in asked]


def test_two_equal_passes_some_time_apart_are_the_end():
    why, passes, _ = drained()
    assert why == ""
    assert len(passes) == 2
    assert passes[1] - passes[0] >= BETWEEN_PASSES_S


@pytest.mark.parametrize("first", [ONE, SHORT, OTHER, REFUSED])
def test_a_pass_that_differs_is_followed_by_two_that_agree(first):
    why, passes, _ = drained(first)
    assert (why, len(passes)) == ("", 3)


@pytest.mark.parametrize(
    ("then", "why"),
    [(SHORT, "read to 1 of 2"), (REFUSED, "not master"), (Completion(type=Type.INFO), "not read")],
)
def test_a_queue_that_cannot_be_read_whole_is_given_up_at_the_limit(then, why):
    found, passes, _ = drained(then=then, limit_s=60)
    assert found == why
    assert 60 - 2 * BETWEEN_PASSES_S < passes[-1] <= 60 + BETWEEN_PASSES_S
    early, passes, _ = drained(then=then, limit_s=600, keys_missing=True)
    assert (early, passes[-1] < 40) == (why, True)


def test_content_that_keeps_changing_is_no_end():
    answers = [OTHER, TWO] * 50
    assert drained(*answers, limit_s=60)[0] == "two passes read different content"


@pytest.mark.parametrize("note", [LogNote(5), LogNote(0, ((1, 7),))])
def test_what_is_acknowledged_and_missing_is_waited_for_until_its_loss_is_proven(note):
    why, passes, _ = drained(note=note, limit_s=600)
    assert why == ""
    assert LOST_AFTER_S < passes[-1] < LOST_AFTER_S * 1.5
    late = gave((0, (1, 0)), *((n, (1, n)) for n in range(1, 8)), next_offset=8, max_offset=8)
    why, passes, _ = drained(TWO, TWO, then=late, note=note, limit_s=600)
    assert (why, passes[-1] < LOST_AFTER_S) == ("", True)
    assert drained(note=note, limit_s=60)[0] != ""


def test_a_pass_of_a_group_ends_with_where_it_goes_on():
    _, _, words = drained(has_group=True)
    assert words == [F.DRAIN, F.COMMITTED_READ] * 2


def test_every_replica_is_asked_once_for_its_copy_of_every_queue():
    phase = ReplicaCopies(SPEC)
    assert phase.parts() == (Part(0, 2), Part(0, 3), Part(0, 4), Part(1, 2), Part(1, 3))
    why, asked = performed(phase, Part(1, 3), lambda *_: REFUSED)
    assert (why, [(f, argument.node) for _, f, argument in asked]) == ("not master", [(F.REPLICA, 3)])
    assert performed(phase, Part(1, 3), lambda *_: TWO)[0] == ""


@pytest.mark.parametrize("spec", [{"copies": ((2,), ())}, {"operations": frozenset({F.SEND})}])
def test_no_copies_are_read_where_there_is_nothing_to_compare_or_nobody_can_ask(spec):
    changed = FinalSpec(**{**{name: getattr(SPEC, name) for name in SPEC.__struct_fields__}, **spec})
    assert ReplicaCopies(changed).parts() == ()


def test_an_object_is_read_until_the_read_is_answered():
    phase = LastReads(SPEC, REGISTER.READ)
    assert phase.parts() == (Part(0), Part(1))
    why, asked = performed(phase, Part(1), lambda _f, _a, at_s: REFUSED if at_s < 5 else Completion(type=Type.OK))
    assert why == ""
    assert {f for _, f, _ in asked} == {REGISTER.READ}
    assert len(asked) > 4
    why, asked = performed(phase, Part(1), lambda *_: REFUSED, limit_s=200, keys_missing=True)
    assert (why, asked[-1][0] < 32) == ("not master", True)
