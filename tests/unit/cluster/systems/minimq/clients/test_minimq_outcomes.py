"""Every row of the table of outcomes, and that every refusal the protocol knows has one."""

from typing import get_args

import pytest

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from cluster.systems.minimq.clients.outcomes import TABLE, expect
from cluster.systems.minimq.protocol import messages
from cluster.systems.minimq.protocol.broker_messages import CommitDone, Polled, Produced, Rejected, RejectedReason

PRODUCED = Produced(offset=3, epoch=1)


def test_what_was_asked_for_is_given():
    assert expect(PRODUCED, Produced) is PRODUCED


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.kind.__name__}-{row.reason}")
def test_every_row(row):
    with pytest.raises(Definite if row.type is Type.FAIL else Indefinite) as caught:
        expect(row.kind(reason=row.reason), Produced)
    assert (str(caught.value), bool(row.why)) == (row.error, True)


def test_a_rejection_is_definite_and_an_indefinite_answer_is_not():
    assert {row.type for row in TABLE if row.kind is Rejected} == {Type.FAIL}
    assert {row.type for row in TABLE if row.kind is messages.Indefinite} == {Type.INFO}


def test_every_refusal_of_the_protocol_has_a_row():
    known = {(row.kind, row.reason) for row in TABLE}
    indefinite = get_args(messages.Indefinite.__annotations__["reason"])
    assert known == {(Rejected, reason) for reason in get_args(RejectedReason)} | {
        (messages.Indefinite, reason) for reason in indefinite
    }


@pytest.mark.parametrize(
    "answer", [Polled(records=(), end=0, epoch=1), CommitDone(epoch=1), messages.Refused(reason="busy")]
)
def test_an_answer_to_something_else_says_nothing(answer):
    with pytest.raises(Indefinite, match=f"unexpected answer: {type(answer).__name__}"):
        expect(answer, Produced)
