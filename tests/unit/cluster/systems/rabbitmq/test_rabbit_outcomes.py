"""Every row of the table of outcomes, as RabbitMQ sends it."""

import pytest

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from cluster.systems.rabbitmq.amqp import Confirmed, Empty, Refused
from cluster.systems.rabbitmq.outcomes import NACK, RETURNED, TABLE, name_of, of_dequeue, of_enqueue

SENT = {
    RETURNED: Refused(312, "NO_ROUTE", returned=True),
    NACK: Confirmed(taken=False),
    "320": Refused(320, "CONNECTION_FORCED - broker forced connection closure"),
    "404": Refused(404, "NOT_FOUND - no queue"),
    "406": Refused(406, "PRECONDITION_FAILED"),
    "504": Refused(504, "CHANNEL_ERROR"),
    "506": Refused(506, "RESOURCE_ERROR"),
    "541": Refused(541, "INTERNAL_ERROR"),
}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_row(row):
    answer = SENT[row.name]
    assert name_of(answer) == row.name
    assert type(of_enqueue(answer)) is (Definite if row.type is Type.FAIL else Indefinite)
    assert type(of_dequeue(answer, given=False)) is Definite, "nothing was delivered"
    assert type(of_dequeue(answer, given=True)) is Indefinite, "what became of the acknowledgement nobody knows"
    assert row.why


def test_every_row_has_what_is_sent_and_no_name_is_said_twice():
    assert [row.name for row in TABLE] == list(SENT)


def test_an_enqueue_has_failed_only_if_no_queue_was_given_the_message():
    assert [row.name for row in TABLE if row.type is Type.FAIL] == [RETURNED]


@pytest.mark.parametrize("answer", [Refused(312, "not returned"), Refused(599, "new"), Empty()])
def test_what_nobody_foresaw_leaves_an_enqueue_in_doubt(answer):
    assert type(of_enqueue(answer)) is Indefinite
