"""Invocations and completions find each other whatever numbers processes have, however narrow they are made."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chaos.core.op import Type
from chaos.formats.kafka_columns import NO_PROCESS, KafkaColumns, Mops, Ops, narrow, partners
from checkers.kafka.rows import Records

PROCESSES = [
    [NO_PROCESS, 0, 1, 253, 254],
    [NO_PROCESS, 0, 254, 255, 256, 65533, 65534],
    [NO_PROCESS, 0, 65535, 65536, 1 << 40],
    [-2, NO_PROCESS, 0, 254, 255],
]
RECORDS = st.sampled_from(PROCESSES).flatmap(
    lambda processes: st.lists(st.tuples(st.sampled_from(processes), st.sampled_from([Type.INVOKE, Type.OK])))
)


def columns(records):
    process = np.array([process for process, _ in records], dtype=np.int64)
    kind = np.array([kind for _, kind in records], dtype=np.int8)
    rows, small, ids = (np.zeros(len(records), dtype=of) for of in (np.int64, np.int8, np.int32))
    nothing = Mops(rows[:0], small[:0], ids[:0], ids[:0], rows[:0], rows[:0])
    return KafkaColumns(Ops(rows, rows, kind, process, small, small), nothing, (), ())


@given(RECORDS)
def test_partners_are_those_of_a_walk(records):
    expected, under_way = [-1] * len(records), {}
    for row, (process, kind) in enumerate(records):
        if process == NO_PROCESS:
            continue
        if kind == Type.INVOKE:
            under_way[process] = row
        elif process in under_way:
            begun = under_way.pop(process)
            expected[begun], expected[row] = row, begun
    assert partners(columns(records).ops).tolist() == expected


@given(RECORDS)
def test_narrow_processes_and_their_numbers_are_as_different_as_the_processes(records):
    history = columns(records)
    process = history.ops.process
    same = process[:, None] == process[None, :]
    for small in (narrow(process), Records(history).process_id):
        assert ((small[:, None] == small[None, :]) == same).all()


def test_processes_are_kept_in_as_few_bytes_as_they_need():
    for most, small in ((254, np.uint8), (255, np.uint16), (65534, np.uint16), (65535, np.int64)):
        assert narrow(np.array([NO_PROCESS, most])).dtype == small
