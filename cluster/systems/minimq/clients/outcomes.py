"""What each answer of a broker means, as data: a refusal's kind and reason → fail or info.

``fail`` stands only where the core refuses before it appends: a wrong ``fail`` breaks every verdict. An answer that
is neither what was asked for nor a row is ``info``. Every row has its test.
"""

from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from cluster.systems.minimq.protocol import messages
from cluster.systems.minimq.protocol.broker_messages import Rejected


class Row(NamedTuple):
    """One line of the table: a refusal, what it makes of the operation, and why."""

    kind: type[Rejected | messages.Indefinite]
    reason: str
    type: Type
    error: str
    why: str


_BEFORE: Final = "refused before anything is appended"

TABLE: Final[tuple[Row, ...]] = (
    Row(Rejected, "not-master", Type.FAIL, "rejected: not-master", "only the master of an epoch appends"),
    Row(Rejected, "too-few-in-sync", Type.FAIL, "rejected: too-few-in-sync", _BEFORE),
    Row(Rejected, "unknown-queue", Type.FAIL, "rejected: unknown-queue", _BEFORE),
    Row(Rejected, "out-of-sequence", Type.FAIL, "rejected: out-of-sequence", "a sequence number before it is missing"),
    Row(Rejected, "bad-request", Type.FAIL, "rejected: bad-request", _BEFORE),
    Row(Rejected, "too-large", Type.FAIL, "rejected: too-large", _BEFORE),
    Row(Rejected, "busy", Type.FAIL, "rejected: busy", "the bound on waiting requests is looked at first"),
    Row(
        messages.Indefinite,
        "deadline",
        Type.INFO,
        "indefinite: deadline",
        "appended, and not confirmed within broker.requestTimeout",
    ),
    Row(
        messages.Indefinite,
        "stepped-down",
        Type.INFO,
        "indefinite: stepped-down",
        "appended, and another epoch began: it may survive or not",
    ),
)

_ROWS: Final = MappingProxyType({(row.kind, row.reason): row for row in TABLE})

AnswerT = TypeVar("AnswerT", bound=msgspec.Struct)


def expect(answer: msgspec.Struct, kind: type[AnswerT]) -> AnswerT:
    """The answer, if it is of the kind asked for.

    Raises:
        Definite: the broker certainly did nothing.
        Indefinite: nobody knows.
    """
    if isinstance(answer, kind):
        return answer
    row = _ROWS.get((type(answer), answer.reason)) if isinstance(answer, Rejected | messages.Indefinite) else None
    if row is None:
        raise Indefinite(f"unexpected answer: {type(answer).__name__}")
    raise Definite(row.error) if row.type is Type.FAIL else Indefinite(row.error)
