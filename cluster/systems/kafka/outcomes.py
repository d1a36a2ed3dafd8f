"""What each error of Kafka means for a send, as data. A read that was refused has failed, whatever the reason.

A leader that waits for its replicas may lose its lead meanwhile, and then answers as one that never led. It tells the
two apart by the offset in its answer: -1 where nothing was appended (``ReplicaManager.appendRecords`` of 4.3). So
``fail`` stands only where the error can be raised before the append alone, or where there is no offset. An error that
is not in the table is ``info``. Every row has a test.
"""

from types import MappingProxyType
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type


class Row(NamedTuple):
    """One line of the table: the number of an error, its name, what it makes of a send, and why.

    ``appended``: what it makes of a send whose answer names an offset.
    """

    code: int
    name: str
    type: Type
    appended: Type
    why: str


_BEFORE: Final = "answered before the append"
_EITHER: Final = "answered before the append, or for a leader that was replaced while it waited: then with an offset"

TABLE: Final[tuple[Row, ...]] = (
    Row(-1, "UNKNOWN_SERVER_ERROR", Type.INFO, Type.INFO, "anything"),
    Row(2, "CORRUPT_MESSAGE", Type.FAIL, Type.INFO, _BEFORE),
    Row(3, "UNKNOWN_TOPIC_OR_PARTITION", Type.FAIL, Type.INFO, _EITHER),
    Row(6, "NOT_LEADER_OR_FOLLOWER", Type.FAIL, Type.INFO, _EITHER),
    Row(7, "REQUEST_TIMED_OUT", Type.INFO, Type.INFO, "appended, not known to be replicated"),
    Row(10, "MESSAGE_TOO_LARGE", Type.FAIL, Type.INFO, _BEFORE),
    Row(17, "INVALID_TOPIC_EXCEPTION", Type.FAIL, Type.INFO, _BEFORE),
    Row(18, "RECORD_LIST_TOO_LARGE", Type.FAIL, Type.INFO, _BEFORE),
    Row(19, "NOT_ENOUGH_REPLICAS", Type.FAIL, Type.INFO, "the leader counts the replicas in sync before the append"),
    Row(20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", Type.INFO, Type.INFO, "appended, not replicated as was asked"),
    Row(21, "INVALID_REQUIRED_ACKS", Type.FAIL, Type.INFO, _BEFORE),
    Row(29, "TOPIC_AUTHORIZATION_FAILED", Type.FAIL, Type.INFO, _BEFORE),
    Row(35, "UNSUPPORTED_VERSION", Type.FAIL, Type.INFO, _BEFORE),
    Row(42, "INVALID_REQUEST", Type.FAIL, Type.INFO, _BEFORE),
    Row(43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", Type.FAIL, Type.INFO, _BEFORE),
    Row(45, "OUT_OF_ORDER_SEQUENCE_NUMBER", Type.FAIL, Type.INFO, _BEFORE),
    Row(46, "DUPLICATE_SEQUENCE_NUMBER", Type.INFO, Type.INFO, "the number was taken before; where is not known"),
    Row(47, "INVALID_PRODUCER_EPOCH", Type.FAIL, Type.INFO, _BEFORE),
    Row(48, "INVALID_TXN_STATE", Type.FAIL, Type.INFO, _BEFORE),
    Row(49, "INVALID_PRODUCER_ID_MAPPING", Type.FAIL, Type.INFO, _BEFORE),
    Row(51, "CONCURRENT_TRANSACTIONS", Type.FAIL, Type.INFO, _BEFORE),
    Row(56, "KAFKA_STORAGE_ERROR", Type.INFO, Type.INFO, "a disk failed, maybe in the middle of the append"),
    Row(59, "UNKNOWN_PRODUCER_ID", Type.FAIL, Type.INFO, _BEFORE),
    Row(74, "FENCED_LEADER_EPOCH", Type.FAIL, Type.INFO, _EITHER),
    Row(76, "UNKNOWN_LEADER_EPOCH", Type.FAIL, Type.INFO, _EITHER),
    Row(87, "INVALID_RECORD", Type.FAIL, Type.INFO, _BEFORE),
    Row(90, "PRODUCER_FENCED", Type.FAIL, Type.INFO, _BEFORE),
)

_IN_THE_LOG: Final = "said before the append of the commit to its own log, and of an append that failed or timed out"

COMMITS: Final[tuple[Row, ...]] = (
    Row(3, "UNKNOWN_TOPIC_OR_PARTITION", Type.FAIL, Type.FAIL, _BEFORE),
    Row(12, "OFFSET_METADATA_TOO_LARGE", Type.FAIL, Type.FAIL, _BEFORE),
    Row(14, "COORDINATOR_LOAD_IN_PROGRESS", Type.FAIL, Type.FAIL, _BEFORE),
    Row(15, "COORDINATOR_NOT_AVAILABLE", Type.INFO, Type.INFO, _IN_THE_LOG),
    Row(16, "NOT_COORDINATOR", Type.INFO, Type.INFO, _IN_THE_LOG),
    Row(22, "ILLEGAL_GENERATION", Type.FAIL, Type.FAIL, _BEFORE),
    Row(24, "INVALID_GROUP_ID", Type.FAIL, Type.FAIL, _BEFORE),
    Row(25, "UNKNOWN_MEMBER_ID", Type.FAIL, Type.FAIL, _BEFORE),
    Row(27, "REBALANCE_IN_PROGRESS", Type.FAIL, Type.FAIL, _BEFORE),
    Row(28, "INVALID_COMMIT_OFFSET_SIZE", Type.INFO, Type.INFO, "an append that was too large"),
    Row(30, "GROUP_AUTHORIZATION_FAILED", Type.FAIL, Type.FAIL, _BEFORE),
)
"""The same for commits of offsets (``CoordinatorOperationExceptionHelper`` of 4.3), whose answers name no offset."""

_ROWS: Final = MappingProxyType({row.code: row for row in TABLE})
_COMMITS: Final = MappingProxyType({row.code: row for row in COMMITS})
_NAMES: Final = MappingProxyType(
    {
        1: "OFFSET_OUT_OF_RANGE",
        5: "LEADER_NOT_AVAILABLE",
        8: "BROKER_NOT_AVAILABLE",
        9: "REPLICA_NOT_AVAILABLE",
        13: "NETWORK_EXCEPTION",
        36: "TOPIC_ALREADY_EXISTS",
        37: "INVALID_PARTITIONS",
        38: "INVALID_REPLICATION_FACTOR",
        39: "INVALID_REPLICA_ASSIGNMENT",
        40: "INVALID_CONFIG",
        41: "NOT_CONTROLLER",
        23: "INCONSISTENT_GROUP_PROTOCOL",
        26: "INVALID_SESSION_TIMEOUT",
        78: "OFFSET_NOT_AVAILABLE",
        79: "MEMBER_ID_REQUIRED",
        81: "GROUP_MAX_SIZE_REACHED",
        88: "UNSTABLE_OFFSET_COMMIT",
    }
)
"""Errors that are not said of sends."""
FENCED: Final = ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED")
"""What a producer is told whose name another one has taken over."""
TOPIC_EXISTS: Final = 36
UNKNOWN_TOPIC: Final = 3
NOT_LEADER: Final = 6
ILLEGAL_GENERATION: Final = 22
UNKNOWN_MEMBER: Final = 25
REBALANCES: Final = 27
MEMBER_ID_REQUIRED: Final = 79


def name_of(code: int) -> str:
    """An error by name."""
    row = _ROWS.get(code) or _COMMITS.get(code)
    return row.name if row is not None else _NAMES.get(code, f"error {code}")


def of_send(code: int, offset: int) -> Definite | Indefinite:
    """What an answer that is an error makes of a send; ``offset``: the one in it, -1 for none."""
    row = _ROWS.get(code)
    text = name_of(code)
    if row is None or (row.type if offset < 0 else row.appended) is not Type.FAIL:
        return Indefinite(text)
    return Definite(text)


def of_commit(code: int) -> Definite | Indefinite:
    """What an answer that is an error makes of a commit."""
    row = _COMMITS.get(code)
    text = name_of(code)
    return Definite(text) if row is not None and row.type is Type.FAIL else Indefinite(text)
