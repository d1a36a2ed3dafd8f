"""What a reader asks who never saw the code: one example at once, counts that overlap, two leaders, whose times."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import synthetic

from chaos.core.events import Event, Observation
from chaos.core.verdict import CheckResult, Example, Headline, Results
from reports.folder import Parts, read_parts
from reports.page.anomalies import facts_of
from reports.page.build import observed_words, report_data
from reports.page.clue import clue_of
from reports.page.html import page as page_of
from reports.page.model import CheckRow, ReportData
from reports.page.panels import Interval, Strip, asked_every_s
from reports.page.space_time import scene_of
from reports.page.trace import HEARD, blamed_faults, trace
from reports.page.verdict import check_rows, first_superseded_leader

SUPERSEDED = Strip(
    name="b1",
    role="broker",
    node="b1",
    intervals=(Interval(0.0, 20.0, "lead", "master, epoch 1"), Interval(22.0, 40.0, "stale", "master, epoch 1")),
)


@pytest.fixture
def red(folders: dict[str, Path]) -> Parts:
    return read_parts(folders["invalid"])


def results_of(parts: Parts) -> Results:
    assert parts.results is not None
    return parts.results


def test_the_clue_tells_message_place_node_fault_and_what_should_have_been(
    reports_by_kind: dict[str, ReportData],
) -> None:
    clue = reports_by_kind["invalid"].clue
    assert clue is not None
    assert (clue.example, clue.anchor) == ("lost-write 1", "example-lost-write-1")
    assert clue.facts == (
        ("message", "5:233"),
        ("place", "queue 2, offsets 1204 and 1531"),
        ("look at", "b1"),
        ("fault", "1 leader-partition at 20.0 s"),
        ("should be", "what was acknowledged is read back, whatever fails afterwards"),
    )


@pytest.mark.parametrize("kind", ["valid", "empty", "crashed"])
def test_without_errors_there_is_no_clue(reports_by_kind: dict[str, ReportData], kind: str) -> None:
    assert reports_by_kind[kind].clue is None


def test_the_clue_is_what_the_results_say_that_the_headline_tells(red: Parts) -> None:
    results = results_of(red)
    told = Headline(anomaly="inconsistent-offsets", nodes=("c1", "c2", "c3"), fault=3)
    clue = clue_of(msgspec.structs.replace(results, headline=told), (), "queue")
    assert clue is not None
    assert (clue.example, clue.anchor) == ("inconsistent-offsets 1", "example-inconsistent-offsets-1")
    assert dict(clue.facts)["look at"] == "c1, c2 and c3"
    assert dict(clue.facts)["fault"] == "3", "the number alone where the fault is not known"


def test_the_example_of_the_headline_does_not_contradict_it(red: Parts) -> None:
    results = results_of(red)
    told = Headline(anomaly="lost-write", nodes=("b2",), fault=3)
    data = report_data(msgspec.structs.replace(red, results=msgspec.structs.replace(results, headline=told)))
    first, *others = next(one for one in data.anomalies if one.name == "lost-write").examples
    facts = dict(first.facts)
    assert (facts["look at"], facts["seen at"], facts["fault"]) == ("b2", "b1", "3")
    assert "node" not in facts, "two words for whom to look at"
    assert data.clue is not None
    above = dict(data.clue.facts)
    assert (above["look at"], above["seen at"]) == ("b2", "b1")
    assert above["fault"].startswith("3 "), "the same fault, with its name"
    assert all("look at" not in dict(one.facts) for one in others)


def test_the_place_of_a_message_at_several_offsets_is_all_of_them() -> None:
    example = Example(sentence="", key=0, offset=50, last_offset=60)
    assert dict(facts_of(example, "queue"))["place"] == "queue 0, offsets 50 and 60"
    assert dict(facts_of(Example(sentence="", key=0), "place"))["place"] == "0", "not: place place 0"


def test_an_example_that_blames_whom_the_headline_blames_says_it_once(red: Parts) -> None:
    told = Headline(anomaly="lost-write", nodes=("b1",), fault=1)
    results = msgspec.structs.replace(results_of(red), headline=told)
    (first, *_) = next(
        one for one in report_data(msgspec.structs.replace(red, results=results)).anomalies if one.name == "lost-write"
    ).examples
    assert "look at" not in dict(first.facts)
    assert dict(first.facts)["fault"] == "1"


def test_of_older_results_the_clue_is_the_first_example_of_the_strongest_error_whatever_the_sentence_says(
    red: Parts,
) -> None:
    results = results_of(red)
    lost = results.anomalies["lost-write"]
    other = msgspec.structs.replace(lost.examples[0], value="1:7")
    moved = {**results.anomalies, "lost-write": msgspec.structs.replace(lost, examples=(other, *lost.examples))}
    written = msgspec.to_builtins(msgspec.structs.replace(results, anomalies=moved, sentence="first lost: 5:233."))
    del written["headline"]
    clue = clue_of(msgspec.convert(written, Results), (), "queue")
    assert clue is not None
    assert clue.example == "lost-write 1"
    assert (dict(clue.facts)["message"], dict(clue.facts)["look at"]) == ("1:7", "b1")


def rows(results: Results, two_leaders: str) -> dict[str, CheckRow]:
    return {row.name: row for row in check_rows(results, dict.fromkeys(("roles", "min-in-sync"), two_leaders))}


def test_checks_that_pass_say_why_two_leaders_are_no_contradiction(red: Parts) -> None:
    checks = tuple(CheckResult(name=name, valid=True, found="clean") for name in ("roles", "min-in-sync", "order"))
    shown = rows(msgspec.structs.replace(results_of(red), checks=checks), first_superseded_leader([SUPERSEDED]))
    for name in ("roles", "min-in-sync"):
        assert shown[name].reason.startswith(
            "b1 (master, epoch 1) from 22.0 s to 40.0 s said to lead beside a newer leader"
        )
    assert shown["order"].reason == ""


def test_nothing_is_said_of_two_leaders_where_there_were_none_or_where_the_check_failed(red: Parts) -> None:
    assert first_superseded_leader([msgspec.structs.replace(SUPERSEDED, intervals=SUPERSEDED.intervals[:1])]) == ""
    passed = CheckResult(name="roles", valid=True, found="clean")
    failed = msgspec.structs.replace(passed, valid=False, found="1 dual-leader")
    assert rows(msgspec.structs.replace(results_of(red), checks=(passed,)), "")["roles"].reason == ""
    assert rows(msgspec.structs.replace(results_of(red), checks=(failed,)), "b1")["roles"].reason == ""


def test_a_superseded_controller_says_nothing_of_sets(red: Parts) -> None:
    told = [claim for event in red.events if isinstance(event, Observation) for claim in event.led()]
    claim = next(one for one in told if red.run.kind_of(one.subject) == "controller")
    heard = next(e for e in red.events if isinstance(e, Observation) and claim in e.led())
    newer = msgspec.structs.replace(claim, epoch=(claim.epoch or 0) + 5)
    moved = msgspec.structs.replace(heard, time_ns=heard.time_ns - 1, claims=(newer,))
    checks = tuple(CheckResult(name=name, valid=True, found="clean") for name in ("roles", "min-in-sync"))
    results = msgspec.structs.replace(results_of(red), checks=checks)
    own = [event for event in red.events if isinstance(event, Observation) and event.node == heard.node]
    data = report_data(msgspec.structs.replace(red, events=[moved, *own], results=results))
    shown = {row.name: row.reason for row in data.checks}
    assert shown["roles"].startswith(f"{heard.node} (")
    assert shown["min-in-sync"] == ""


def test_the_page_says_whose_word_roles_are_and_how_late_it_may_be(red: Parts) -> None:
    every_s = asked_every_s(red.events)
    assert every_s is not None
    said = report_data(red).observed
    assert said == observed_words(every_s)
    assert f"every {every_s:.1f} s" in said
    assert f"by up to {every_s:.1f} s" in said
    unheard: list[Event] = []
    assert asked_every_s(unheard) is None
    assert report_data(msgspec.structs.replace(red, events=unheard)).observed == ""


def test_counts_of_kinds_are_said_to_overlap_and_a_shared_cause_is_named(red: Parts) -> None:
    results = results_of(red)
    below = msgspec.structs.replace(results.anomalies["stale-tail"], part_of="lost-write")
    shared = msgspec.structs.replace(results, anomalies={**results.anomalies, "stale-tail": below})
    text = page_of(report_data(msgspec.structs.replace(red, results=shared)))
    assert "same cause as lost-write" in text
    assert "their counts do not add up" in text
    assert ("the headline names the others" in text) is ("Also: " in results.sentence)
    further = msgspec.structs.replace(shared, sentence=f"{results.sentence} Also: 37 stale strong reads.")
    assert "the headline names the others" in page_of(report_data(msgspec.structs.replace(red, results=further)))
    alone = msgspec.structs.replace(results, anomalies={"lost-write": results.anomalies["lost-write"]})
    assert "do not add up" not in page_of(report_data(msgspec.structs.replace(red, results=alone)))


def test_drawings_have_the_acknowledgement_and_the_beginning_of_the_fault_in_view(red: Parts) -> None:
    example, data = synthetic.lost_example(), report_data(red)
    (fault,) = blamed_faults(example, data.charts.faults)
    drawn, picture = scene_of(example, red.run, data.charts.faults), trace(example, data.charts.faults, ())
    assert drawn is not None
    assert picture is not None
    acked = max(act.end or 0.0 for act in drawn.acts if act.words.startswith("send 5:233"))
    for start, end in ((drawn.start, drawn.end), (picture.start, picture.end)):
        assert start < fault.start
        assert acked < end
    assert ("fault 1: leader-partition", "") in [(step.words, step.took) for step in picture.steps]


def test_a_fault_that_began_afterwards_is_in_view_too(red: Parts) -> None:
    example = synthetic.lost_example()
    (fault,) = blamed_faults(example, report_data(red).charts.faults)
    later = msgspec.structs.replace(fault, start=27.5, end=30.0)
    drawn = scene_of(example, red.run, [later])
    assert drawn is not None
    assert drawn.start < 24.302
    assert drawn.end > 27.5


def test_the_answer_to_an_operation_has_its_own_line_where_others_begin_before_it() -> None:
    """An idempotent send is tried again until 1.37 s; a read had shown its message before, at another offset."""

    def did(word: str, start: float, end: float, **more: Any) -> dict[str, Any]:
        return {"f": word, "type": "ok", "process": 1, "node": "b2", "invoke_s": start, "complete_s": end, **more}

    send = did("send", 0.42, 1.37, value="2:9", offset=24)
    early = {"from": 0, "next": 16, "count": 16, "records": ["10=2:9"]}
    late = {"from": 0, "next": 29, "count": 29, "records": ["24=2:9"]}
    reads = [did("read", 1.2, 1.201, **early), did("read", 1.4, 1.402, **late)]
    picture = trace(Example(sentence="", key=0, offset=10, last_offset=24, value="2:9", ops=(send, *reads)), [], [])
    assert picture is not None
    assert [(step.at, step.number) for step in picture.steps] == [(0.42, 1), (1.2, 2), (1.37, 0), (1.4, 3)]
    assert picture.steps[2].words == f"1 ends: {picture.steps[0].words}"


def test_a_change_of_leader_is_the_observers_word(reports_by_kind: dict[str, ReportData]) -> None:
    picture = reports_by_kind["invalid"].anomalies[0].examples[0].trace
    assert picture is not None
    heard = {step.words: step.took for step in picture.steps if step.tone == "moment" and " ends: " not in step.words}
    assert {said for words, said in heard.items() if words.startswith("fault")} == {""}
    assert {said for words, said in heard.items() if not words.startswith("fault")} == {HEARD}
