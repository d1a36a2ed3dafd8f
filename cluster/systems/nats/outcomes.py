"""What each error of NATS means for a write, as data. A read that was refused has failed, whatever the reason.

A write is a message that goes to whoever subscribes to its subject: to every server that takes itself for the leader of
the bucket. There may be two for a while, a deposed one and its successor; the error of one says nothing of the other.
So ``fail`` stands only where the source of NATS 2.9.10 had given the message to nobody, or where the error tells of a
committed write that no leader may pass over. An error that is not in the table is ``info``. Every row has a test.
"""

import re
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type


class Row(NamedTuple):
    """One line of the table: what an error is called here, what it makes of a write, and why."""

    name: str
    type: Type
    why: str


NOBODY: Final = "no responders"
NEWER: Final = "10071 newer"
NOT_NEWER: Final = "10071"
UNDER_WAY: Final = "10164"
EXPIRING: Final = "10071 expiring"
NO_CODE: Final = "503"
WRONG_SEQUENCE: Final = 10071

_OTHER: Final = "another server that takes itself for the leader may have taken it"

TABLE: Final[tuple[Row, ...]] = (
    Row(NOBODY, Type.FAIL, "the client's server had nobody to give the message to"),
    Row(NEWER, Type.FAIL, "the key has a later revision than the expected one, so no leader may take it"),
    Row(NOT_NEWER, Type.INFO, f"said by one that knows less than the client; {_OTHER}"),
    Row(EXPIRING, Type.INFO, f"said of keys that end by their age, which each server counts by itself; {_OTHER}"),
    Row(UNDER_WAY, Type.INFO, f"another write of the key was under way at the leader; {_OTHER}"),
    Row(NO_CODE, Type.INFO, f"the server's own Raft did not take it; {_OTHER}"),
    Row("10008", Type.INFO, f"the server knows no leader; {_OTHER}"),
    Row("10002", Type.INFO, "also said of what was stored; other servers may keep it"),
    Row("10023", Type.INFO, "also said when a committed write is applied; other servers may have applied it"),
    Row("10063", Type.INFO, "said when a committed write is applied; other servers may have applied it"),
    Row("10077", Type.INFO, "said when a committed write is applied; other servers may have applied it"),
)

_ROWS: Final = MappingProxyType({row.name: row for row in TABLE})
_HAS: Final = re.compile(r"wrong last sequence: (\d+)")


class ApiError(msgspec.Struct, frozen=True):
    """An error of JetStream. ``err_code`` is the number that says which one; 0: it has none."""

    code: int = 0
    err_code: int = 0
    description: str = ""

    def __str__(self) -> str:
        return f"{self.err_code or self.code} {self.description}"


def name_of(error: ApiError, expected: int | None, *, expiring: bool = False) -> str:
    """What an error is called in the table. Pure.

    Args:
        error: it.
        expected: the revision that the write named, if it did.
        expiring: the keys of the bucket end by their age.
    """
    if error.err_code != WRONG_SEQUENCE:
        return str(error.err_code or error.code)
    if expiring:
        return EXPIRING
    found = _HAS.search(error.description)
    return NEWER if found is not None and expected is not None and int(found[1]) > expected else NOT_NEWER


def outcome(
    error: ApiError | None, *, write: bool, expected: int | None = None, expiring: bool = False
) -> Definite | Indefinite:
    """What an error makes of the operation, None: that nobody was there to be asked; the rest as ``name_of``."""
    text = NOBODY if error is None else str(error)
    row = _ROWS.get(NOBODY if error is None else name_of(error, expected, expiring=expiring))
    if not write or (row is not None and row.type is Type.FAIL):
        return Definite(text)
    return Indefinite(text)
