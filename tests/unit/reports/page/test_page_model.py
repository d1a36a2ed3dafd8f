"""What is said of a run, piece by piece."""

from pathlib import Path

import msgspec
import pytest
import synthetic

from chaos.core.errors import HistoryError
from chaos.core.events import Note
from chaos.core.series import REFUSED_WORD
from chaos.core.verdict import Anomaly, CheckResult, Failover, Results
from chaos.storage.manifest import write_manifest
from reports import words
from reports.folder import Parts, read_parts
from reports.page import context
from reports.page.anomalies import anomaly_views
from reports.page.build import report_data
from reports.page.model import Moment, ReportData
from reports.page.verdict import check_rows


def changed(folder: Path, **parts: object) -> ReportData:
    return report_data(msgspec.structs.replace(read_parts(folder), **parts))


@pytest.mark.parametrize(
    ("kind", "word", "tone", "code"),
    [
        ("valid", "PASS", "good", "0"),
        ("invalid", "FAIL", "bad", "1"),
        ("unknown", "UNKNOWN", "warn", "2"),
        ("interrupted", "UNKNOWN", "warn", "130"),
        ("empty", "UNKNOWN", "warn", "2"),
        ("crashed", "BROKE", "warn", None),
    ],
)
def test_stamp_and_exit_code(
    reports_by_kind: dict[str, ReportData], kind: str, word: str, tone: str, code: str | None
) -> None:
    data = reports_by_kind[kind]
    assert (data.stamp.word, data.stamp.tone) == (word, tone)
    assert dict(data.commands).get("exit code") == code
    assert data.chips == (("interrupted",) if kind == "interrupted" else ())


def test_the_reason_of_an_unknown_stands_once_with_the_checks_it_decides(
    reports_by_kind: dict[str, ReportData],
) -> None:
    ((checks, reason),) = reports_by_kind["unknown"].why
    assert reason == "fault 3 (random-loss) is unproven: 12 of 12 links still deliver"
    assert checks == "assumptions, no-loss, offsets, linearizable-offsets, rto"
    assert {row.reason for row in reports_by_kind["unknown"].checks} == {""}
    assert reports_by_kind["valid"].why == ()


def test_a_check_that_is_unknown_in_an_invalid_run_says_why(folders: dict[str, Path]) -> None:
    base = synthetic.results("invalid")
    late = CheckResult(name="order", valid="unknown", found="3 of 4 queues", reason="the budget of 60 s ran out")
    data = changed(folders["invalid"], results=msgspec.structs.replace(base, checks=(*base.checks, late)))
    assert data.why == (("order", "the budget of 60 s ran out"),)
    tones = [check.tone for check in data.checks]
    assert tones == sorted(tones, key=("bad", "warn", "good").index), "what failed stands first"
    (told,) = (check for check in data.checks if check.name == "order")
    assert told.reason == "the budget of 60 s ran out"


def test_a_reason_that_the_row_says_already_is_not_said_twice() -> None:
    why = "not compared: queue 0, the final reads are not complete"
    unknown = CheckResult(
        name="replicas",
        valid="unknown",
        examined="0 copies",
        found=f"nothing compared; {why}",
        reason=why,
    )
    results = Results(valid="unknown", sentence="", reason=why, model="queue", engine="local", checks=(unknown,))
    (row,) = check_rows(results, {})
    assert (row.found, row.reason) == (f"nothing compared; {why}", "")


def test_a_check_without_anything_to_examine_claims_nothing() -> None:
    empty = CheckResult(name="no-loss", valid="unknown", examined="0 acknowledged messages", found="each is there")
    found = msgspec.structs.replace(empty, examined="9 acknowledged messages")
    results = Results(valid="unknown", sentence="", reason="", model="queue", engine="local", checks=(empty, found))
    assert [row.found for row in check_rows(results, {})] == ["there was nothing to examine", "each is there"]


