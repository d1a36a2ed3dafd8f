"""The pages of a matrix as functions of its plan and rows, and strips of recovery times."""

import re
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_matrix import JOBS, PLAN, ROWS, row

from chaos.core.matrix_results import append_row
from chaos.core.verdict import FaultResult, Rto
from reports.matrix import pages
from reports.matrix.pages import junit, summary, view, write_pages
from reports.page.faults import spread_rows
from reports.page.spread import scale_of, spread_of, spread_row


def page(plan, rows, **more):
    return pages.page(view(plan, rows, **more))


def test_the_page_has_a_table_a_pair_of_axes_with_links_to_the_runs():
    made = view(PLAN, ROWS)
    assert (made.stamp.word, made.title) == ("FAIL", "matrix small")
    assert made.sentence == (
        "4 runs: 1 PASS, 1 FAIL, 1 UNKNOWN, 1 not done. 9 faults proven, 2 acknowledged messages lost."
    )
    skipped = view(PLAN, [row(0, proven=1, skipped=2)])
    assert "1 fault proven, 2 of 3 planned faults skipped, 0 acknowledged" in skipped.sentence
    (table,) = made.tables
    assert (table.title, table.columns) == ("fault × mode", ("x", "y"))
    kill, loss = table.rows
    assert [cell.words for cell in kill[1]] == ["median 2.0 s, 3 faults", "median 20.0 s, 2 faults, 1 never"]
    assert loss[1][1] is None
    text = page(PLAN, ROWS)
    assert '<a class="v good" href="runs/g/0/report.html" title="leader-kill.x.1">PASS</a>' in text
    assert "An &lt;about&gt;." in text
    assert "2 lost &lt;b&gt;" in text
    assert text.count("<script") == 1
    assert 'style="left:5.00%"' in text, "a second on a scale of twenty"


def test_a_page_without_its_runs_leads_to_its_own_rows():
    alone = page(PLAN, ROWS, reported=()).partition("<body>")[2]
    links = re.findall(r'href="([^"]*)"', alone)
    assert links == [f"#run-{JOBS[n].id}" for n in (0, 1, 2)]
    assert all(f'id="{link[1:]}"' in alone for link in links)


def test_one_axis_is_a_table_of_one_column():
    jobs = tuple(msgspec.structs.replace(job, values={"fault": job.values["fault"]}) for job in (JOBS[0], JOBS[2]))
    plan = msgspec.structs.replace(PLAN, axes={"fault": ("leader-kill", "random-loss")}, jobs=jobs)
    (table,) = view(plan, [row(0, values=jobs[0].values)]).tables
    assert [name for name, _ in table.rows] == ["leader-kill", "random-loss"]
    assert table.rows[0][1][0].runs[0].word == "PASS"


def test_rows_of_another_plan_do_not_count():
    made = view(PLAN, [row(0, "invalid", fingerprint="before")])
    assert made.stamp.word == "NOT DONE"
    assert all(run.word == "not done" for run in made.runs)
    assert view(PLAN, [row(n) for n in range(4)]).stamp.word == "PASS"


