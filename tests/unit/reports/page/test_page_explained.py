"""What a page explains where its words would seem to contradict each other or say too little."""

from pathlib import Path

import msgspec
import pytest
import synthetic

from chaos.core.events import Phase
from chaos.core.verdict import Anomaly, CheckResult, ErrorResult, Example, Results
from reports.folder import read_parts
from reports.page import context
from reports.page.anomalies import anomaly_views, fact_columns
from reports.page.build import report_data
from reports.page.errors import OPEN, errors_of
from reports.page.html import page
from reports.page.model import AnomalyView, ReportData


def views(name: str, example: Example, *, allowed: bool = False, promised: bool = False) -> tuple[AnomalyView, ...]:
    results = msgspec.structs.replace(
        synthetic.results("invalid"),
        headline=None,
        anomalies={name: Anomaly(count=1, allowed=allowed, examples=(example,))},
    )
    return anomaly_views(results, (), (), {name: "settings"} if promised else {})


def facts(found: tuple[AnomalyView, ...]) -> dict[str, str]:
    return dict(found[0].examples[0].facts)


@pytest.mark.parametrize(
    ("allowed", "promised", "said"),
    [
        (True, True, "covers it"),
        (False, True, "covers it, but not every one of its kind"),
        (False, False, "none of this system allows it"),
    ],
)
def test_a_promise_says_whether_it_is_made_and_covers_all(*, allowed: bool, promised: bool, said: str) -> None:
    found = views("stale-tail", Example(sentence="", excused=True), allowed=allowed, promised=promised)
    assert facts(found)["promise"] == said
    assert [name for name, _ in fact_columns(found)] == ["promise"]


def test_what_no_promise_can_cover_does_not_speak_of_one() -> None:
    found = views("stale-tail", Example(sentence=""), promised=True)
    assert "promise" not in facts(found)
    assert fact_columns(found) == ()


def test_a_record_that_does_not_prove_itself_is_told_apart_by_what_stood_in_its_place() -> None:
    known = views("corrupt", Example(sentence="", value="5:191", offset=244))
    assert facts(known)["record"] == "probably 5:191, damaged: that was acknowledged here"
    unknown = views("corrupt", Example(sentence="", offset=244))
    assert facts(unknown)["record"].startswith("damaged or foreign")
    assert [name for name, _ in fact_columns(unknown)] == ["record"]


def test_each_of_these_words_has_its_explanation_on_the_page(reports_by_kind: dict[str, ReportData]) -> None:
    text = page(reports_by_kind["invalid"])
    assert 'href="#facts-promise"' in text
    assert 'id="facts-promise"' in text
    assert "facts-record" not in text


def errors(number: int) -> Results:
    met = tuple(
        ErrorResult(
            error="e" * (i + 1),
            type="fail",
            node="b1",
            fault=None,
            count=i % 7 + 1,
            first_ns=1,
            last_ns=2,
            by_design=i == number - 1,
        )
        for i in range(number)
    )
    return msgspec.structs.replace(synthetic.results("invalid"), errors=met)


def test_the_most_frequent_errors_stand_first_and_refusals_by_design_last() -> None:
    table = errors_of(errors(20), 0)
    assert table is not None
    counts = [int(str(row[4])) for row in table.rows[:-1]]
    assert counts == sorted(counts, reverse=True)
    assert table.rows[-1][1] == "refused by design"
    assert table.open == OPEN == 8


def test_few_errors_are_not_folded() -> None:
    table = errors_of(errors(OPEN), 0)
    assert table is not None
    assert table.open is None


def test_final_reads_that_were_made_but_are_not_enough_are_no_contradiction_of_their_check(
    folders: dict[str, Path],
) -> None:
    parts = read_parts(folders["valid"])
    assert parts.results is not None
    short = CheckResult(name="final-reads", valid="unknown", found="drain-incomplete", reason="queue 2: no final read")
    results = msgspec.structs.replace(parts.results, checks=(short,))
    judged = msgspec.structs.replace(parts, results=results)
    (said,) = (one for one in context.assumptions(judged, ()) if one.name == "final reads")
    assert said.tone == "warn"
    assert said.text == "all made, in time; they cannot prove that nothing else is missing (final-reads, above)"
    assert "✗" not in page(report_data(judged)).split('id="assumptions"')[1].split("</section>")[0]


@pytest.mark.parametrize(
    ("required", "ended", "tone", "text"),
    [
        (("tally",), True, "good", "all made, in time"),
        (("tally",), False, "warn", "tally: began and did not end"),
        (("tally", "recount"), True, "warn", "recount never began"),
        ((), True, "good", "the workload has none that must end"),
        (None, True, "warn", "never began"),
    ],
)
def test_final_phases_are_those_that_the_run_names(
    folders: dict[str, Path], required: tuple[str, ...] | None, ended: bool, tone: str, text: str
) -> None:
    parts = read_parts(folders["valid"])
    run = msgspec.structs.replace(parts.run, required_phases=required)
    events = [
        msgspec.structs.replace(event, name="tally") if isinstance(event, Phase) and event.name == "drain" else event
        for event in parts.events
        if ended or not (isinstance(event, Phase) and event.name == "drain" and event.edge == "end")
    ]
    said = context.assumptions(msgspec.structs.replace(parts, run=run, events=events), ())
    assert [(one.tone, one.text) for one in said if one.name == "final reads"] == [(tone, text)]
