"""What each answer to a send means, as data: code, remark and mode of replication → ok, fail or info.

``fail`` stands only where the broker's source (5.5.0) answers so before it appends: a wrong ``fail``
breaks every verdict, a wrong ``info`` costs one obligation. Rows are tried in order; an answer that
no row names is ``info``. Every row has its test.
"""

import re
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from cluster.systems.rocketmq.protocol import Answer, Code
from cluster.systems.rocketmq.topology import Mode


class Outcome(NamedTuple):
    """What became of a send, and one stable line that says why (empty if it is ok)."""

    type: Type
    error: str


class Row(NamedTuple):
    """One line of the table. ``mode`` None: any. ``remark``: a pattern searched in the broker's remark."""

    code: int
    remark: str
    mode: Mode | None
    type: Type
    error: str
    why: str


_BEFORE: Final = "answered before the append"

TABLE: Final[tuple[Row, ...]] = (
    Row(Code.SUCCESS, "", None, Type.OK, "", "appended and acknowledged by as many replicas as the settings ask for"),
    Row(
        Code.SYSTEM_BUSY,
        r"\[REJECTREQUEST\]",
        None,
        Type.FAIL,
        "SYSTEM_BUSY: not master",
        "rejected by SendMessageProcessor.rejectRequest: a slave, or a page cache that is busy",
    ),
    Row(Code.SYSTEM_BUSY, r"\[OVERLOAD\]", None, Type.FAIL, "SYSTEM_BUSY: thread pool full", _BEFORE),
    Row(
        Code.SYSTEM_BUSY,
        r"\[(TIMEOUT|PCBUSY)_CLEAN_QUEUE\]",
        None,
        Type.FAIL,
        "SYSTEM_BUSY: waited too long in the queue",
        "taken out of the queue and never run (BrokerFastFailure)",
    ),
    Row(
        Code.SYSTEM_BUSY,
        r"\[PC_SYNCHRONIZED\]",
        "dledger",
        Type.INFO,
        "SYSTEM_BUSY: log busy",
        "there it stands for a log that did not take the message, and for one that was too full while it waited",
    ),
    Row(Code.SYSTEM_BUSY, r"\[PC_SYNCHRONIZED\]", None, Type.FAIL, "SYSTEM_BUSY: page cache busy", _BEFORE),
    Row(Code.SYSTEM_BUSY, "", None, Type.FAIL, "SYSTEM_BUSY", _BEFORE),
    Row(
        Code.SYSTEM_ERROR,
        "in-sync replicas not enough",
        "dledger",
        Type.INFO,
        "SYSTEM_ERROR: in-sync replicas not enough",
        "there it also stands for a time-out after the append",
    ),
    Row(
        Code.SYSTEM_ERROR,
        "in-sync replicas not enough",
        None,
        Type.FAIL,
        "SYSTEM_ERROR: in-sync replicas not enough",
        "CommitLog.asyncPutMessage counts the replicas before the append",
    ),
    Row(
        Code.SYSTEM_ERROR,
        "broker unable to service, until",
        None,
        Type.FAIL,
        "SYSTEM_ERROR: broker does not serve yet",
        "SendMessageProcessor.preSend",
    ),
    Row(Code.SYSTEM_ERROR, "", None, Type.INFO, "SYSTEM_ERROR", "may have been raised after the append"),
    Row(Code.REQUEST_CODE_NOT_SUPPORTED, "", None, Type.FAIL, "REQUEST_CODE_NOT_SUPPORTED", _BEFORE),
    Row(Code.FLUSH_DISK_TIMEOUT, "", None, Type.INFO, "FLUSH_DISK_TIMEOUT", "appended, not known to be on disk"),
    Row(Code.SLAVE_NOT_AVAILABLE, "", None, Type.INFO, "SLAVE_NOT_AVAILABLE", "appended, not replicated"),
    Row(Code.FLUSH_SLAVE_TIMEOUT, "", None, Type.INFO, "FLUSH_SLAVE_TIMEOUT", "appended, not known to be replicated"),
    Row(Code.MESSAGE_ILLEGAL, "", None, Type.FAIL, "MESSAGE_ILLEGAL", _BEFORE),
    Row(
        Code.SERVICE_NOT_AVAILABLE,
        "",
        "dledger",
        Type.INFO,
        "SERVICE_NOT_AVAILABLE",
        "DLedgerCommitLog answers so for a leadership lost while it waited",
    ),
    Row(
        Code.SERVICE_NOT_AVAILABLE,
        "",
        None,
        Type.FAIL,
        "SERVICE_NOT_AVAILABLE",
        "HookUtils.checkBeforePutMessage: shut down, slave, or not writable",
    ),
    Row(Code.NO_PERMISSION, "", None, Type.FAIL, "NO_PERMISSION", _BEFORE),
    Row(Code.TOPIC_NOT_EXIST, "", None, Type.FAIL, "TOPIC_NOT_EXIST", _BEFORE),
    Row(Code.INVALID_PARAMETER, "", None, Type.FAIL, "INVALID_PARAMETER", _BEFORE),
)

_COMPILED: Final = tuple((row, re.compile(row.remark)) for row in TABLE)
_LIMIT: Final = 80


def of_send(code: int, remark: str, mode: Mode = "controller") -> Outcome:
    """What an answer to a send means."""
    for row, pattern in _COMPILED:
        if row.code == code and row.mode in (None, mode) and pattern.search(remark):
            return Outcome(row.type, row.error)
    return Outcome(Type.INFO, describe_answer(code, remark))


def require_ok(outcome: Outcome) -> None:
    """Raise what a client raises for an outcome that is not ok.

    Raises:
        Definite: it is fail. Indefinite: it is info.
    """
    if outcome.type is Type.FAIL:
        raise Definite(outcome.error)
    if outcome.type is not Type.OK:
        raise Indefinite(outcome.error)


def require_success(answer: Answer) -> None:
    """Refuse an answer that is no success, where every other code means that nothing was done.

    Raises:
        Definite: the node refused.
    """
    if answer.code != Code.SUCCESS:
        raise Definite(describe_answer(answer.code, answer.remark))


def describe_answer(code: int, remark: str) -> str:
    """An answer as one line to group by: the code's name and the remark without what varies."""
    name = Code(code).name if code in Code._value2member_map_ else f"code {code}"
    plain = re.sub(r"\d+", "N", " ".join(remark.split()).split(" See ")[0])[:_LIMIT]
    return f"{name}: {plain}" if plain else name