def test_junit_is_well_formed_and_counts_what_happened():
    suite = ET.fromstring(junit(PLAN, ROWS))  # noqa: S314 - our own text
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
        "time": "240.000",
    }
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {
        "leader-kill.x.1": [],
        "leader-kill.y.1": ["failure"],
        "random-loss.x.1": ["error"],
        "random-loss.y.1": ["skipped"],
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("lost-write", "2 lost <b>?")


def test_the_summary_is_markdown_whose_cells_hold():
    lines = summary(view(PLAN, ROWS)).splitlines()
    assert lines[0] == "# matrix small: FAIL"
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + len(JOBS)
    assert all(line.replace("\\|", "").count("|") == 9 for line in table)


def test_the_files_are_written_from_the_folder_alone(tmp_path):
    (tmp_path / "matrix.json").write_bytes(msgspec.json.encode(PLAN))
    for one in ROWS:
        append_row(tmp_path, one)
    write_pages(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "matrix.json",
        "cells.jsonl",
        "index.html",
        "junit.xml",
        "summary.md",
    }


def test_runs_of_several_models_are_shaded_by_their_own_changes():
    registers = {"rto": {"write": (4.0, None), "read": (9.0, 9.0)}, "changes": ("write",)}
    made = view(PLAN, [row(0), row(1, **registers)])
    assert made.change == "change"
    assert [run.rto for run in made.runs] == ["2.0 s", "4.0 s", "", ""]
    assert "| change RTO median |" in summary(made)


def test_of_several_kinds_of_changes_the_one_that_took_longest_counts_once_a_fault():
    rto = {"send": (1.0, 2.0, None, "never"), "transact": (3.0, None, None, 1.0), "poll": (9.0, 9.0, 9.0, 9.0)}
    made = view(PLAN, [row(0, rto=rto, changes=("send", "schedule", "transact"))])
    assert made.tables[0].rows[0][1][0].words == "median 2.5 s, 4 faults, 1 never"


RECOVERIES = st.lists(st.one_of(st.none(), st.just("never"), st.floats(0, 1000)))


@given(RECOVERIES)
def test_a_spread_averages_no_outage_and_no_recovery_in(recoveries):
    spread = spread_of(recoveries)
    assert spread.faults == len(recoveries)
    assert (spread.none, spread.never) == (recoveries.count(None), recoveries.count("never"))
    if not spread.dots:
        assert (spread.median, spread.p90, spread.longest) == (None, None, None)
        return
    assert min(spread.dots) <= spread.median <= spread.longest == max(spread.dots)
    at_most = sum(dot <= spread.p90 for dot in spread.dots)
    below = sum(dot < spread.p90 for dot in spread.dots)
    assert below < 0.9 * len(spread.dots) <= at_most + 1e-9
    scale_s = scale_of([spread])
    drawn = spread_row("n", "red", "send", spread, scale_s)
    assert all(0 <= x <= 1 for x in drawn.dots)


def test_a_strip_draws_a_dot_a_fault_and_says_the_rest_in_words():
    drawn = spread_row("leader-kill", "red", "send", spread_of([2.0, 4.0, None, "never"]), 8.0)
    assert (drawn.dots, drawn.marks) == ((0.25, 0.5), (("median", 0.375), ("p90", 0.5)))
    assert (drawn.faults, drawn.median, drawn.p90, drawn.longest) == (4, "3.0 s", "4.0 s", "4.0 s")
    assert scale_of([]) == 1.0
    assert scale_of([spread_of([0.2])]) == pytest.approx(1.0)


def fault(number, name, *rtos):
    return FaultResult(
        id=number,
        name=name,
        targets=(),
        description="",
        proven=True,
        healed=True,
        skipped=False,
        inject_ns=1,
        active_ns=None,
        heal_ns=None,
        healed_ns=None,
        rto=rtos,
    )


def test_a_runs_page_has_a_strip_for_each_nemesis_and_kind_that_an_outage_touched():
    on_a_queue = Rto(f="send", seconds=9.0, key=1)
    faults = (
        fault(1, "leader-kill", Rto(f="send", seconds=2.0), on_a_queue, Rto(f="poll", seconds=None)),
        fault(2, "random-loss", Rto(f="send", seconds=None)),
        fault(3, "leader-kill", Rto(f="send", seconds=4.0), Rto(f="poll", seconds=None)),
        fault(4, "leader-kill", Rto(f="send", seconds=9.0, recovered=False)),
    )
    rows, scale_s = spread_rows(faults)
    assert scale_s == 4.0
    (only,) = rows
    assert (only.name, only.colour, only.f) == ("leader-kill", "red", "send")
    assert (only.faults, only.never, only.none) == (3, 1, 0)
    assert (only.median, only.dots) == ("3.0 s", (0.5, 1.0))
    assert spread_rows(()) == ((), 1.0)
