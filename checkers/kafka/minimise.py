"""The smallest sub-history that still shows an anomaly: whole operations are left out until none can be.

Delta debugging (``ddmin``) with the checker itself as the test: what is left is judged to hold the same anomaly.
Operations are taken away whole and never cut: a poll without one of its messages would be another history. Does not
look at more operations than its budget: a larger history is first narrowed to what the anomaly's records and messages
have to do with.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np

from chaos.basics.delta_debugging import smallest
from chaos.core.op import Type
from chaos.formats.kafka_columns import NONE, KafkaColumns, KafkaF, Mop, Mops, Ops, partners
from checkers.history.columns import Ints, Mask
from checkers.kafka.case_counts import Case
from checkers.kafka.check import check
from checkers.kafka.names import CYCLES, Via

CHECKS: Final = 400
"""How often one minimisation asks the checker at most."""

MOST: Final = 5000
"""Operations that are looked at at most."""


def only_records(columns: KafkaColumns, keep: Mask) -> KafkaColumns:
    """The history of some records only; they keep their numbers."""
    ops, mops = columns.ops, columns.mops
    place = np.cumsum(keep) - 1
    rows = keep[mops.op]
    return KafkaColumns(
        Ops(ops.index[keep], ops.time_ns[keep], ops.type[keep], ops.process[keep], ops.f[keep], ops.flags[keep]),
        Mops(
            place[mops.op[rows]], mops.kind[rows], mops.mop[rows], mops.key[rows], mops.value[rows], mops.offset[rows]
        ),
        columns.keys,
        columns.values,
    )


def identity(name: str, case: Case) -> Hashable:
    """What makes an occurrence the same one in a smaller history, whose indices may be others."""
    body: Sequence[Any] = case.body
    if name in CYCLES or name == "empty-transaction-graph":
        return name
    if name in ("poll-skip", "nonmonotonic-poll", "nonmonotonic-send"):
        return name, case.key, case.ops
    if name in ("nonlinearizable-offset", "stale-tail"):
        return name, case.key, case.ops[-1]
    if name.startswith("int-"):
        return name, case.key, tuple(body[1]), case.ops[-1]
    return name, case.key, body[1]


def minimise(
    columns: KafkaColumns,
    name: str,
    case: Case,
    *,
    sub_via: Via = "assign",
    ww_deps: bool = False,
) -> KafkaColumns | None:
    """The smallest sub-history found in which the checker sees the same occurrence.

    Args:
        columns: the history.
        name: the anomaly.
        case: one of its cases.
        sub_via: as the history was judged.
        ww_deps: likewise.

    Returns: None if the occurrence cannot be shown within the budget.
    """
    wanted = identity(name, case)
    partner = partners(columns.ops)
    first = np.where((partner >= 0) & (columns.ops.type != Type.INVOKE), partner, np.arange(len(partner)))
    left = [CHECKS]

    def records_of(operations: Sequence[int]) -> Mask:
        keep = np.zeros(len(first), dtype=bool)
        keep[list(operations)] = True
        return keep[first]

    def shows(operations: Sequence[int]) -> bool:
        left[0] -= 1
        seen = check(only_records(columns, records_of(operations)), sub_via=sub_via, ww_deps=ww_deps, keep=None)
        found = seen.anomalies.get(name)
        return found is not None and any(identity(name, one) == wanted for one in found.cases)

    for guess in _guesses(columns, case, first):
        operations = guess.tolist()
        if len(operations) <= MOST and shows(operations):
            return only_records(columns, records_of(smallest(operations, shows, lambda: left[0] > 0)))
    return None


def _guesses(columns: KafkaColumns, case: Case, first: Ints) -> list[Ints]:
    """Operations that may suffice, fewest first: the case's records; those of its messages; of its log; all."""
    ops, mops = columns.ops, columns.mops
    rows = np.flatnonzero(np.isin(ops.index, case.ops))
    near = np.isin(mops.op, rows) & (mops.value != NONE)
    logs = np.unique(mops.key[near])
    messages = np.zeros(len(mops.op), dtype=bool)
    in_log = np.zeros(len(mops.op), dtype=bool)
    for log in logs.tolist():
        here = mops.key == log
        values = mops.value[near & here]
        messages |= here & np.isin(mops.value, values)
        offsets = np.concatenate((mops.offset[near & here], mops.offset[messages & here]))
        messages |= here & (mops.offset != NONE) & np.isin(mops.offset, offsets[offsets != NONE])
        in_log |= here
    settling = np.flatnonzero((ops.f == KafkaF.ASSIGN) | (ops.f == KafkaF.SUBSCRIBE))
    own = settling[np.isin(ops.process[settling], ops.process[rows])]
    client = np.flatnonzero(ops.process >= 0)
    told = np.isin(mops.kind, (Mop.SEND, Mop.POLLED, Mop.EMPTY))
    sets = [
        rows,
        np.concatenate((rows, own)),
        np.concatenate((mops.op[messages], rows, own)),
        np.concatenate((mops.op[in_log & told], rows, own)),
        client,
    ]
    return [np.unique(first[one]) for one in sets]
