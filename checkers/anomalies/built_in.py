"""The anomalies of our own checks: how each is called, what it means, and what should have happened instead.

The module refuses to find anything.
"""

from collections.abc import Mapping
from typing import Any, Final

from chaos.core.anomaly_kind import FILES, RUNS, AnomalyKind


def _kind(name: str, words: tuple[str, str], meaning: str, expected: str, **more: Any) -> AnomalyKind:
    """A kind whose strength is its place in the tables below."""
    return AnomalyKind(name=name, one=words[0], many=words[1], meaning=meaning, expected=expected, strength=0, **more)


_ASSUMED: Final[Mapping[str, Any]] = {"rule": "12", "consequence": "unknown", "excused_by": "nobody", "where": RUNS}
STRONGEST_FIRST: Final = (
    _kind(
        "lost-write",
        ("lost acknowledged message", "lost acknowledged messages"),
        "acknowledged, yet no read returned it although reads went past its place",
        "what was acknowledged is read back, whatever fails afterwards",
        rule="6",
        excused_by="nobody",
    ),
    _kind(
        "phantom",
        ("value that nobody sent", "values that nobody sent"),
        "a value that nobody tried to write",
        "a read returns only what some client wrote",
        rule="5",
        excused_by="nobody",
    ),
    _kind(
        "corrupt",
        ("damaged record", "damaged records"),
        "a record whose content is damaged",
        "a record is given as it was written, or not at all",
        rule="5",
        excused_by="nobody",
        where=RUNS,
    ),
    _kind(
        "G1a",
        ("failed send that was read", "failed sends that were read"),
        "a message or value whose write had failed for certain, or that nobody committed, and a read returned it",
        "what was refused for certain is never read",
        rule="5",
        excused_by="nobody",
    ),
    _kind(
        "inconsistent-offsets",
        ("offset given twice", "offsets given twice"),
        "one offset that held two different messages",
        "an offset holds one message for ever",
        rule="5",
        excused_by="nobody",
    ),
    _kind(
        "duplicate",
        ("duplicated value", "duplicated values"),
        "one message at two offsets",
        "a message that is sent once is stored once",
        rule="5",
    ),
    _kind(
        "undelivered",
        ("message that the group passed over", "messages that the group passed over"),
        "acknowledged, and its consumers went past it, yet none of them was given it",
        "every acknowledged message is given to a consumer before they go on behind it",
        rule="20",
        excused_by="nobody",
        where=RUNS,
    ),
    _kind(
        "never-redelivered",
        ("message that was never given again", "messages that were never given again"),
        "popped, not acknowledged in its time, and never given to anybody again",
        "a popped message that nobody acknowledged is given to another consumer",
        rule="20",
        excused_by="nobody",
        where=RUNS,
    ),
    _kind(
        "redelivered-after-ack",
        ("message given again after its ack", "messages given again after their acks"),
        "a consumer was done with it and the broker had confirmed that, yet it was given again",
        "what was acknowledged as consumed is not given again",
        rule="20",
        where=RUNS,
    ),
    _kind(
        "early-redelivery",
        ("message given to two at once", "messages given to two at once"),
        "given to another consumer while the first still held it",
        "a popped message belongs to one consumer until its time is over",
        rule="20",
        where=RUNS,
    ),
    _kind(
        "lost-commit",
        ("lost commit of the group", "lost commits of the group"),
        "an answer to where the group goes on that its commits and the answers before rule out",
        "the group goes on where it last committed",
        rule="20",
        where=RUNS,
    ),
    _kind(
        "early-delivery",
        ("message delivered before its time", "messages delivered before their time"),
        "a delayed message that a read returned before its time",
        "a delayed message is given to nobody before its time",
        rule="20",
        where=RUNS,
    ),
    _kind(
        "replica-fork",
        ("place at which replicas differ", "places at which replicas differ"),
        "two replicas hold different data at one place: an offset of a log, a key",
        "after the run all replicas hold the same",
        rule="15",
        excused_by="nobody",
        where=RUNS,
    ),
    _kind(
        "min-in-sync",
        ("acknowledgement with too few in sync", "acknowledgements with too few in sync"),
        "an acknowledgement with fewer replicas in sync than promised",
        "nothing is acknowledged that fewer replicas hold than promised",
        rule="16",
        excused_by="nobody",
        where=RUNS,
    ),
    _kind(
        "dual-leader",
        ("epoch with two leaders", "epochs with two leaders"),
        "two nodes lead one subject in the same epoch",
        "one node leads a subject in an epoch",
        rule="15",
        where=RUNS,
    ),
    _kind(
        "epoch-regression",
        ("step back of an epoch", "steps back of epochs"),
        "an epoch or term that stepped back",
        "epochs and terms only ascend",
        rule="15",
        where=RUNS,
    ),
    _kind(
        "order",
        ("message of a shard out of order", "messages of shards out of order"),
        "read before another message of its shard that had been acknowledged before it was sent",
        "readers meet the messages of a shard in the order of their acknowledgements",
        rule="8",
    ),
    _kind(
        "nonlinearizable-offset",
        ("send with an offset against real time", "sends with offsets against real time"),
        "a message with a lower offset than one that was acknowledged before its send began",
        "what is sent after an acknowledgement gets a higher offset",
        rule="7",
    ),
    _kind(
        "nonlinearizable",
        ("object without an order", "objects without an order"),
        "operations on one object that fit no order which agrees with real time",
        "every operation takes effect at one moment between its call and its answer",
        rule="models",
    ),
    _kind(
        "out-of-bounds",
        ("read outside its bounds", "reads outside their bounds"),
        "a counter below the sum of what was acknowledged, or above the sum of what was tried",
        "a counter shows every acknowledged addition and nothing that was not tried",
        rule="models",
    ),
    _kind(
        "wrong-total",
        ("read with a wrong total", "reads with a wrong total"),
        "balances of all accounts that add up to something else than all others",
        "transfers move money and neither make nor lose any",
        rule="models",
        where=FILES,
    ),
    _kind(
        "nil-balance",
        ("account without a balance", "accounts without a balance"),
        "a read of all accounts in which one holds nothing",
        "every account has a balance",
        rule="models",
        where=FILES,
    ),
    _kind(
        "negative-balance",
        ("account below zero", "accounts below zero"),
        "a read of all accounts in which one holds less than nothing",
        "a transfer takes no more than there is",
        rule="models",
        where=FILES,
    ),
    _kind(
        "long-fork",
        ("long fork", "long forks"),
        "two reads, each with a write that the other misses",
        "writes become visible in one order",
        rule="models",
        where=FILES,
    ),
    _kind(
        "key-order-cycle",
        ("circle of observations", "circles of observations"),
        "operations that each saw less of a key than the next, or were over before it, in a circle",
        "values that only grow are seen in one order",
        rule="models",
        where=FILES,
    ),
    _kind(
        "nonmonotonic-send",
        ("send that went back", "sends that went back"),
        "one process' messages in another order than it sent them",
        "the messages of one sender keep its order",
        rule="8",
    ),
    _kind(
        "int-nonmonotonic-poll",
        ("read that went back", "reads that went back"),
        "offsets that step back within one read",
        "offsets ascend within a read",
        rule="8",
    ),
    _kind(
        "nonmonotonic-poll",
        ("read that began too low", "reads that began too low"),
        "a read that returned offsets below the one that it asked for, or that its consumer had had already",
        "a read begins where it was asked to",
        rule="8",
    ),
    _kind(
        "int-poll-skip",
        ("read that passed over a record", "reads that passed over records"),
        "a read with records before and behind a known one, without it",
        "a read returns every record between its first and its last",
        rule="8",
    ),
    _kind(
        "poll-skip",
        ("read that left out a record", "reads that left out records"),
        "a read that went past a known record at its beginning or end",
        "a read says that it goes on at the first record that it did not return",
        rule="8",
    ),
    _kind(
        "stale-tail",
        ("stale strong read", "stale strong reads"),
        "a strong read that missed a message acknowledged before it began",
        "a strong read returns everything that was acknowledged before it",
        rule="7",
    ),
    _kind(
        "stale-read",
        ("stale read", "stale reads"),
        "a read without an element that was known to be there before it began",
        "a read returns every element that was acknowledged or read before it",
        rule="models",
    ),
    _kind(
        "did-not-come-back",
        ("node that did not come back", "nodes that did not come back"),
        "a node that does not serve, or does not rejoin, although its fault is over",
        "every node serves again within the promised time of the last heal",
        rule="17a",
        where=RUNS,
    ),
    _kind(
        "no-recovery",
        ("recovery that took too long", "recoveries that took too long"),
        "a queue or an object takes no changes although every node runs and reaches the others",
        "every queue and object takes changes again within the promised time of the last heal",
        rule="17a",
        where=RUNS,
    ),
    _kind(
        "no-progress",
        ("silence under a fault on controllers", "silences under faults on controllers"),
        "acknowledgements stopped where the fault must not touch them",
        "faults on controllers alone stop no acknowledgements",
        rule="17",
        where=RUNS,
    ),
    _kind(
        "rto-budget",
        ("fault over the RTO budget", "faults over the RTO budget"),
        "a recovery longer than its budget",
        "service is back within --rto-budget",
        rule="18",
        where=RUNS,
    ),
    _kind(
        "unseen",
        ("message read by nobody", "messages read by nobody"),
        "acknowledged, and no read came far enough to show whether it is there",
        "the final reads reach the end of the log",
        rule="6",
        consequence="unknown",
    ),
)
ASSUMPTIONS: Final = (
    _kind(
        "too-little-traffic",
        ("kind of operation that hardly happened", "kinds of operations that hardly happened"),
        "too few operations to say anything",
        "at least ten operations of each kind of the workload succeed",
        **_ASSUMED,
    ),
    _kind(
        "no-fault",
        ("campaign without a fault", "campaigns without a fault"),
        "faults were planned and none was injected",
        "at least one planned fault is injected",
        **_ASSUMED,
    ),
    _kind(
        "fault-unproven",
        ("fault without proof", "faults without proof"),
        "a fault that was not seen to take effect, or not seen to end",
        "every fault is seen from outside to be in force, and later to be gone",
        **_ASSUMED,
    ),
    _kind(
        "no-failover",
        ("failover that was not seen", "failovers that were not seen"),
        "the leader was taken away and no other took over",
        "another node leads within the time that the system says it needs",
        **_ASSUMED,
    ),
    _kind(
        "record-incomplete",
        ("record that is missing", "records that are missing"),
        "what a worker did, or who led, is not known to its end",
        "every worker and the observer leave their records, whole",
        **_ASSUMED,
    ),
    _kind(
        "drain-incomplete",
        ("final read that is missing", "final reads that are missing"),
        "the final reads did not cover every queue twice",
        "two passes of final reads in a row show the same, from the first offset to the last",
        **_ASSUMED,
    ),
    _kind(
        "dispatch-lag",
        ("operation that left late", "operations that left late"),
        "the harness did not keep up with its own schedule",
        "99 % of the operations leave within 250 ms of when they are due",
        **_ASSUMED,
    ),
    _kind(
        "clock",
        ("time that went backwards", "times that went backwards"),
        "a clock that cannot be trusted",
        "no operation ends before it begins",
        **_ASSUMED,
    ),
)


