"""The verdict as it is written down: every anomaly with sentences and the records that show it.

The first occurrence of each comes with the smallest sub-history that shows it, the others with their own records.
"""

from typing import Any, Final

import numpy as np

from chaos.core.op import Type
from chaos.core.verdict import Anomaly, Edge, Example
from chaos.formats.kafka_columns import NONE, SEEK_TO_BEGINNING, KafkaColumns, KafkaF, Mop
from checkers.kafka.case_counts import Case
from checkers.kafka.check import KafkaVerdict
from checkers.kafka.explain import sentence
from checkers.kafka.minimise import minimise
from checkers.kafka.names import CYCLES, Via

EXAMPLES: Final = 8
"""Occurrences of one anomaly that are told."""

SHOWN: Final = 64
"""Records that one of them shows at most."""


def record(columns: KafkaColumns, row: int) -> dict[str, Any]:
    """A record as Jepsen would write it: index, process, type, f and value.

    Args:
        columns: the history.
        row: the record's row in it.
    """
    ops, mops = columns.ops, columns.mops
    f = KafkaF(int(ops.f[row]))
    rows = range(*np.searchsorted(mops.op, [row, row + 1]).tolist())
    value: list[Any] = []
    moved: list[Any] = []
    for at in rows:
        kind, key = Mop(int(mops.kind[at])), columns.keys[int(mops.key[at])] if mops.key[at] >= 0 else None
        offset = None if mops.offset[at] == NONE else int(mops.offset[at])
        message = columns.value_of(int(mops.value[at]))
        if kind is Mop.KEY:
            value.append(key)
        elif kind is Mop.REBALANCED:
            moved.append(key)
        elif kind is Mop.SEND:
            invoked = ops.type[row] == Type.INVOKE
            value.append(["send", key, message if invoked else [offset, message]])
        else:
            number = int(mops.mop[at])
            if not value or value[-1][0] != "poll" or at == rows[0] or int(mops.mop[at - 1]) != number:
                value.append(["poll", {}])
            if kind is not Mop.NOTHING:
                got = value[-1][1].setdefault(key, [])
                got += [[offset, message]] if kind is Mop.POLLED else []
    said = {
        "index": int(ops.index[row]),
        "process": int(ops.process[row]),
        "type": Type(int(ops.type[row])).name.lower(),
        "f": f.word,
        "value": value,
    }
    if ops.flags[row] & SEEK_TO_BEGINNING:
        said["seek-to-beginning?"] = True
    if moved:
        said["rebalance-log"] = [{"keys": moved}]
    return said


def _records(columns: KafkaColumns, rows: list[int]) -> tuple[dict[str, Any], ...]:
    return tuple(record(columns, row) for row in rows[:SHOWN])


def _own(columns: KafkaColumns, case: Case) -> tuple[dict[str, Any], ...]:
    return _records(columns, np.flatnonzero(np.isin(columns.ops.index, case.ops)).tolist())


def _circle(case: Case) -> tuple[Edge, ...]:
    """The edges of a circle: each reason leads from a record to the next one, the last to the first."""
    ends = zip(case.ops, (*case.ops[1:], *case.ops[:1]), case.kinds, case.body, strict=False)
    return tuple(Edge(before=a, after=b, kind=kind, reason=why) for a, b, kind, why in ends)


def anomalies_of(verdict: KafkaVerdict, columns: KafkaColumns, *, sub_via: Via, ww_deps: bool) -> dict[str, Anomaly]:
    """All anomalies of a verdict with their examples.

    Args:
        verdict: what ``check`` said.
        columns: the history.
        sub_via: as the history was judged.
        ww_deps: likewise.
    """
    out = {}
    circles: dict[tuple[int, ...], KafkaColumns | None] = {}  # one shows its kind and the level that it rules out
    for name, one in verdict.anomalies.items():
        examples: list[Example] = []
        for case in one.cases[:EXAMPLES]:
            small = circles.get(case.ops) if name in CYCLES and not examples else None
            if small is None and not examples:
                small = minimise(columns, name, case, sub_via=sub_via, ww_deps=ww_deps)
            if name in CYCLES:
                circles.setdefault(case.ops, small)
            ops = _own(columns, case) if small is None else _records(small, list(range(len(small.ops.index))))
            log = case.key if isinstance(case.key, int) else None
            examples.append(Example(sentence=sentence(name, case), key=log, ops=ops, circle=_circle(case)))
        said = tuple(examples) or (Example(sentence=sentence(name)),)
        out[name] = Anomaly(count=one.count, allowed=one.allowed, examples=said)
    return out
