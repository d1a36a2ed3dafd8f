"""Foreign notations: what is written is read; both readers of Kafka-style text agree; any cut leaves a beginning."""

from pathlib import Path

import numpy as np
import pytest
from edn_text import LAYOUTS, edn_lines, json_text, kafka_history, plain_history, printed, spoil, written
from hypothesis import given, settings
from hypothesis import strategies as st
from repository import DATA

from chaos.core.errors import HistoryError
from chaos.formats import columnar, kafka, kafka_text, plain_text, text
from chaos.formats.edn import EdnError, Keyword, Map, forms, read
from chaos.formats.jepsen import EventReader
from chaos.formats.kafka_columns import concatenate
from chaos.formats.kafka_rows import Rows

FEWER = settings(max_examples=60)  # each writes files
SCALARS = st.one_of(
    st.none(), st.integers(), st.text(max_size=6), st.sampled_from([Keyword(":a"), Keyword(":b.c/d?"), Keyword(":-")])
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.frozensets(inner, max_size=4),
        st.dictionaries(inner, inner, max_size=4).map(Map),
    ),
    max_leaves=12,
)


@given(TREES)
def test_what_is_printed_is_read(value):
    assert read(printed(value)) == value


@given(st.text(alphabet='{}[]()#"\\;:^_ \na1-./', max_size=30))
def test_any_text_is_read_or_refused_with_a_place(words):
    fault = None
    try:
        list(forms(words))
    except EdnError as error:
        fault = error
    assert fault is None or (1 <= fault.line <= words.count("\n") + 1 and fault.column >= 1)


def shown(columns):
    """Rows with keys and values by themselves, so that other numbers of the same mean the same."""
    ops, mops = columns.ops, columns.mops
    rows = [
        (op, kind, mop, repr(None if key < 0 else columns.keys[key]), repr(columns.value_of(value)), offset)
        for op, kind, mop, key, value, offset in zip(
            *(getattr(mops, name).tolist() for name in type(mops).__slots__), strict=True
        )
    ]
    return list(zip(*(getattr(ops, name).tolist() for name in type(ops).__slots__), strict=True)), rows


def in_order(columns):
    return columnar.in_index_order(kafka.Kind(), columns)


def general(path, *, json=False):
    rows = Rows(json=json)
    for event in EventReader(path):
        rows.add(event)
    return in_order(rows.columns())


@FEWER
@given(kafka_history(), st.sampled_from(sorted(LAYOUTS)))
def test_every_layout_gives_what_the_general_reader_gives(records, layout):
    lines = edn_lines(records)
    rows = Rows()
    for line in lines:
        (form,) = forms(line)
        rows.add(_event(form.value))
    expected = shown(in_order(rows.columns()))
    with written(LAYOUTS[layout](lines)) as path:
        history = kafka.read(path)
        assert shown(history.columns) == expected
        assert history.cut_off is None
        assert shown(general(path)) == expected


def _event(record):
    from chaos.formats.jepsen import event

    return event(record, 1)


@FEWER
@given(kafka_history(), st.booleans())
def test_the_json_twin_gives_the_same_history(records, array):
    plain = [{**record, "error": "x"} if "rebalance-log" in record else record for record in records]
    expected = Rows(json=True)
    with written(json_text(plain, array=array)) as path:
        for event in EventReader(path):
            expected.add(event)
        assert len(expected.lines) == len(records)
        assert shown(kafka.read(path).columns) == shown(in_order(expected.columns()))


@FEWER
@given(kafka_history(), st.integers(20, 400))
def test_ranges_of_lines_together_are_the_file(records, size):
    with written(LAYOUTS["lines"](edn_lines(records))) as path:
        ranges = text.chunks(path, size)
        assert [lo for lo, _ in ranges[1:]] == [hi for _, hi in ranges[:-1]]
        parts = [kafka.read_range(path, lo, hi) for lo, hi in ranges]
        assert shown(kafka.join_parts(parts).columns) == shown(kafka.read(path).columns)


@FEWER
@given(kafka_history().filter(bool), st.sampled_from(["lines", "vector", "vector-of-lines", "records"]), st.data())
def test_a_file_cut_anywhere_is_read_as_far_as_it_goes(records, layout, data):
    whole = LAYOUTS[layout](edn_lines(records))
    at = data.draw(st.integers(1, len(whole)))
    with written(whole[:at]) as path, written(whole) as full:
        history = kafka.read(path)
        expected_ops, expected_mops = shown(kafka.read(full).columns)
        ops, mops = shown(history.columns)
        complete = sum(whole[:at].find(line) >= 0 for line in edn_lines(records)) if "index" in records[0] else len(ops)
        assert len(ops) == complete
        assert ops == expected_ops[: len(ops)]
        assert mops == [row for row in expected_mops if row[0] < len(ops)]
        tail = whole[at:].strip("\r\n")
        assert (history.cut_off is None) == (not tail or len(whole[:at].strip()) == 0 or _between(whole[:at], layout))


