"""Thresholds and allowed findings of stored runs and of other tools' files, from the command line to every output."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from repository import ROOT

from chaos.cli import main
from chaos.core.gate import Allowed, Gates
from chaos.storage.runinfo import read_run, write_run
from chaos.testing.history_files import load_history, write_run_folder

JEPSEN = """\
{:index 0, :type :invoke, :process 0, :f :add, :value 1, :time 0}
{:index 1, :type :ok, :process 0, :f :add, :value 1, :time 500000000}
{:index 2, :type :invoke, :process 1, :f :read, :value nil, :time 600000000}
{:index 3, :type :ok, :process 1, :f :read, :value #{1}, :time 700000000}
"""


@pytest.fixture
def chaos(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def call(*argv: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["chaos", *argv])
        code = main.run()
        said = capsys.readouterr()
        assert not said.err, said.err
        return code, said.out

    return call


def stored(tmp_path: Path, name: str, gates: Gates) -> Path:
    folder = tmp_path / "run"
    write_run_folder(load_history(ROOT / "tests" / "histories" / f"{name}.yaml"), folder)
    write_run(folder, msgspec.structs.replace(read_run(folder), gates=gates))
    return folder


SLOW = "rto-over-the-budget"
FINE = "gaps-are-legal"


def cases(path: Path) -> dict[str, str]:
    """The name of each case, and the tag of what is inside."""
    root = ET.fromstring(path.read_text())  # noqa: S314 - our own
    return {case.attrib["name"]: next((inner.tag for inner in case), "") for case in root.iter("testcase")}


def test_a_stored_run_tells_the_same_whoever_asks(tmp_path, chaos):
    folder = stored(tmp_path, FINE, Gates(thresholds=("errors(send)<0%", "lost==0")))
    code, said = chaos("check", str(folder))
    results = json.loads((folder / "results.json").read_text())
    assert (code, results["valid"]) == (1, False)
    assert results["sentence"].startswith("Broken threshold: errors(send)<0% (measured 0 %")
    lines = [line for line in said.splitlines() if line]
    assert lines[0].startswith("FAIL")
    assert lines[1].startswith("Broken threshold: errors(send)<0% (measured 0 %")
    assert lines.index(next(line for line in lines if line.startswith("threshold "))) < lines.index(
        next(line for line in lines if line.startswith("check "))
    )
    page = (folder / "report.html").read_text()
    assert (
        page.index("Broken threshold: errors(send)&lt;0%") < page.index('id="thresholds"') < page.index('id="verdict"')
    )
    assert chaos("report", str(folder), "--as", "html", "--as", "junit", "--as", "summary")[0] == 0
    assert (folder / "report.html").read_text() == page
    assert cases(folder / "junit.xml")["threshold errors(send)<0%"] == "failure"
    summary = (folder / "summary.md").read_text()
    assert (
        summary.index("Broken threshold") < summary.index("| `errors(send)<0%` | FAIL |") < summary.index("| check |")
    )
    assert chaos("check", str(folder))[0] == 1


def test_others_are_judged_in_their_place_and_kept_until_the_next_check(tmp_path, chaos):
    folder = stored(tmp_path, FINE, Gates(thresholds=("errors(send)<0%",)))
    assert chaos("check", str(folder), "--threshold", "lost==0")[0] == 0
    assert [one["text"] for one in json.loads((folder / "results.json").read_text())["thresholds"]] == ["lost==0"]
    assert chaos("check", str(folder))[0] == 1


def test_one_that_was_not_measured_is_unknown_with_its_reason(tmp_path, chaos):
    folder = stored(tmp_path, FINE, Gates())
    code, said = chaos("check", str(folder), "--threshold", "rto(random-stop)<=1s")
    assert code == 2
    assert "Threshold not measured: rto(random-stop)<=1s (no random-stop was injected)." in " ".join(said.split())
    assert chaos("check", str(folder), "--threshold", "rto(random-stop)<=1s", "--fail-on", "unknown")[0] == 1


def test_a_budget_is_told_as_the_threshold_that_it_is(tmp_path, chaos):
    folder = stored(tmp_path, SLOW, Gates())
    code, _ = chaos("check", str(folder))
    found = json.loads((folder / "results.json").read_text())
    assert (code, found["thresholds"][0]["text"], found["thresholds"][0]["measured"]) == (1, "rto<=3s", "3.01 s")
    assert set(found["anomalies"]) >= {"rto-budget"}


def test_an_allowed_finding_passes_and_is_told_everywhere(tmp_path, chaos):
    allowed = Allowed(anomaly="rto-budget", system="minimq", reason="slow machine", until="2999-12-31")
    folder = stored(tmp_path, SLOW, Gates(allow=(allowed,)))
    system = read_run(folder).system
    write_run(
        folder,
        msgspec.structs.replace(
            read_run(folder), gates=Gates(allow=(msgspec.structs.replace(allowed, system=system),))
        ),
    )
    junit = tmp_path / "x.xml"
    code, said = chaos("check", str(folder), "--junit", str(junit))
    told = f"Allowed: rto-budget of {system} until 2999-12-31 (slow machine)."
    assert code == 0
    assert said.strip().startswith("FAIL")
    assert told in " ".join(said.split())
    assert cases(junit) == {**cases(junit), "threshold rto<=3s": "system-out", "rto": "system-out"}
    assert set(cases(junit).values()) <= {"", "system-out", "skipped"}
    assert told in (folder / "report.html").read_text()


def test_a_file_of_another_tool_has_thresholds_too(tmp_path, chaos):
    file, junit, summary = tmp_path / "h.edn", tmp_path / "x.xml", tmp_path / "x.md"
    file.write_text(JEPSEN)
    argv = [
        "check",
        str(file),
        "--format",
        "jepsen",
        "--model",
        "set",
        "--junit",
        str(junit),
        "--summary",
        str(summary),
    ]
    code, said = chaos(*argv, "--threshold", "lost==0", "--threshold", "max(add)<400ms", "--threshold", "rto(kill)<1s")
    assert code == 1
    lines = [line for line in said.splitlines() if line]
    assert lines[1].startswith("Broken threshold: max(add)<400ms (measured 500 ms)")
    assert cases(junit) == {
        "threshold lost==0": "system-out",
        "threshold max(add)<400ms": "failure",
        "threshold rto(kill)<1s": "error",
        "set": "",
    }
    assert "| `max(add)<400ms` | FAIL | 500 ms |" in summary.read_text()
    assert summary.read_text().startswith(f"# {file}: FAIL"), "of one file there is no table of all"
    assert chaos(*argv, "--threshold", "max(add)<=500ms")[0] == 0


def test_json_has_the_thresholds(tmp_path, chaos):
    folder = stored(tmp_path, FINE, Gates(thresholds=("lost==0",)))
    _, said = chaos("check", str(folder), "--json")
    assert json.loads(said)["thresholds"][0]["state"] == "held"


def test_a_path_that_cannot_be_judged_is_an_error_of_junit(tmp_path, monkeypatch, capsys):
    junit = tmp_path / "x.xml"
    monkeypatch.setattr(sys, "argv", ["chaos", "check", str(tmp_path / "none"), "--junit", str(junit)])
    assert main.run() == 254
    assert cases(junit) == {"check": "error"}
    assert "no such run folder" in capsys.readouterr().err


def test_the_summary_of_several_files_begins_with_a_table_of_all_the_worst_first(tmp_path, chaos):
    good, bad, summary = tmp_path / "a.edn", tmp_path / "b.edn", tmp_path / "x.md"
    good.write_text(JEPSEN)
    bad.write_text(JEPSEN.replace("#{1}", "#{}"))
    argv = ["--format", "jepsen", "--model", "set", "--summary", str(summary)]
    assert chaos("check", str(good), str(bad), *argv)[0] == 1
    lines = summary.read_text().splitlines()
    assert lines[0] == "# 2 histories: 1 FAIL, 1 PASS"
    assert lines[4].startswith(f"| FAIL | {bad} |")
    assert lines[5].startswith(f"| PASS | {good} |")
    assert [line for line in lines if line.startswith("# ")][1:] == [f"# {good}: PASS", f"# {bad}: FAIL"]
