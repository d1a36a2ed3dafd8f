"""Both readers of transactions agree, whatever the text; ranges of lines together are the file."""

from pathlib import Path

import pytest
from edn_text import LAYOUTS, MARKS, edn_lines, json_text, spoil, txn_history, written
from hypothesis import given, settings
from hypothesis import strategies as st
from repository import DATA

from chaos.formats import columnar, text, txn, txn_text
from chaos.formats.edn import Keyword
from chaos.formats.jepsen import EventReader
from chaos.formats.txn_columns import EMPTY, concatenate
from chaos.formats.txn_rows import Rows

FEWER = settings(max_examples=60)  # each writes files
BOTH = st.booleans()
HISTORIES = {lists: txn_history(lists=lists) for lists in (True, False)}


def shown(columns):
    """Records and micro-operations with keys and values by themselves."""
    ops, micros = columns.ops, columns.micros
    left = iter(columns.elements.tolist())
    rows = [
        (op, kind, repr(columns.keys[key]), repr(columns.value_of(value)))
        + ((None,) if length < 0 else tuple(repr(columns.value_of(next(left))) for _ in range(length)))
        for op, kind, key, value, length in zip(
            *(getattr(micros, name).tolist() for name in type(micros).__slots__), strict=True
        )
    ]
    assert list(left) == []
    fs = [columns.words[f] for f in ops.f.tolist()]
    others = ("index", "time_ns", "type", "process", "flags")
    return list(zip(fs, *(getattr(ops, name).tolist() for name in others), strict=True)), rows


def general(path, *, lists):
    rows = Rows(lists=lists)
    for event in EventReader(path):
        rows.add(event)
    return columnar.in_index_order(txn.Kind(lists), rows.columns())


@FEWER
@given(BOTH, st.sampled_from(sorted(LAYOUTS)), st.data())
def test_every_layout_gives_what_the_general_reader_gives(lists, layout, data):
    records = data.draw(HISTORIES[lists])
    with written(LAYOUTS[layout](edn_lines(records))) as path:
        history = txn.read(path, lists=lists)
        assert shown(history.columns) == shown(general(path, lists=lists))
        assert (len(history.columns.ops.index), history.cut_off) == (len(records), None)


@FEWER
@given(BOTH, BOTH, st.data())
def test_the_json_twin_is_read_by_both_alike(lists, array, data):
    with written(json_text(data.draw(HISTORIES[lists]), array=array)) as path:
        assert shown(txn.read(path, lists=lists).columns) == shown(general(path, lists=lists))


@FEWER
@given(BOTH, st.integers(20, 400), st.data())
def test_ranges_of_lines_together_are_the_file(lists, size, data):
    kind = txn.Kind(lists)
    with written(LAYOUTS["lines"](edn_lines(data.draw(HISTORIES[lists])))) as path:
        parts = [columnar.read_range(kind, path, lo, hi) for lo, hi in text.chunks(path, size)]
        assert shown(columnar.join_parts(kind, parts).columns) == shown(txn.read(path, lists=lists).columns)


@settings(max_examples=400)
@given(BOTH, BOTH, st.data())
def test_spoilt_text_is_never_read_as_something_else_by_the_fast_reader(lists, json, data):
    """Bytes replaced or put in: the fast path takes a line only if the general reader reads the same from it."""
    records = data.draw(HISTORIES[lists])
    words = (json_text(records, array=False) if json else LAYOUTS["lines"](edn_lines(records))).encode()
    spoilt = spoil(data.draw, words, MARKS + b"rw")
    taken = txn_text.take(spoilt, lists=lists, json=json)
    texts = spoilt.split(b"\n")
    reader = EventReader(Path("memory"))
    rows = Rows(lists=lists)
    for number in taken.lines.tolist():
        (event,) = reader.line(texts[number], 1, json=json)
        rows.add(event)
    assert shown(taken.columns) == shown(rows.columns())


def micros(*words):
    return tuple((Keyword(f":{word}"), *rest) for word, *rest in words)


USUAL = {
    True: [
        micros(("r", 3, None), ("append", 3, 7)),
        micros(("r", 3, ()), ("append", 3, 2**40)),
        micros(("r", 3, (1, 2, -5)), ("r", 4, (9,))),
        (),
        None,
    ],
    False: [micros(("r", 3, None), ("w", 3, 7)), micros(("r", 3, -5)), (), None],
}


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("json", [True, False])
def test_usual_records_are_taken_by_the_fast_reader_in_both_notations(lists, json):
    records = [
        {"index": i, "time": 5, "type": Keyword(":ok"), "process": 0, "f": Keyword(":txn"), "value": value}
        for i, value in enumerate(USUAL[lists])
    ]
    words = json_text(records, array=False) if json else LAYOUTS["lines"](edn_lines(records))
    taken = txn_text.take(words.encode(), lists=lists, json=json)
    assert (taken.lines.tolist(), taken.refused.tolist()) == (list(range(len(records))), [])


@pytest.mark.parametrize(
    "closing", [b"[[:append 3 7}]", b"[[:r 3 [}]]", b"[[:r 3 [1] 2]]", b"[[:append 3 7]}", b"[[:r 3 [1}]]"]
)
def test_brackets_that_do_not_belong_together_are_for_the_general_reader(closing):
    line = b"{:index 0, :type :ok, :process 0, :f :txn, :value " + closing + b"}"
    assert txn_text.take(line, lists=True).refused.tolist() == [0]


def test_both_readers_agree_on_the_samples():
    paths = sorted((DATA / "txn").glob("*.edn"))
    assert paths
    for path in paths:
        lists = path.name.startswith("la-")
        assert shown(txn.read(path, lists=lists).columns) == shown(general(path, lists=lists))


def test_concatenation_of_nothing_is_an_empty_history():
    assert concatenate([]) is EMPTY
