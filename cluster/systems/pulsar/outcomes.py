"""What each error of Pulsar means for a send, as data. A read that was refused has failed, whatever the reason.

A broker says PersistenceError of a topic that it has lost, of bookies that do not answer, and of a write that it has
given up, so it says nothing of whether bookies have the message. ``fail`` stands only where the source answers so
before it writes. An error that is not in the table is ``info``. Every row has a test.

Nothing was sent where a connection got no producer: there any error is ``fail``.
"""

from types import MappingProxyType
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type


class Row(NamedTuple):
    """One line of the table."""

    code: int
    name: str
    type: Type
    why: str

    @property
    def error(self) -> str:
        """As it begins in histories."""
        return f"{self.code} {self.name}"


class Refusal(NamedTuple):
    """An error as a broker says it."""

    code: int
    message: str

    @property
    def text(self) -> str:
        """As it stands in histories."""
        first = self.message.partition("\n")[0][:_MOST]
        return f"{name_of(self.code)}: {first}" if first else name_of(self.code)


_MOST: Final = 120
_BEFORE: Final = "looked at before the message is handed to the ledger"
_AFTER: Final = "bookies may have the message"

TABLE: Final[tuple[Row, ...]] = (
    Row(0, "UnknownError", Type.INFO, "anything"),
    Row(1, "MetadataError", Type.INFO, "says nothing of when it happened"),
    Row(2, "PersistenceError", Type.INFO, f"the ledger or the topic failed: {_AFTER}"),
    Row(9, "ChecksumError", Type.FAIL, _BEFORE),
    Row(15, "TopicTerminatedError", Type.INFO, f"also said of what was under way: {_AFTER}"),
    Row(22, "NotAllowedError", Type.FAIL, f"too long a message: {_BEFORE}"),
)
_OTHERS: Final = MappingProxyType(
    {
        3: "AuthenticationError",
        4: "AuthorizationError",
        5: "ConsumerBusy",
        6: "ServiceNotReady",
        7: "ProducerBlockedQuotaExceededError",
        8: "ProducerBlockedQuotaExceededException",
        11: "TopicNotFound",
        13: "ConsumerNotFound",
        14: "TooManyRequests",
        16: "ProducerBusy",
        17: "InvalidTopicName",
        25: "ProducerFenced",
    }
)
"""Names of errors that brokers do not answer sends with."""
_ROWS: Final = MappingProxyType({row.code: row for row in TABLE})
NOT_SERVED: Final = "6 ServiceNotReady"
"""How a broker refuses a topic that it does not own."""


def name_of(code: int) -> str:
    """An error by its number and name."""
    row = _ROWS.get(code)
    return row.error if row is not None else f"{code} {_OTHERS[code]}" if code in _OTHERS else f"error {code}"


def of_send(refusal: Refusal) -> Definite | Indefinite:
    """What an error makes of a send."""
    row = _ROWS.get(refusal.code)
    return Definite(refusal.text) if row is not None and row.type is Type.FAIL else Indefinite(refusal.text)