def test_run_again_repeats_the_options_with_the_seed_that_was_drawn() -> None:
    again = words.run_again(("/x/bin/chaos", "run", "--set", "a=b c", "--seed", "5", "--rate", "9"), 77)
    assert again == "chaos run --set 'a=b c' --rate 9 --seed 77"
    assert words.run_again(("/x/chaos/__main__.py", "run", "--seed=5"), 77) == "chaos run --seed 77"
    assert words.run_again((), 77) == "chaos run --seed 77"
    brought = {"--nemesis": "leader-kill", "--rto-budget": "10"}
    again = words.run_again(("chaos", "run", "--bug", "x", "--nemesis=mix"), 7, brought)
    assert again == "chaos run --bug x --nemesis=mix --rto-budget 10 --seed 7"
    made = ("chaos", "generate", "--ops", "99", "--seed", "5", "--output", "made")
    assert words.run_again(made, 5) == "chaos generate --ops 99 --output made --seed 5"


def test_fault_rows_say_what_was_planned_done_and_proven(reports_by_kind: dict[str, ReportData]) -> None:
    assert [fault.state for fault in reports_by_kind["unknown"].faults] == ["proven", "proven", "unproven"]
    crashed = reports_by_kind["crashed"].faults
    assert [(fault.id, fault.state, fault.heal) for fault in crashed] == [
        (1, "proven", "healing not recorded"),
        (2, "not reached", ""),
        (3, "not reached", ""),
    ]
    assert crashed[1].evidence == "planned at 60.0 s"


def test_recovery_lines_and_rows(reports_by_kind: dict[str, ReportData]) -> None:
    recovery = reports_by_kind["invalid"].recovery
    sends = "RTO of send: never recovered from fault 3; 3.0 s (fault 1); 1 fault without an outage"
    assert recovery.lines == (
        f"{sends}; budget 10 s",
        "RTO of poll: 3 faults without an outage; budget 10 s",
        "steady throughput again: not after fault 3; at most 3.0 s after the heal (fault 1)",
        "RPO: 328 acknowledged messages lost, of these 328 after fault 1",
    )
    (first, (short,)), (third, (endless,)) = recovery.rows
    assert (first.id, short.length, short.where, short.when, short.tone) == (
        1,
        "3.0 s",
        "queue 2",
        "before the heal",
        "good",
    )
    assert (third.id, endless.length, endless.share, endless.tone, endless.lagged) == (3, "never", 1.0, "bad", True)
    faults = reports_by_kind["invalid"].faults
    assert [(fault.rto, fault.rto_of) for fault in faults] == [("3.0 s", "send"), ("none", "send"), ("never", "send")]
    assert reports_by_kind["valid"].recovery.lines[-1] == "RPO: 0 acknowledged messages lost"


def test_failovers_and_quiet_stretches_are_named(folders: dict[str, Path]) -> None:
    parts = read_parts(folders["valid"])
    assert parts.results is not None
    plain = report_data(parts).recovery.lines
    assert not any(line.startswith(("failovers", "quiet")) for line in plain)
    changes = tuple(
        Failover(node=f"b{epoch % 3 + 1}", epoch=epoch, at_ns=parts.run.origin_ns + epoch * 10**10)
        for epoch in range(2, 12)
    )
    parts = msgspec.structs.replace(
        parts,
        results=msgspec.structs.replace(parts.results, failovers=changes),
        run=msgspec.structs.replace(parts.run, quiet=((6.0, 8.5),)),
    )
    failovers, quiet, *others = report_data(parts).recovery.lines
    assert failovers.startswith("failovers: 10 (b3 in epoch 2 from 20.0 s, b1 in epoch 3 from 30.0 s, ")
    assert failovers.endswith("and 2 more)")
    assert quiet == "quiet load, a tenth of the sends: 6.0 to 8.5 s"
    assert tuple(others) == plain


