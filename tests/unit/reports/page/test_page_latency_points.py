"""Operations as they are packed into the page, and where anomalies are among them."""

import base64
import math
import zlib
from typing import Any

import msgspec
import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from chaos.core.op import Type
from chaos.core.verdict import Anomaly, Example, Results
from reports.page.latency_points import LATENCY_FLOOR_MS, LATENCY_STEPS, Dot, latency_code, pack_points
from reports.page.logs import LogRow
from reports.page.marks import marks_of
from reports.page.panels import fault_bands

RUN = synthetic.run_info("invalid")
WIDTHS = (4, 2, 2, 4, 1, 1, 1, 2, 4)


def dot(t_s: float, **more: Any) -> Dot:
    fields = {"latency_ms": 1.0, "f": 1, "type": 2, "client": 0, "node": 0, **more}
    return Dot(t_s=t_s, **fields)


def unpacked(blob: str, count: int) -> tuple[list[list[int]], dict[str, Any]]:
    """The columns and the texts, as the page's script reads them."""
    raw = zlib.decompress(base64.b64decode(blob))
    columns, read = [], 0
    for width in WIDTHS:
        planes = np.frombuffer(raw, np.uint8, count * width, read).reshape(width, count).astype(np.int64)
        columns.append(sum(plane << 8 * place for place, plane in enumerate(planes)).tolist())
        read += count * width
    return columns, msgspec.json.decode(raw[read:])


def test_operations_are_packed_in_order_of_time_with_their_words() -> None:
    sample = [
        dot(2.0, latency_ms=-1.0, type=4, client=70000, node=-1),
        dot(1.0, f=2, node=6, key=3, process=7, error="busy"),
    ]
    made = pack_points(
        sample, [dot(1.5, line="send\n 1:2", client=-1), dot(0.5, error="busy")], 7, [LogRow(1.5, 2, "up")]
    )
    (ticks, latency, client, key, kind, f, node, error, process), texts = unpacked(made.blob, made.count)
    assert (made.count, made.places, made.errors) == (4, (2, 0), ("busy",))
    assert np.cumsum(ticks).tolist() == [5000, 10000, 15000, 20000]
    assert latency == [latency_code(1.0)] * 3 + [0]
    assert (client, key) == ([0, 0, 65535, 65535], [0, 4, 0, 0])
    assert (kind, f, node, error) == ([2, 2, 2, 4], [1, 2, 1, 1], [0, 6, 0, 255], [1, 1, 0, 0])
    assert process == [0, 8, 0, 0]
    assert texts == {"lines": {"2": "send 1:2"}, "logs": [[1.5, 2, "up"]]}
    assert pack_points([], [], 7).blob == ""


@given(st.floats(0, 1e7))
def test_a_latency_is_kept_to_a_thousandth(latency_ms: float) -> None:
    code = latency_code(latency_ms)
    assert 0 < code < 65536
    read = LATENCY_FLOOR_MS * math.expm1((code - 1) / LATENCY_STEPS)
    assert read == pytest.approx(latency_ms, rel=1e-3, abs=1e-5)


def results(*examples: Example) -> Results:
    found = {"lost-write": Anomaly(count=len(examples), allowed=False, examples=examples)}
    return Results(valid=False, sentence="", reason="", model="queue", engine="local", anomalies=found)


FAULTS = fault_bands(synthetic.fault_results("invalid"), synthetic.ORIGIN, synthetic.END_S)


def test_a_mark_has_its_operation_and_the_fault_of_the_sentence_in_view() -> None:
    (mark,) = marks_of(results(synthetic.lost_example()), RUN, FAULTS)
    assert mark.at == 24.302
    assert mark.start < 20.0
    assert 40.7 < mark.end < 50.0
    assert (mark.dot.line, mark.dot.key, mark.dot.type) == ("send 5:233 → 1204", 2, Type.OK)
    assert RUN.nodes[mark.dot.node].name == "b1"


def test_without_a_named_fault_the_one_in_force_is_in_view() -> None:
    example = msgspec.structs.replace(synthetic.lost_example(), fault=None)
    (mark,) = marks_of(results(example), RUN, FAULTS)
    assert mark.start < 20.0
    assert mark.end > 40.7


def test_a_fault_that_is_far_from_the_operation_is_in_view_as_well() -> None:
    (mark,) = marks_of(results(msgspec.structs.replace(synthetic.lost_example(), fault=3)), RUN, FAULTS)
    assert mark.start < 24.302
    assert mark.end > 116.7


def test_an_operation_that_no_fault_touches_is_shown_closely() -> None:
    op = {"f": "send", "type": "info", "invoke_s": 50.0, "complete_s": None, "value": "1:2"}
    (mark,) = marks_of(results(Example(sentence="s", ops=(op,))), RUN, FAULTS)
    assert (mark.start, mark.end, mark.dot.latency_ms, mark.dot.client) == (49.0, 51.0, -1.0, -1)


def test_what_carries_no_time_has_no_mark() -> None:
    assert marks_of(results(Example(sentence="s"), Example(sentence="s", ops=({"f": "send"},))), RUN, FAULTS) == ()
    assert marks_of(None, RUN, FAULTS) == ()


def test_marks_are_in_order_of_time() -> None:
    early = {"f": "send", "type": "ok", "invoke_s": 3.0, "complete_s": 3.1, "value": "1:2"}
    late = {**early, "invoke_s": 90.0, "complete_s": 90.1}
    marks = marks_of(results(Example(sentence="s", ops=(late,)), Example(sentence="s", ops=(early,))), RUN, FAULTS)
    assert [(mark.at, mark.number) for mark in marks] == [(3.0, 1), (90.0, 0)]
