"""What each error of etcd means for a write, as data. A read that was refused has failed, whatever the reason.

``fail`` stands only where the source of etcd 3.4.23 answers before it gives the write to Raft, or where Raft itself
refuses it: a wrong ``fail`` breaks every verdict. An error that is not in the table is ``info``. Every row has a test.
"""

from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type


class Row(NamedTuple):
    """One line of the table: the text of an error, what it makes of a write, and why."""

    text: str
    type: Type
    why: str


_LATE: Final = "given to Raft, and not applied here within 5 s and two election timeouts; it may still be"

TABLE: Final[tuple[Row, ...]] = (
    Row("etcdserver: too many requests", Type.FAIL, "looked at first: too much is committed and not applied"),
    Row("etcdserver: request is too large", Type.FAIL, "looked at before Raft is asked"),
    Row("etcdserver: not capable", Type.FAIL, "the member does not serve this API yet; no handler was called"),
    Row("etcdserver: rpc not supported for learner", Type.FAIL, "a learner calls no handler of writes"),
    Row("etcdserver: no leader", Type.FAIL, "said before the handler, to whoever demands a leader"),
    Row("raft proposal dropped", Type.FAIL, "the member's own Raft neither appended nor forwarded it"),
    Row("etcdserver: requested lease not found", Type.FAIL, "the first thing looked at when the request is applied"),
    Row(
        "etcdserver: mvcc: required revision has been compacted",
        Type.FAIL,
        "all revisions that a transaction asks for are looked at before any of its requests is done",
    ),
    Row("etcdserver: request timed out", Type.INFO, _LATE),
    Row("etcdserver: request timed out, possibly due to previous leader failure", Type.INFO, _LATE),
    Row("etcdserver: request timed out, possibly due to connection lost", Type.INFO, _LATE),
    Row("etcdserver: request timed out, waiting for the applied index took too long", Type.INFO, _LATE),
    Row("context deadline exceeded", Type.INFO, "Raft had not taken it in time, or had and did not say so"),
    Row("context canceled", Type.INFO, "the gateway gave up waiting; Raft may have it"),
    Row("etcdserver: request cancelled", Type.INFO, "whoever waited gave up; Raft has it"),
    Row("etcdserver: leader changed", Type.INFO, "3.4 says it of reads only, others of what waited for the old leader"),
    Row("etcdserver: server stopped", Type.INFO, "the member stops while it waits for Raft"),
    Row("raft: stopped", Type.INFO, "the member stops; Raft may have taken it"),
    Row("etcdserver: mvcc: database space exceeded", Type.INFO, "also said of the write that crossed the limit"),
    Row("etcdserver: corrupt cluster", Type.INFO, "said when a write is applied; others may have applied it"),
)

_ROWS: Final = MappingProxyType({row.text: row for row in TABLE})


class _Error(msgspec.Struct):
    message: str


def outcome(body: bytes, *, write: bool) -> Definite | Indefinite:
    """What an answer that is an error makes of the operation."""
    try:
        text = msgspec.json.decode(body, type=_Error).message
    except msgspec.DecodeError:
        text = "an error without a message"
    row = _ROWS.get(text)
    if not write or (row is not None and row.type is Type.FAIL):
        return Definite(text)
    return Indefinite(text)