def test_anomalies_with_one_cause_stand_under_their_headline(reports_by_kind: dict[str, ReportData]) -> None:
    lost, stale = reports_by_kind["invalid"].anomalies
    assert (lost.name, lost.count, lost.weight, [part.name for part in lost.parts]) == (
        "lost-write",
        328,
        "error",
        ["inconsistent-offsets"],
    )
    assert (stale.name, stale.weight) == ("stale-tail", "allowed")
    assert stale.why_allowed == "no leases: an old master answers until it learns of the new one"


def test_what_leaves_a_verdict_open_is_no_error() -> None:
    found = {name: Anomaly(count=1, allowed=name == "stale-tail") for name in ("stale-tail", "unseen", "duplicate")}
    results = Results(valid=False, sentence="", reason="", model="queue", engine="local", anomalies=found)
    shown = [(view.name, view.weight) for view in anomaly_views(results, (), (), {})]
    assert shown == [("duplicate", "error"), ("unseen", "undecided"), ("stale-tail", "allowed")]


def test_chains_and_rings_of_causes_lose_nobody() -> None:
    found = {
        "a": Anomaly(count=1, allowed=False, part_of="b"),
        "b": Anomaly(count=2, allowed=False, part_of="c"),
        "c": Anomaly(count=3, allowed=False),
        "x": Anomaly(count=4, allowed=False, part_of="y"),
        "y": Anomaly(count=5, allowed=False, part_of="x"),
        "z": Anomaly(count=6, allowed=True, part_of="not there"),
    }
    results = Results(valid=False, sentence="", reason="", model="queue", engine="local", anomalies=found)
    shown = {view.name: [part.name for part in view.parts] for view in anomaly_views(results, (), (), {})}
    assert sorted([*shown, *(name for parts in shown.values() for name in parts)]) == sorted(found)
    assert shown["c"] == ["a", "b"]


@pytest.mark.parametrize(
    ("skipped", "text"),
    [
        (3, "3 planned, 0 done, 0 proven, 0 healed, 3 skipped"),
        (1, "3 planned, 2 done, 2 proven, 2 healed, 1 skipped"),
    ],
)
def test_skipped_faults_are_not_as_it_should_be(folders: dict[str, Path], skipped: int, text: str) -> None:
    parts = read_parts(folders["valid"])
    assert parts.results is not None
    faults = tuple(
        msgspec.structs.replace(fault, skipped=True, proven=False, healed=False) if i < skipped else fault
        for i, fault in enumerate(parts.results.faults)
    )
    (said,) = (one for one in context.assumptions(parts, faults) if one.name == "faults")
    assert (said.text, said.tone) == (text, "warn")


def test_assumptions_carry_figures(reports_by_kind: dict[str, ReportData]) -> None:
    by_name = {a.name: a for a in reports_by_kind["unknown"].assumptions}
    assert by_name["faults"].text == "3 planned, 3 done, 2 proven, 3 healed"
    assert by_name["faults"].tone == "warn"
    assert by_name["final reads"].tone == "good"
    crashed = {a.name: a for a in reports_by_kind["crashed"].assumptions}
    assert crashed["final reads"].text == "drain never began"
    interrupted = {a.name: a for a in reports_by_kind["interrupted"].assumptions}
    assert interrupted["final reads"].tone == "warn"


def test_operations_by_kind_and_outcome(reports_by_kind: dict[str, ReportData]) -> None:
    table = reports_by_kind["valid"].counts
    sends = next(row for row in table.rows if row[0] == "send")
    series = synthetic.series()
    assert sends[1] == words.count(sum(series.rate["send"]["ok"]))
    refused, unsent = sum(series.rate["send"][REFUSED_WORD]), sends[5]
    assert (sends[4], unsent) == (words.count(refused), "0")
    rest = [sum(series.rate["send"][word]) for word in ("ok", "fail", "info")]
    assert sends[6] == f"{100 * rest[0] / sum(rest):.2f} %", "what was refused by design was not tried in earnest"
    *_, every = table.rows
    counted = sum(sum(steps) for by_type in series.rate.values() for steps in by_type.values())
    assert every[0] == f"all {words.count(counted)}"
    assert reports_by_kind["empty"].counts.rows == ()


