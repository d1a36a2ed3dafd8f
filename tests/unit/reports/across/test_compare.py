"""Runs beside each other: what is said to differ, what is not, and how it looks on a terminal and as a page."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import synthetic
from click.testing import CliRunner, Result

from chaos.cli.main import cli
from chaos.core.verdict import Rto
from chaos.storage.runinfo import RunInfo, read_run, write_run
from reports.across.compare import Comparison, Row, compare
from reports.across.compare_page import page
from reports.across.compare_text import lines
from reports.across.figures import Figures, figures_of, read_figures
from reports.across.settings import changed_settings
from reports.summary.text_style import TextStyle


def chaos(*argv: str) -> Result:
    return CliRunner().invoke(cli, list(argv), standalone_mode=False)


def run_of(**changes: Any) -> RunInfo:
    return msgspec.structs.replace(synthetic.run_info("valid"), **changes)


def with_outages(seconds: list[float | None]) -> Figures:
    """A run with a fault for each of these recoveries of sends."""
    results = synthetic.results("valid")
    first = results.faults[0]
    faults = tuple(
        msgspec.structs.replace(first, id=number, lost=0, rto=(Rto(f="send", seconds=one, resolution_s=0.2),))
        for number, one in enumerate(seconds, 1)
    )
    return figures_of(run_of(), msgspec.structs.replace(results, faults=faults))


def row(made: Comparison, name: str) -> Row:
    return next(row for section in made.sections for row in section.rows if row.name == name)


def test_longer_outages_beyond_their_spread_are_called_longer_and_less_available() -> None:
    made = compare([with_outages([1.0, 1.2, 1.4, 1.6, 1.8]), with_outages([5.0, 5.2, 5.4, 5.6, 5.8])], ["a", "b"])
    assert row(made, "send RTO, median").against[0].word == "higher"
    assert row(made, "available").against[0].word == "lower"
    assert "send RTO higher in B (1.4 s → 5.4 s)" in " ".join(made.sentences)


def test_runs_of_other_systems_are_said_to_test_other_things_and_few_settings_are_named() -> None:
    one, other = run_of(), run_of(system="etcd", workload="register", settings={f"s{n}": n for n in range(20)})
    made = compare([figures_of(run, synthetic.results("valid")) for run in (one, other)], ["a", "b"])
    told = " ".join(made.sentences)
    version = one.system_version
    assert (
        f"different things: systems A {one.system} {version}, B etcd {version}; workloads A queue, B register." in told
    )
    assert " more, listed below." in told
    assert "settings.s19" not in told
    assert {changed.name for changed in made.settings} >= {"settings.s0", "settings.s19"}
    assert "different things" not in " ".join(compare([figures_of(one, None)] * 2, ["a", "b"]).sentences)


def test_a_difference_that_the_faults_spread_explains_is_not_called_one() -> None:
    made = compare([with_outages([1.0, 5.0, 2.0, 9.0, 1.5]), with_outages([2.0, 6.0, 3.0, 8.0, 1.0])], ["a", "b"])
    median = row(made, "send RTO, median")
    assert not median.differs
    assert median.against[0].why == "within the spread of 5 and 5 faults"
    assert any(said.startswith("No clear difference beyond the runs' own spread: send RTO") for said in made.sentences)


def test_three_faults_are_too_few_and_that_is_said() -> None:
    made = compare([with_outages([1.0, 1.0, 1.0]), with_outages([60.0, 60.0, None])], ["a", "b"])
    assert row(made, "send RTO, median").against[0].word == "too few"
    assert any(said.startswith("Too few values to compare: send RTO") for said in made.sentences)
    assert "too few to tell: 3 and 3 faults; 5 each are enough" in "\n".join(lines(made))


def test_verdicts_and_counts_differ_as_facts(folders: dict[str, Path]) -> None:
    made = compare([read_figures(folders[kind]) for kind in ("valid", "invalid", "crashed")], ["a", "b", "c"])
    assert made.sentences[0] == "A is PASS, B is FAIL, C is crashed."
    assert "Other verdicts or counts: no-loss, offsets, rpo, lost-write, " in made.sentences[1]
    assert row(made, "no-loss").values == (True, False, None)
    assert row(made, "lost-write").values == (0, 328, None)
    assert row(made, "acknowledged and lost").values == (0, 328, None)
    assert row(made, "end to end, healthy, p50").values[0] == 31.0
    assert not row(made, "end to end, healthy, p50").differs, "one figure has no spread, so nothing is said of it"


def test_only_settings_that_differ_are_told() -> None:
    first = run_of(machine={"cores": 2, "revision": "aaa"})
    other = run_of(rate=500.0, seed=3, settings={"broker.x": "1"}, machine={"cores": 4, "revision": "bbb"})
    told = {one.name: one.values for one in changed_settings([first, other])}
    assert told["rate"] == ("400", "500")
    assert told["settings.broker.x"] == ("—", "1")
    assert told["machine.cores"] == ("2", "4")
    assert {"seed", "nemesis", "machine.revision"} & set(told) == set(), "told of the run itself, or the same"
    assert changed_settings([first, first]) == ()


def test_every_line_fits_a_terminal_and_colours_only_where_wanted(folders: dict[str, Path]) -> None:
    made = compare([read_figures(folders[kind]) for kind in ("valid", "invalid")], ["a", "b"])
    narrow = lines(made, TextStyle(width=80, fits=True))
    assert max(map(len, narrow)) <= 80
    assert "\x1b" not in "\n".join(narrow)
    assert "\x1b[1;31mFAIL\x1b[0m" in "\n".join(lines(made, TextStyle(colour=True)))


def test_the_page_is_inert_and_links_to_the_runs(folders: dict[str, Path]) -> None:
    runs = [read_figures(folders[kind]) for kind in ("valid", "invalid")]
    hostile = msgspec.structs.replace(
        runs[1], run=run_of(settings={"broker.note": "<img src=x onerror=alert(1)>"}), sentence="<b>lost</b>"
    )
    text = page(compare([runs[0], hostile], ["a", "b"]), ["valid/report.html", ""])
    assert "<img" not in text
    assert "&lt;b&gt;lost" in text
    assert "<script" not in text
    assert 'href="valid/report.html"' in text
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two runs of different settings."""
    for number, (kind, rate) in enumerate((("valid", 400.0), ("invalid", 500.0))):
        folder = synthetic.write(tmp_path / "store" / "g" / f"20261122T07000{number}Z-000{number}", kind, points=60)
        write_run(folder, msgspec.structs.replace(read_run(folder), id=folder.name, rate=rate))
    return tmp_path / "store"


def test_the_command_prints_a_table_json_and_a_page(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "compared.html"
    done = chaos("compare", "-2", "-1", "--store", str(store), "--html", str(out))
    assert done.return_value == 0, done.exception
    assert "A is PASS, B is FAIL." in done.output
    assert "1 setting differs: rate." in done.output
    assert done.output.endswith(f"page  {out}\n")
    assert out.read_text().startswith("<!doctype html>")
    told = json.loads(chaos("compare", "-2", "-1", "--store", str(store), "--json").output)
    assert [run["valid"] for run in told["runs"]] == [True, False]
    assert told["settings"] == [{"name": "rate", "values": ["400", "500"]}]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["-1"], "RUN: 1 given; give 2 to 8 runs"),
        (["-1", "latest-not"], "latest-not: no such run folder"),
        (["-1", "-1"], "RUN -1: it is given twice"),
        (["-1", "-2", "--html", "no/such/file.html"], "--html no/such/file.html: No such file or directory"),
        (["-1"] * 9, "RUN: 9 given; give 2 to 8 runs"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(store: Path, argv: list[str], says: str) -> None:
    done = chaos("compare", *argv, "--store", str(store))
    assert says in str(done.exception)
    assert "\n" not in str(done.exception)
