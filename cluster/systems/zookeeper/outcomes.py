"""What each error of ZooKeeper means for a write, as data. A read that was refused has failed, whatever the reason.

``fail`` stands only where the request processors of 3.9 make no transaction of a request (``RequestThrottler``,
``ReadOnlyRequestProcessor``), or where the leader makes it an error (``PrepRequestProcessor``), which every server
applies as one. An error that is not in the table is ``info``. No server of 3.9 answers ``ConnectionLoss`` or
``OperationTimeout``: clients say these of themselves. Every row has a test.
"""

from types import MappingProxyType
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type


class Row(NamedTuple):
    """One line of the table: the number of an error, its name, what it makes of a write, and why."""

    code: int
    name: str
    type: Type
    why: str


_AGREED: Final = "the leader decided it, and every server applies it as an error"

TABLE: Final[tuple[Row, ...]] = (
    Row(-101, "NoNode", Type.FAIL, _AGREED),
    Row(-102, "NoAuth", Type.FAIL, _AGREED),
    Row(-103, "BadVersion", Type.FAIL, _AGREED),
    Row(-110, "NodeExists", Type.FAIL, _AGREED),
    Row(-111, "NotEmpty", Type.FAIL, _AGREED),
    Row(-112, "SessionExpired", Type.FAIL, f"the leader knows no such session; {_AGREED}"),
    Row(-114, "InvalidACL", Type.FAIL, _AGREED),
    Row(-125, "QuotaExceeded", Type.FAIL, _AGREED),
    Row(-8, "BadArguments", Type.FAIL, _AGREED),
    Row(-6, "Unimplemented", Type.FAIL, _AGREED),
    Row(-119, "NotReadOnly", Type.FAIL, "the server has no leader and takes reads alone"),
    Row(-127, "ThrottledOp", Type.FAIL, "the server had too much to do, and made no transaction"),
    Row(-5, "MarshallingError", Type.INFO, "anything unforeseen, also after the transaction was applied"),
    Row(-1, "SystemError", Type.INFO, "anything"),
)
NO_NODE: Final = -101
NODE_EXISTS: Final = -110

_ROWS: Final = MappingProxyType({row.code: row for row in TABLE})


def outcome(code: int, *, write: bool) -> Definite | Indefinite:
    """What an answer that is an error makes of the operation."""
    row = _ROWS.get(code)
    text = row.name if row is not None else f"error {code}"
    if not write or (row is not None and row.type is Type.FAIL):
        return Definite(text)
    return Indefinite(text)
