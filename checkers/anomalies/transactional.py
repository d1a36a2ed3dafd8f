"""The anomalies of transactions and of Kafka's transactions: their words, in the order of strength."""

from collections.abc import Mapping
from typing import Any, Final

from chaos.core.anomaly_kind import FILES, AnomalyKind
from checkers.anomalies.kind_by_place import kind

_OF_KAFKA: Final[Mapping[str, Any]] = {"rule": "kafka", "excused_by": "format", "where": FILES}
_OF_TRANSACTIONS: Final[Mapping[str, Any]] = {"rule": "transactions", "excused_by": "models"}


def _transactional(name: str, words: tuple[str, str], meaning: str, expected: str) -> AnomalyKind:
    return kind(name, words, meaning, expected, **_OF_TRANSACTIONS)


def _cycle(name: str) -> tuple[str, str]:
    """A cycle has a name and no other word: one history may show several."""
    return f"{name} cycle", f"{name} cycles"


_CYCLES: Final = (
    ("G0", "writes, each replaced by the next"),
    ("G1c", "writes and reads of what was written"),
    ("G-single-item", "writes and reads in which one read misses a write"),
    ("G-nonadjacent-item", "writes and reads in which several reads miss writes, never two in a row"),
    ("G2-item", "writes and reads in which several reads miss writes, two of them in a row"),
)
_ORDERS: Final = (("", ""), ("-process", ", with the order of a process"), ("-realtime", ", with real time"))
_EXIST: Final = (
    ("PL-1", "read uncommitted"),
    ("PL-2", "read committed"),
    ("PL-SI", "snapshot isolation"),
    ("PL-2.99", "repeatable read"),
    ("PL-3", "serializability"),
    ("strong-session-PL-1", "strong session read uncommitted"),
    ("strong-session-PL-2", "strong session read committed"),
    ("strong-session-snapshot-isolation", "strong session snapshot isolation"),
    ("strong-session-serializable", "strong session serializability"),
    ("strong-PL-1", "strong read uncommitted"),
    ("strong-PL-2", "strong read committed"),
    ("strong-snapshot-isolation", "strong snapshot isolation"),
    ("PL-SS", "strict serializability"),
)
_BY_COMMIT_ORDER: Final = (
    ("read-atomic", "each is seen as a whole by whoever read a write of it"),
    ("causal-cerone", "each is seen together with all that it saw"),
    ("causal", "each is seen together with all that it saw and that its process had run"),
)
TRANSACTIONS: Final = (
    kind(
        "precommitted-read",
        ("poll of its own transaction", "polls of their own transactions"),
        "a transaction that polled what it itself sent",
        "what a transaction sends is seen after it commits",
        **_OF_KAFKA,
    ),
    kind(
        "int-nonmonotonic-send",
        ("transaction whose sends went back", "transactions whose sends went back"),
        "within one transaction a later send at the same or a lower offset",
        "the sends of a transaction keep their order",
        **_OF_KAFKA,
    ),
    kind(
        "int-send-skip",
        ("transaction with another's message inside", "transactions with others' messages inside"),
        "another sender's message between two sends of one transaction",
        "the sends of a transaction are neighbours; Kafka does not promise it",
        **_OF_KAFKA,
    ),
    _transactional(
        "duplicate-elements",
        ("read with an element twice", "reads with an element twice"),
        "a read of a list that shows one element more than once",
        "what is appended once is there once",
    ),
    _transactional(
        "cyclic-versions",
        ("order of versions that contradicts itself", "orders of versions that contradict themselves"),
        "values of a register that come before each other, by what its order was inferred from",
        "a register takes its values in one order",
    ),
    _transactional(
        "incompatible-order",
        ("key whose reads disagree", "keys whose reads disagree"),
        "two reads of a list of which neither is the beginning of the other",
        "all reads of a list show one order of appends",
    ),
    _transactional(
        "dirty-update",
        ("update of what a failed transaction wrote", "updates of what failed transactions wrote"),
        "a committed append behind one that failed",
        "nothing is built on what was refused",
    ),
    _transactional(
        "G1b",
        ("read in the middle of a transaction", "reads in the middle of transactions"),
        "a read of a value that its own transaction went on to replace",
        "a transaction shows its last write of a key alone",
    ),
    _transactional(
        "internal",
        ("transaction that contradicts itself", "transactions that contradict themselves"),
        "a read that disagrees with what its own transaction read or wrote before",
        "a transaction sees its own writes, and reads a key alike until it writes it",
    ),
    _transactional(
        "future-read",
        ("read of a later write of its own", "reads of later writes of their own"),
        "a transaction that read what it wrote only afterwards",
        "a read shows what was written before it",
    ),
    *(
        _transactional(name + suffix, _cycle(name + suffix), f"a circle of {what}{order}", "transactions have an order")
        for suffix, order in _ORDERS
        for name, what in _CYCLES
    ),
    _transactional(
        "lost-update",
        ("state that was updated more than once", "states that were updated more than once"),
        "several committed transactions that read the same value of a key and all wrote it",
        "an update rests on the value that it replaces",
    ),
    *(
        _transactional(
            f"{level}-cycle-exists",
            _cycle(level),
            "a circle of dependencies that has no narrower name",
            f"{model} holds",
        )
        for level, model in _EXIST
    ),
    *(
        _transactional(
            f"{model}-cycle",
            _cycle(model),
            f"a circle in the order in which transactions committed, if {saw}",
            f"{model} holds",
        )
        for model, saw in _BY_COMMIT_ORDER
    ),
    kind(
        "empty-transaction-graph",
        ("history without dependencies", "histories without dependencies"),
        "no record depends on any other",
        "somebody reads what somebody wrote",
        **_OF_KAFKA,
    ),
)
