"""What each error of Redis means for a write, as data. A read that was refused has failed, whatever the reason.

``fail`` stands only where the source of Redis 7.0 answers before the command is executed (``processCommand``), or where
the one write of our script is refused: a wrong ``fail`` breaks every verdict. An error that is not in the table is
``info``. Every row has a test.
"""

from types import MappingProxyType
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type


class Row(NamedTuple):
    """One line of the table: the code that an error begins with, what it makes of a write, and why."""

    code: str
    type: Type
    why: str


_BEFORE: Final = "said before the command is executed"

TABLE: Final[tuple[Row, ...]] = (
    Row("READONLY", Type.FAIL, f"the server is a replica; {_BEFORE}"),
    Row("NOREPLICAS", Type.FAIL, f"too few replicas for min-replicas-to-write; {_BEFORE}"),
    Row("MASTERDOWN", Type.FAIL, f"a replica without its master, which answers nothing; {_BEFORE}"),
    Row("LOADING", Type.FAIL, f"the server reads its file; {_BEFORE}"),
    Row("MISCONF", Type.FAIL, f"the server cannot write its file; {_BEFORE}"),
    Row("OOM", Type.FAIL, f"the server has no memory left; {_BEFORE}"),
    Row("BUSY", Type.FAIL, f"a script holds the server; {_BEFORE}"),
    Row("MOVED", Type.FAIL, f"another server has the slot; {_BEFORE}"),
    Row("ASK", Type.FAIL, f"the slot is on its way to another server; {_BEFORE}"),
    Row("TRYAGAIN", Type.FAIL, f"the slot is on its way to another server; {_BEFORE}"),
    Row("CLUSTERDOWN", Type.FAIL, f"slots are served by nobody, or the server is cut off; {_BEFORE}"),
    Row("EXECABORT", Type.FAIL, "a command was refused as it was queued, so none was executed"),
    Row("NOSCRIPT", Type.FAIL, _BEFORE),
    Row("NOPERM", Type.FAIL, _BEFORE),
    Row("NOAUTH", Type.FAIL, _BEFORE),
    Row("UNBLOCKED", Type.INFO, "the server became a replica while it waited for others; the write was executed"),
    Row("ERR", Type.INFO, "anything: the code says nothing of when"),
)

_ROWS: Final = MappingProxyType({row.code: row for row in TABLE})


def outcome(text: str, *, write: bool) -> Definite | Indefinite:
    """What a reply that is an error makes of the operation."""
    row = _ROWS.get(text.partition(" ")[0])
    if not write or (row is not None and row.type is Type.FAIL):
        return Definite(text)
    return Indefinite(text)
