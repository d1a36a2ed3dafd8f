"""Thresholds and allowed findings in a matrix: rows, exit code, page, JUnit's XML, summary."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
import synthetic
from small_matrix import JOBS, PLAN, ROWS, row

from chaos.core.gate import Allowed, GateResult, ThresholdResult
from chaos.core.matrix_results import CellRow, append_row, worst_exit
from chaos.core.strict_yaml import parse
from chaos.core.verdict import exit_code
from chaos.matrix.jobs import Attempt, row_of
from chaos.matrix.model import Job, jobs_of, with_gates
from chaos.matrix.read import matrix_of
from chaos.options.config_file import Config
from chaos.storage.manifest import write_checked
from reports.matrix.pages import junit, page, summary, view, write_pages

HELD = ThresholdResult(text="lost==0", state="held", measured="0", value=0)
BROKEN = ThresholdResult(text="p99(send)<200ms", state="broken", measured="350 ms", value=0.35)
OPEN = ThresholdResult(text="rto(random-stop)<=1s", state="unknown", reason="no random-stop was injected")
EXCUSED = GateResult(valid=True, allowed=(Allowed(anomaly="lost-write", system="minimq", reason="known"),))
BAD = {"sentence": "1 lost. Allowed: lost-write of minimq (known).", "anomalies": {"lost-write": 1}}
ROWS_WITH_GATES = [
    row(0, thresholds=(HELD,)),
    row(1, "invalid", thresholds=(HELD, BROKEN), sentence="Broken threshold: p99(send)<200ms (measured 350 ms)."),
    row(2, "unknown", thresholds=(HELD, OPEN), reason="threshold rto(random-stop)<=1s: no random-stop was injected"),
    row(3, "invalid", gate=EXCUSED, **BAD),
]


def test_an_excused_run_does_not_decide_the_exit_code() -> None:
    excused = ROWS_WITH_GATES[3]
    assert (excused.verdict, excused.answer) == ("invalid", "valid")
    assert worst_exit([row(0), excused]) == 0
    assert worst_exit(ROWS_WITH_GATES) == 1
    assert worst_exit([row(0, "unknown", gate=GateResult(valid=False, fail_on=("unknown",)))]) == 1
    assert worst_exit([row(0, "broke", gate=EXCUSED)]) == 255


def test_thresholds_that_do_not_hold_come_first() -> None:
    made = view(PLAN, ROWS_WITH_GATES)
    assert made.sentence.startswith("3 of 5 thresholds held, 1 broken, 1 not measured. 4 runs: ")
    assert made.sentence.endswith(" 1 run with findings that are allowed or not in fail-on.")
    assert [(one.text, one.word, one.run) for one in made.unmet] == [
        ("p99(send)<200ms", "FAIL", JOBS[1].id),
        ("rto(random-stop)<=1s", "UNKNOWN", JOBS[2].id),
    ]
    text = page(made)
    assert text.index('id="thresholds"') < text.index('id="runs"')
    lines = summary(made).splitlines()
    assert lines.index("| `p99(send)<200ms` | FAIL | leader-kill.y.1 | 350 ms |") < lines.index(
        next(line for line in lines if line.startswith("| run |"))
    )


def test_without_thresholds_nothing_is_said_of_them() -> None:
    made = view(PLAN, ROWS)
    assert "threshold" not in made.sentence + summary(made) + page(made)
    assert view(PLAN, [row(0, thresholds=(HELD,))]).sentence.endswith(" 1 of 1 threshold held.")


def test_every_threshold_is_a_case_of_junit() -> None:
    suite = ET.fromstring(junit(PLAN, ROWS_WITH_GATES))  # noqa: S314 - our own
    assert {case.get("name"): [child.tag for child in case] for case in suite} == {
        "leader-kill.x.1": [],
        "leader-kill.x.1: threshold lost==0": ["system-out"],
        "leader-kill.y.1": ["failure"],
        "leader-kill.y.1: threshold lost==0": ["system-out"],
        "leader-kill.y.1: threshold p99(send)<200ms": ["failure"],
        "random-loss.x.1": ["error"],
        "random-loss.x.1: threshold lost==0": ["system-out"],
        "random-loss.x.1: threshold rto(random-stop)<=1s": ["error"],
        "random-loss.y.1": ["system-out"],
    }
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("9", "2", "2")


@pytest.mark.parametrize(
    ("gate", "verdict"), [(EXCUSED, "invalid"), (GateResult(valid=False), "invalid"), (None, "invalid")]
)
def test_a_row_keeps_the_verdict_whatever_the_exit_code_was(gate: Any, verdict: str, tmp_path: Path) -> None:
    run = synthetic.write(tmp_path / "runs" / "g" / "0", "invalid", points=10)
    results = msgspec.structs.replace(synthetic.results("invalid"), gate=gate, thresholds=(HELD, BROKEN))
    write_checked(run / "results.json", msgspec.json.encode(results))
    attempt = Attempt(exit=exit_code(results.answer), folder=run, began="", took_s=1.0, said="")
    made = row_of(Job(JOBS[0], Config()), attempt, (), tmp_path)
    assert (made.verdict, made.thresholds, made.gate) == (verdict, (HELD, BROKEN), gate)
    assert worst_exit([made]) == attempt.exit
    assert msgspec.json.decode(msgspec.json.encode(made), type=CellRow) == made


MATRIX = """\
name: m
base: {system: minimq, thresholds: [lost==0]}
axes:
  nemesis: [noop]
  load: [{name: slow, thresholds: ["p99(send)<1s"]}, {name: plain}]
"""


def test_an_axis_wins_over_the_base_and_the_command_line_over_both() -> None:
    matrix = matrix_of(parse(MATRIX, "m.yaml"))
    jobs = jobs_of(matrix)
    assert [job.config.values["thresholds"] for job in jobs] == [("p99(send)<1s",), ("lost==0",)]
    asked = jobs_of(with_gates(matrix, {"thresholds": ("lost<=1",), "fail_on": None}))
    assert [job.config.values["thresholds"] for job in asked] == [("lost<=1",)] * 2
    assert "fail_on" not in asked[0].config.values


def test_what_is_wanted_of_a_run_makes_no_other_run_of_it() -> None:
    matrix = matrix_of(parse(MATRIX, "m.yaml"))
    more = with_gates(matrix, {"thresholds": ("lost<=1",), "fail_on": ("unknown",)})
    before, after = ([job.planned.fingerprint for job in jobs_of(one)] for one in (matrix, more))
    assert before == after
    other = matrix_of(parse(MATRIX.replace("minimq,", "minimq, rate: 7,"), "m.yaml"))
    assert [job.planned.fingerprint for job in jobs_of(other)] != before


def test_the_page_fits_and_is_quiet(open_page: Any, tmp_path: Path) -> None:
    (tmp_path / "matrix.json").write_bytes(msgspec.json.encode(PLAN))
    for one in ROWS_WITH_GATES:
        append_row(tmp_path, one)
    write_pages(tmp_path)
    shown = open_page(tmp_path / "index.html")
    assert shown.locator("section[aria-labelledby=thresholds] td.v").all_text_contents() == ["FAIL", "UNKNOWN"]
    assert shown.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
