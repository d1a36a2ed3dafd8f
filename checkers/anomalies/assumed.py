"""The anomalies of a run that shows too little to be judged: what every verdict assumes, and what is missing.

See docs/semantics.md, rule 12.
"""

from collections.abc import Mapping
from typing import Any, Final

from chaos.core.anomaly_kind import RUNS
from checkers.anomalies.kind_by_place import kind

_ASSUMED: Final[Mapping[str, Any]] = {"rule": "12", "consequence": "unknown", "excused_by": "nobody", "where": RUNS}

ASSUMPTIONS: Final = (
    kind(
        "too-little-traffic",
        ("kind of operation that hardly happened", "kinds of operations that hardly happened"),
        "too few operations to say anything",
        "at least ten operations of each kind of the workload succeed",
        **_ASSUMED,
    ),
    kind(
        "no-fault",
        ("campaign without a fault", "campaigns without a fault"),
        "faults were planned and none was injected",
        "at least one planned fault is injected",
        **_ASSUMED,
    ),
    kind(
        "fault-unproven",
        ("fault without proof", "faults without proof"),
        "a fault that was not seen to take effect, or not seen to end",
        "every fault is seen from outside to be in force, and later to be gone",
        **_ASSUMED,
    ),
    kind(
        "no-failover",
        ("failover that was not seen", "failovers that were not seen"),
        "the leader was taken away and no other took over",
        "another node leads within the time that the system says it needs",
        **_ASSUMED,
    ),
    kind(
        "record-incomplete",
        ("record that is missing", "records that are missing"),
        "what a worker did, or who led, is not known to its end",
        "every worker and the observer leave their records, whole",
        **_ASSUMED,
    ),
    kind(
        "drain-incomplete",
        ("final read that is missing", "final reads that are missing"),
        "the final reads did not cover every queue twice",
        "two passes of final reads in a row show the same, from the first offset to the last",
        **_ASSUMED,
    ),
    kind(
        "dispatch-lag",
        ("operation that left late", "operations that left late"),
        "the harness did not keep up with its own schedule",
        "99 % of the operations start within 250 ms of when they are due",
        **_ASSUMED,
    ),
    kind(
        "clock",
        ("time that went backwards", "times that went backwards"),
        "a clock that cannot be trusted",
        "no operation ends before it begins",
        **_ASSUMED,
    ),
)