def test_what_is_missing_is_said(reports_by_kind: dict[str, ReportData]) -> None:
    notices = " ".join(reports_by_kind["crashed"].notices)
    assert "no results.json" in notices
    assert "no series.json" in notices
    assert "No operation was recorded." in reports_by_kind["empty"].notices
    assert reports_by_kind["valid"].notices == ()
    assert reports_by_kind["crashed"].sentence.startswith("The run broke: the observer ended")


def test_a_run_without_nodes_or_events_still_makes_sense(folders: dict[str, Path]) -> None:
    run = msgspec.structs.replace(synthetic.run_info("crashed"), nodes=(), error="no such jar", planned_faults=0)
    data = changed(folders["crashed"], run=run, events=(), plan=(), config="", files=(), file_count=0)
    assert data.heading.startswith("rocketmq 5.5.0 · queue")
    assert data.charts.end == 1.0
    assert data.faults == ()


def test_config_lines_keep_their_origin(reports_by_kind: dict[str, ReportData]) -> None:
    assert ("system: rocketmq", "--system") in reports_by_kind["valid"].config
    assert ("settings:", "") in reports_by_kind["valid"].config


def test_events_are_read_from_the_merged_table_too(tmp_path: Path) -> None:
    from chaos.storage.history import materialise_events

    folder = synthetic.write(tmp_path / "run", "crashed")
    before = read_parts(folder).events
    materialise_events(folder / "history")
    for path in (folder / "history").glob("*.events"):
        path.unlink()
    assert read_parts(folder).events == before


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"no run\.json"):
        read_parts(tmp_path)
    folder = synthetic.write(tmp_path / "run", "valid")
    (folder / "plan.jsonl").write_text('{"row": 1}\n{"row"\n')
    write_manifest(folder)
    with pytest.raises(HistoryError, match=r"plan\.jsonl:2"):
        read_parts(folder)
    (folder / "plan.jsonl").unlink()
    write_manifest(folder)
    (folder / "results.json").write_text('{"valid": "perhaps"}')
    with pytest.raises(HistoryError, match=r"results\.json: .*chaos check"):
        read_parts(folder)


def test_files_are_listed_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.folder.MAX_FILES", 3)
    parts: Parts = read_parts(synthetic.write(tmp_path / "run", "valid"))
    assert len(parts.files) == 3
    assert parts.file_count > 3


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0.0 s"),
        (0.0123, "12 ms"),
        (0.00231, "2.3 ms"),
        (2.64, "2.6 s"),
        (240.2, "240 s"),
        (7260, "121 min"),
        (-3.0, "-3.0 s"),
    ],
)
def test_durations(value: float, said: str) -> None:
    assert words.seconds(value) == said


def test_numbers_and_names() -> None:
    assert [words.count(n) for n in (0, 9999, 10000, 1234567)] == ["0", "9999", "10\u202f000", "1\u202f234\u202f567"]
    assert words.plural(1, "fault") == "1 fault"
    assert words.plural(0, "fault") == "0 faults"
    assert words.flat_rows({"java": {"version": "17", "ok": True}, "cores": 2, "tags": ["a", "b"]}) == [
        ("java.version", "17"),
        ("java.ok", "yes"),
        ("cores", "2"),
        ("tags", "a, b"),
    ]


def test_a_process_that_ended_by_itself_is_on_the_page() -> None:
    note = Note(time_ns=1, name="node-ended", node="b2", text="ended by itself")
    assert (context._unplanned_ends([note]).tone, context._unplanned_ends([]).tone) == ("warn", "good")
    assert "b2 ended by itself" in context._unplanned_ends([note]).text


