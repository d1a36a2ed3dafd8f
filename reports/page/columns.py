"""What each column of the page's tables says, how precise it is, and why it is no contradiction of another. Pure.

The tables take their headings from here, so that no column is without its words.
"""

from typing import Final

from reports.terms import Terms

Columns = tuple[tuple[str, str], ...]
"""Headings with their explanations, in order."""

VERDICT: Final[Columns] = (
    ("check", "One question about the history. Red rows stand first."),
    ("verdict", "PASS: nothing that the question looks for. FAIL: it was found. UNKNOWN: it could not be decided."),
    (
        "what it found",
        "How often each anomaly was found; the link leads to examples. Several red rows are often one cause.",
    ),
    ("examined", "What the check looked at. PASS of few or none of them means little."),
    ("took", "Computing time of this check. The first check to read the operations pays for it."),
)
FAULTS: Final[Columns] = (
    ("#", "The number of the fault; the same in sentences, curves and logs."),
    ("fault", "What was done: a kind of fault and how its targets were drawn."),
    ("targets", "The nodes that were hit, or the sides of a cut."),
    (
        "evidence it took",
        "What was seen from outside while it was in force, and that nothing of it was left afterwards.",
    ),
    ("from", "When it was injected: the moment at which it was asked for. Its effect may come some ms later."),
    (
        "to",
        (
            "When its healing began; “healed by” is when that was proven. A fault that overlaps the next one shares "
            "its outages with it."
        ),
    ),
    (
        "errors",
        (
            "Operations that failed or had no known outcome from its injection to the next one. Refusals by design do "
            "not count. Errors without an RTO: too few in a row for an outage."
        ),
    ),
    (
        "RTO",
        (
            "The longest outage of the kind of operation that is named under it, a change if there are any: it began "
            "with three in a row that were not ok and ended with three that were. Outages of other kinds are listed "
            "below the fault. No finer than its resolution (±). An outage belongs to every fault in whose time it "
            "was, and their rows say that it is one. A silence (Service) ends with a single acknowledgement, so it can "
            "be shorter than an outage."
        ),
    ),
    (
        "steady after",
        (
            "How long after the healing throughput was again 90 % of what it was before, for five seconds; at once: "
            "these five seconds began with the healing. It says nothing of what came later. A dash: not known, because "
            "the run had less than five seconds without a fault before or after it."
        ),
    ),
    (
        "lost",
        (
            "Acknowledged messages whose loss was proven before the next fault. Below: over what time they were "
            "acknowledged. This is the RPO."
        ),
    ),
)
ERRORS: Final[Columns] = (
    ("error", "What the client was told, or met."),
    (
        "outcome",
        (
            "failed: it certainly did not take effect. unknown: it may have. refused by design: the client stays on "
            "one node on purpose, and that node must not serve; this is no error and counts nowhere else."
        ),
    ),
    ("node", "Who answered; nobody: there was no answer."),
    ("under fault", "The fault in force as the operation began, the newest of several."),
    ("count", "How often."),
    ("first", "When the first of these operations began."),
    ("last", "When the last of them began."),
)
OPERATIONS: Final[Columns] = (
    ("operation", "The kind of operation, final reads included."),
    ("ok", "It took effect, and the client knows."),
    ("failed", "It certainly did not take effect."),
    ("unknown", "Nobody knows: no answer in time, or one that says so. It may have taken effect, even later."),
    ("refused by design", "Failed for clients that stay on a node which must not serve. No error."),
    ("not sent", "The load was late and left it out, so that it did not stand in a queue of its own making."),
    ("ok of the rest", "The share that was ok, of all but what was refused by design."),
)


FACTS: Final[Columns] = (
    ("message", "Who sent it, and its number: 2:118 is message 118 of writer 2. Both count from 0."),
    (
        "record",
        (
            "The body of each message proves itself: a mark, the run, the queue, the value and a checksum over all of "
            "it. The history notes that one of them was wrong, not which. Where a message of this run was acknowledged "
            "at the same place, it is most likely that one, damaged; where none is known, a message of somebody "
            "else's is as likely. To decide, read the place with the system's own tools: a body that begins with CHS1 "
            "came from chaos, so it is damaged or of another run or queue; any other came from somebody else."
        ),
    ),
    (
        "promise",
        (
            "With some settings a system promises less, for example that a follower may answer with what was true a "
            "moment ago. What such a promise covers is counted and shown, and is no error. A kind of anomaly is "
            "allowed if the system makes the promise and it covers every occurrence; one that it does not cover makes "
            "the kind an error."
        ),
    ),
)
"""What is known of an occurrence and does not explain itself."""


RECOVERY: Final[Columns] = (
    (
        "outage",
        (
            "Below a fault, of each kind of operation: the longest outage of any key, which one had it and when. Only "
            "clients that follow the route count. It began with three in a row that were not ok and ended with three "
            "that were; single ones between do not end it, and are counted. An outage of several faults is told with "
            "the first of them."
        ),
    ),
    ("back before the heal", "Whether service came back before the fault was healed or only after."),
    (
        "±",
        (
            "An RTO is not known finer than this: the longest of the time between two operations, of their "
            "deadline, and of how late the load was. 2.0 s ± 3.0 s: an outage whose length nobody knows better."
        ),
    ),
)


def availability(terms: Terms) -> Columns:
    """The columns of availability."""
    return (
        (
            terms.key,
            (
                f"First any of them: a second counts there if one {terms.key} or more was served, so it is seldom less "
                f"than the best {terms.key}. Then each, the least available first."
            ),
        ),
        ("available", f"Of the seconds in which a {terms.any_change} was due, those of which at least one was ok."),
        ("seconds", f"Seconds in which a {terms.any_change} was due."),
        (
            "longest silence",
            (
                f"The longest time from a {terms.any_change} to the next acknowledgement of any of the same "
                f"{terms.key}, also of one sent earlier. In the first row the longest of all {terms.key}s, and whose. "
                "An outage (RTO) ends only with three in a row that were ok, so it can be longer."
            ),
        ),
        ("from", "When that silence began."),
    )


LATENCY: Final[Columns] = (
    ("sent", "When the messages were sent: in healthy times, or under which fault."),
    ("messages", "How many of them a consumer was given during the load."),
    ("p50", "Half of them took no longer, from the send to the first consumer that was given it. Within 10 %."),
    ("p90", "Nine of ten took no longer. Within 10 %."),
    ("p99", "99 of 100 took no longer. Within 10 %."),
    ("longest", "The slowest of them."),
    (
        "unread during the load",
        (
            "Acknowledged, and given to no consumer before the load ended. They are not lost: the final reads found "
            "them, or a check above says that they did not."
        ),
    ),
)
