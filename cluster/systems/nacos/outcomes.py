"""What each error of Nacos means for a write, as data. A read that was refused has failed, whatever the reason.

``fail`` stands only where the server answers before it changes anything, or says that nothing was changed. An error
that is not in the table is ``info``. Every row has a test.
"""

from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type

NOT_FOUND: Final = "resource not found"


class Row(NamedTuple):
    """One line of the table: the number of an error, its name, what it makes of a write, and why."""

    code: int
    name: str
    type: Type
    why: str


TABLE: Final[tuple[Row, ...]] = (
    Row(10000, "parameter missing", Type.FAIL, "the form is looked at first"),
    Row(10001, "access denied", Type.FAIL, "a filter refuses it before any handler is called"),
    Row(20005, "resource conflict", Type.FAIL, "the leader compared, and nothing was changed"),
    Row(21003, "instance not found", Type.FAIL, "a beat of an instance that is not there"),
    Row(20404, "no such instance", Type.FAIL, "likewise, said by Nacos 1's API"),
    Row(20002, "parameter validate error", Type.INFO, "any bad argument, also of a call within the server"),
    Row(20004, NOT_FOUND, Type.INFO, "said of reads"),
    Row(10002, "data access error", Type.INFO, "the database, which may have it"),
    Row(30000, "server error", Type.INFO, "anything, also that Raft took it and did not answer in time"),
)

_ROWS: Final = MappingProxyType({row.code: row for row in TABLE})


class Refusal(msgspec.Struct):
    """An answer that is an error, as far as it is JSON."""

    code: int = 0


def outcome(status: int, body: bytes, *, write: bool) -> Definite | Indefinite:
    """What an answer that is an error makes of the operation."""
    try:
        code = msgspec.json.decode(body, type=Refusal).code
    except msgspec.DecodeError:
        code = 0
    row = _ROWS.get(code)
    text = row.name if row is not None else f"status {status}, error {code}"
    if not write or (row is not None and row.type is Type.FAIL):
        return Definite(text)
    return Indefinite(text)