def test_in_effect_stand_among_the_assumptions_and_in_the_environment(folders: dict[str, Path]) -> None:
    parts = read_parts(folders["valid"])
    assert "settings" not in [one.name for one in context.assumptions(parts, ())]
    note = Note(
        time_ns=1,
        name="settings-in-effect",
        text="89 settings proven to be in effect on 4 nodes",
        data={"switches": {"flushDiskType": {"b1": "SYNC_FLUSH", "b2": "ASYNC_FLUSH", "b3": "ASYNC_FLUSH"}}},
    )
    parts = msgspec.structs.replace(parts, events=(*parts.events, note))
    assert context.assumptions(parts, ())[-1].text == note.text
    assert context.assumptions(parts, ())[-1].tone == "good"
    (table,) = (table for table in context.environment(parts) if table.title == "Switches in effect")
    assert table.rows == (("flushDiskType", "SYNC_FLUSH (b1); ASYNC_FLUSH (b2 b3)"),)
    warned = msgspec.structs.replace(note, data={"warning": True})
    assert context.assumptions(msgspec.structs.replace(parts, events=(warned,)), ())[-1].tone == "warn"


def test_the_service_is_told_by_queue_the_least_available_first_and_by_fault(folders: dict[str, Path]) -> None:
    available, latency = report_data(read_parts(folders["valid"])).service
    assert available.rows[0] == ("any queue", "99.2 %", "120", "5.1 s (queue 2)", Moment(21.0))
    assert [row[0] for row in available.rows[1:]] == ["queue 2", "queue 0", "queue 1", "queue 3"]
    assert latency.rows[1] == ("1 leader-partition", "4100", "40 ms", "2.9 s", "5.2 s", "5.4 s", "328")
    assert report_data(read_parts(folders["empty"])).service == ()


def test_many_queues_are_cut_and_counted(folders: dict[str, Path]) -> None:
    base = synthetic.results("valid")
    queues = tuple(msgspec.structs.replace(base.availability[1], key=key) for key in range(20))
    (available, _) = changed(
        folders["valid"], results=msgspec.structs.replace(base, availability=(base.availability[0], *queues))
    ).service
    assert len(available.rows) == 9
    assert "the 8 least available of 20 queues" in available.title


def test_an_object_is_told_in_the_words_of_its_model(folders: dict[str, Path]) -> None:
    run = msgspec.structs.replace(
        synthetic.run_info("valid"),
        model="register",
        words={"read": 1, "write": 2, "cas": 3},
        mix={"read": 1.0, "write": 1.0, "cas": 0.5},
        rate=100.0,
    )
    steps = [100] * 120
    base = synthetic.series()
    series = msgspec.structs.replace(base, rate={"read": {"ok": steps}, "write": {"ok": steps}, "cas": {"fail": steps}})
    data = changed(folders["valid"], run=run, series=series)
    assert data.charts.ops == {1: "read", 2: "write", 3: "cas"}
    assert data.charts.unread == []
    assert "150 changes/s · 8 clients · 4 registers" in data.facts
    (rate,) = (one for one in data.assumptions if one.name == "rate")
    assert rate.text == "198 changes a second were sent over 121 s; 150 were asked for"
    assert rate.tone == "good"
    assert [table.columns[0] for table in data.service] == ["register"], "nothing is sent, so nothing has an end to end"
    assert dict(data.environment[2].rows)["registers"] == "4"


def test_a_run_of_a_model_that_is_not_installed_is_told_all_the_same(folders: dict[str, Path]) -> None:
    run = msgspec.structs.replace(synthetic.run_info("valid"), model="no-such-model", words={"paint": 1})
    data = changed(folders["valid"], run=run)
    assert data.charts.ops == {1: "paint"}
    assert any("changes/s" in fact for fact in data.facts)
