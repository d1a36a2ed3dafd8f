"""The names of anomalies and which of them are errors: one table.

Names and default classes are those of ``jepsen.tests.kafka`` (jepsen-io/jepsen, 0.3.14), so that verdicts agree. What
that checker cannot see has a name here as well and is an error only if asked for (``strict``).
"""

from typing import Final, Literal

from chaos.formats.missing import UNDONE, Missing, Stands

Via = Literal["assign", "subscribe"]

MISSED: Final = frozenset({"nonlinearizable-offset", "stale-tail", "phantom"})
"""What the reference checker does not see; of a ``phantom`` it dies, so that its verdict is unknown."""

_ALWAYS: Final = frozenset(
    {
        "int-send-skip",  # transactions of several producers interleave
        "G0",
        "G0-process",
        "G0-realtime",
        "PL-1-cycle-exists",
        "strong-PL-1-cycle-exists",  # writes are not isolated
    }
)
_SUBSCRIBED: Final = frozenset({"poll-skip", "nonmonotonic-poll"})
_WITH_WW: Final = frozenset({"G1c", "G1c-process", "G1c-realtime", "PL-2-cycle-exists", "strong-PL-2-cycle-exists"})

CYCLES: Final = (
    "G0",
    "G0-process",
    "G0-realtime",
    "G1c",
    "G1c-process",
    "G1c-realtime",
    "PL-1-cycle-exists",
    "PL-2-cycle-exists",
    "strong-PL-1-cycle-exists",
    "strong-PL-2-cycle-exists",
)

STANDS: Final[Stands] = {
    "duplicate": Missing.ANY,
    "inconsistent-offsets": Missing.ANY,
    "lost-write": UNDONE,  # a later poll may return it
    "unseen": UNDONE,
    "G1a": Missing.ANY,
    "precommitted-read": Missing.ANY,
    "int-poll-skip": Missing.ANY,
    "int-nonmonotonic-poll": Missing.ANY,
    "int-send-skip": Missing.ANY,
    "int-nonmonotonic-send": Missing.ANY,
    "poll-skip": Missing.LATER,  # an assignment between the two polls may be missing
    "nonmonotonic-poll": Missing.LATER,
    "nonmonotonic-send": Missing.LATER,
    "nonlinearizable-offset": Missing.LATER,
    "stale-tail": Missing.LATER,
    "phantom": UNDONE,  # its send may follow; then it is a circle with real time
    "empty-transaction-graph": UNDONE,
    **dict.fromkeys(CYCLES, Missing.LATER),
}
"""What may be missing of a history for an anomaly to stand. Offsets that were shown stay; new ones only add to them.

Where a message that comes later changes an index that an anomaly rests on, it is a duplicate, or its offset
inconsistent. A value is sent once.
"""


def allowed_anomalies(via: Via, *, ww_deps: bool, strict: bool) -> frozenset[str]:
    """The anomalies that do not make a history invalid.

    Args:
        via: how consumers got their partitions. Those that subscribe are rebalanced, and skip or repeat then.
        ww_deps: whether the order of sends in a log counts as a dependency; then G1c cycles are ordinary.
        strict: what the reference checker misses is an error too.
    """
    names = _ALWAYS
    if via == "subscribe":
        names |= _SUBSCRIBED
    if ww_deps:
        names |= _WITH_WW
    return names if strict else names | MISSED
