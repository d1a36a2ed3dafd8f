"""Silences, no-progress and forks of replicas against their definitions, one send and one offset at a time."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.testing.history_files import write_run_folder
from chaos.testing.history_literal import Expected, FaultLiteral, HistoryLiteral, OpLiteral, RunLiteral
from checkers.engine import local_engine
from checkers.log.replicas import Copy, side_by_side
from checkers.recovery.service import Sent, silences

TIMES = st.integers(0, 40)
SENDS = st.lists(st.tuples(TIMES, st.integers(0, 9), st.booleans()), min_size=1, max_size=12)


@given(SENDS)
def test_a_silence_ends_with_the_next_acknowledgement_of_any(rows):
    rows = sorted(rows)
    invoke = np.array([at for at, _, _ in rows], dtype=np.int64)
    ok = np.array([done for *_, done in rows])
    acks = np.sort(np.array([at + took for at, took, done in rows if done], dtype=np.int64))
    found = silences(Sent(np.arange(len(rows)), invoke, ok, acks)).tolist()
    for (at, _, _), length in zip(rows, found, strict=True):
        later = [end for end in acks.tolist() if end > at]
        assert length == (min(later) - at if later else max(invoke.tolist()) - at)


@given(SENDS, st.integers(5, 20), st.integers(1, 12))
@settings(max_examples=20)  # each makes a run folder
def test_no_progress_is_a_silence_that_begins_after_controllers_were_hit(rows, inject, margin):
    ops = tuple(
        OpLiteral(at=(at, at + took + 0.5), send=f"1:{n}", **({"ok": n} if done else {"fail": "refused"}))
        for n, (at, took, done) in enumerate(sorted(rows))
    )
    fault = FaultLiteral(name="all-kill@controller", targets=("c1",), inject=inject + 0.25, heal=inject + 1.0)
    literal = HistoryLiteral(
        name="x",
        rules=(17,),
        about="",
        ops=ops,
        faults=(fault,),
        run=RunLiteral(progress_margin_s=margin),
        expect=Expected(valid=True),
    )
    with tempfile.TemporaryDirectory() as folder:
        write_run_folder(literal, Path(folder) / "run")
        found = local_engine.judge_folder(Path(folder) / "run").results.anomalies
    acks = sorted(op.at[1] for op in ops if op.ok is not None)
    last = max(op.at[0] for op in ops)

    def end_of(at):
        return next((end for end in acks if end > at), last)

    begin = inject + 0.25
    out_before = [end_of(op.at[0]) for op in ops if op.at[0] < begin - margin and end_of(op.at[0]) > begin]
    begin = out_before[0] if out_before else begin
    over = any(op.at[0] >= begin and end_of(op.at[0]) - op.at[0] > margin for op in ops)
    assert ("no-progress" in found) == over


COPIES = st.lists(
    st.tuples(st.dictionaries(st.integers(0, 6), st.integers(-1, 2), max_size=5), st.integers(0, 3), st.integers(0, 8)),
    min_size=2,
    max_size=4,
)


@given(COPIES)
def test_an_offset_is_forked_where_two_copies_that_cover_it_differ(made):
    copies, covers = [], []
    for n, (records, first, last) in enumerate(made):
        begin, end = min([first, *records]), max([last, *(offset + 1 for offset in records)])
        offsets = np.array(sorted(records), dtype=np.int64)
        content = np.array([records[offset] for offset in sorted(records)], dtype=np.int64)
        copies.append(Copy(n, n, begin, end, offsets, content, whole=True, misnumbered=[]))
        covers.append((records, begin, end))
    laid = side_by_side(copies)
    found = set(laid.offsets[laid.forked].tolist())
    expected = set()
    for offset in range(10):
        seen = {records.get(offset, "nothing") for records, begin, end in covers if begin <= offset < end}
        if len(seen) > 1:
            expected.add(offset)
    assert found == expected
