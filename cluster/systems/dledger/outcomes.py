"""What each error of DLedger means for an append, as data. A read that was refused has failed, whatever the reason.

``fail`` stands only where the source of every version from 0.1 to 0.4.3 answers so before it writes the entry. An error
that is not in the table is ``info``. Every row has a test.
"""

from types import MappingProxyType
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type


class Row(NamedTuple):
    """One line of the table. ``remoting``: a code of RocketMQ's remoting, which carries the request."""

    code: int
    name: str
    type: Type
    why: str
    remoting: bool = False

    @property
    def error(self) -> str:
        """As it stands in histories."""
        return f"{self.code} {self.name}"


NOT_LEADER: Final = "404 NOT_LEADER"
_BEFORE: Final = "looked at before the entry is written"
_AFTER: Final = "the entry is in the leader's log, and others may have it"

TABLE: Final[tuple[Row, ...]] = (
    Row(400, "UNKNOWN_GROUP", Type.FAIL, _BEFORE),
    Row(401, "UNKNOWN_MEMBER", Type.FAIL, _BEFORE),
    Row(404, "NOT_LEADER", Type.FAIL, _BEFORE),
    Row(415, "DISK_FULL", Type.FAIL, _BEFORE),
    Row(503, "LEADER_PENDING_FULL", Type.FAIL, _BEFORE),
    Row(506, "LEADER_TRANSFERRING", Type.FAIL, _BEFORE),
    Row(403, "EXPIRED_TERM", Type.INFO, f"the term ended while the append waited: {_AFTER}"),
    Row(414, "DISK_ERROR", Type.INFO, "also said when the entry is written and its index is not"),
    Row(500, "INTERNAL_ERROR", Type.INFO, "says nothing of when it happened"),
    Row(501, "TERM_CHANGED", Type.INFO, f"the term ended while the append waited: {_AFTER}"),
    Row(502, "WAIT_QUORUM_ACK_TIMEOUT", Type.INFO, _AFTER),
    Row(1, "SYSTEM_ERROR", Type.INFO, "an exception, which may have come after the entry was written", remoting=True),
    Row(2, "SYSTEM_BUSY", Type.FAIL, "no thread took the request", remoting=True),
    Row(3, "REQUEST_CODE_NOT_SUPPORTED", Type.FAIL, "nothing on the node knows the request", remoting=True),
)

_ROWS: Final = MappingProxyType({(row.code, row.remoting): row for row in TABLE})


def of_append(code: int, *, remoting: bool = False) -> Definite | Indefinite:
    """What an error makes of an append."""
    row = _ROWS.get((code, remoting))
    if row is None:
        return Indefinite(f"code {code}")
    return Definite(row.error) if row.type is Type.FAIL else Indefinite(row.error)


def definite_of(code: int, *, remoting: bool = False) -> Definite:
    """What an error makes of a read."""
    row = _ROWS.get((code, remoting))
    return Definite(f"code {code}" if row is None else row.error)