def _between(words, layout):
    """Whether text without an outer vector ends behind a record."""
    return layout in ("lines", "records") and words.rstrip()[-1:] == "}" and _balanced(words)


def _balanced(words):
    try:
        list(forms(words))
    except EdnError:
        return False
    return True


@given(kafka_history(), st.booleans(), st.data())
def test_spoilt_text_is_never_read_as_something_else_by_the_fast_reader(records, json, data):
    """Bytes replaced or put in: the fast path takes a line only if the general reader reads the same from it."""
    words = (json_text(records, array=False) if json else LAYOUTS["lines"](edn_lines(records))).encode()
    spoilt = spoil(data.draw, words)
    taken = kafka_text.take(spoilt, json=json)
    texts = spoilt.split(b"\n")
    reader = EventReader(Path("memory"))
    rows = Rows(json=json)
    for number in taken.lines.tolist():
        (event,) = reader.line(texts[number], 1, json=json)
        rows.add(event)
    assert shown(taken.columns) == shown(rows.columns())


@given(plain_history(), st.booleans(), st.data())
def test_plain_records_are_read_at_once_as_one_by_one(records, json, data):
    """As they are written, or with a byte replaced or put in."""
    words = (json_text(records, array=False) if json else LAYOUTS["lines"](edn_lines(records))).encode()
    if data.draw(st.booleans()):
        words = spoil(data.draw, words)
    texts = words.split(b"\n")
    events, taken, refused = plain_text.take(words, np.arange(1, len(texts) + 1), json=json)
    assert sorted([*taken, *refused]) == [number for number, line in enumerate(texts) if line.strip(b" ,")]
    reader = EventReader(Path("memory"))
    for number, event in zip(taken, events, strict=True):
        (expected,) = reader.line(texts[number], number + 1, json=json)
        assert event == expected
        assert repr(event) == repr(expected)


USUAL = [
    {"index": 0, "time": 5, "type": Keyword(":invoke"), "process": 0, "f": Keyword(":assign"), "value": (0, 1)},
    {"type": Keyword(":ok"), "process": 0, "f": Keyword(":subscribe"), "value": ()},
    {
        "type": Keyword(":invoke"),
        "process": 0,
        "f": Keyword(":txn"),
        "value": ((Keyword(":send"), 0, 7), (Keyword(":poll"),)),
    },
    {
        "type": Keyword(":ok"),
        "process": 0,
        "f": Keyword(":txn"),
        "value": (
            (Keyword(":send"), 0, (2**63 - 2**55, 7)),
            (Keyword(":poll"), {0: ((3, 5), (None, -6)), 1: ()}),
            (Keyword(":poll"), {}),
        ),
        "rebalance-log": (),
        "poll-ms": 100,
    },
    {"type": Keyword(":info"), "process": 0, "f": Keyword(":crash"), "value": None},
]


def test_usual_records_are_taken_by_the_fast_reader_in_both_notations():
    for json, words in ((False, LAYOUTS["lines"](edn_lines(USUAL))), (True, json_text(USUAL, array=False))):
        taken = kafka_text.take(words.encode(), json=json)
        assert (taken.lines.tolist(), taken.refused.tolist()) == ([0, 1, 2, 3, 4], [])


def test_brackets_that_do_not_belong_together_are_for_the_general_reader():
    line = b"{:index 0, :type :ok, :process 0, :f :send, :value [[:send 1 2]}}"
    assert kafka_text.take(line).refused.tolist() == [0]


def test_both_readers_agree_on_the_samples():
    paths = sorted((DATA / "kafka").glob("*.edn"))
    assert paths
    for path in paths:
        assert not len(kafka_text.take(path.read_bytes()).refused)
        assert shown(kafka.read(path).columns) == shown(general(path))


def test_concatenation_of_nothing_is_an_empty_history():
    assert shown(concatenate([])) == ([], [])


def test_a_missing_file_is_one_line():
    with pytest.raises(HistoryError, match=r"/nowhere/history\.edn"):
        kafka.read(Path("/nowhere/history.edn"))