_OF_KAFKA: Final[Mapping[str, Any]] = {"rule": "kafka", "excused_by": "format", "where": FILES}
_OF_TRANSACTIONS: Final[Mapping[str, Any]] = {"rule": "transactions", "excused_by": "models", "where": FILES}


def _transactional(name: str, words: tuple[str, str], meaning: str, expected: str) -> AnomalyKind:
    return _kind(name, words, meaning, expected, **_OF_TRANSACTIONS)


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
_OF_CYCLES: Final = ("cycle of dependencies", "cycles of dependencies")
TRANSACTIONS: Final = (
    _kind(
        "precommitted-read",
        ("poll of its own transaction", "polls of their own transactions"),
        "a transaction that polled what it itself sent",
        "what a transaction sends is seen after it commits",
        **_OF_KAFKA,
    ),
    _kind(
        "int-nonmonotonic-send",
        ("transaction whose sends went back", "transactions whose sends went back"),
        "within one transaction a later send at the same or a lower offset",
        "the sends of a transaction keep their order",
        **_OF_KAFKA,
    ),
    _kind(
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
        "what was refused is built upon by nobody",
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
        _transactional(name + suffix, _OF_CYCLES, f"a circle of {what}{order}", "transactions have an order")
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
            f"{level}-cycle-exists", _OF_CYCLES, "a circle of dependencies that has no narrower name", f"{model} holds"
        )
        for level, model in _EXIST
    ),
    _kind(
        "empty-transaction-graph",
        ("history without dependencies", "histories without dependencies"),
        "no record depends on any other",
        "somebody reads what somebody wrote",
        **_OF_KAFKA,
    ),
)
