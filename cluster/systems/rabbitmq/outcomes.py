"""What each answer of RabbitMQ means for an operation, as data. Every row has a test.

``fail`` stands only where it is certain that nothing was done. An answer that is not in the table is ``info`` for an
enqueue. A dequeue that was refused before it was given a message has failed, whatever the reason.
"""

from types import MappingProxyType
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from cluster.systems.rabbitmq.amqp import Answer, Confirmed, Refused


class Row(NamedTuple):
    """One line of the table: what an answer is called, what it makes of an enqueue, and why."""

    name: str
    type: Type
    why: str


NACK: Final = "nack"
RETURNED: Final = "returned 312"

TABLE: Final[tuple[Row, ...]] = (
    Row(RETURNED, Type.FAIL, "the node knows no such queue, so it gave the message to nobody"),
    Row(
        NACK,
        Type.INFO,
        "said for a queue whose process is gone or cannot be reached; it may have kept the message before",
    ),
    Row("320", Type.INFO, "the node closes its connections; the message may be on its way to the queue"),
    Row("404", Type.INFO, "closes the channel for whatever was asked last; the message may have been taken before"),
    Row("406", Type.INFO, "likewise"),
    Row("504", Type.INFO, "likewise"),
    Row("506", Type.INFO, "the node lacks resources; the message may have been taken before"),
    Row("541", Type.INFO, "an error inside the node, at any place"),
)

_ROWS: Final = MappingProxyType({row.name: row for row in TABLE})


def name_of(answer: Answer) -> str:
    """What an answer that is no success is called in the table."""
    if isinstance(answer, Refused):
        return f"returned {answer.code}" if answer.returned else str(answer.code)
    return NACK if isinstance(answer, Confirmed) else type(answer).__name__


def text_of(answer: Answer) -> str:
    """The error that is recorded: what it is called, and what the server said."""
    return f"{name_of(answer)} {answer.text}".strip() if isinstance(answer, Refused) else name_of(answer)


def of_enqueue(answer: Answer) -> Definite | Indefinite:
    """What an answer other than a confirm makes of an enqueue."""
    row = _ROWS.get(name_of(answer))
    return (Definite if row is not None and row.type is Type.FAIL else Indefinite)(text_of(answer))


def of_dequeue(answer: Answer, *, given: bool) -> Definite | Indefinite:
    """What a refusal makes of a dequeue; ``given``: it had been given a message before."""
    return (Indefinite if given else Definite)(text_of(answer))
