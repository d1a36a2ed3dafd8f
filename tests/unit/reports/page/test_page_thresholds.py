"""The thresholds of a run on its page: before the checks, those that do not hold first, whole on a phone."""

from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest
import synthetic
from pages import NARROW, WIDE, broken_words

from chaos.core.gate import Allowed, Gates
from chaos.gate.judge import with_gate
from chaos.storage.manifest import write_checked
from chaos.storage.runinfo import read_run
from reports import reporter
from reports.summary.terminal import summary

GATES = Gates(
    thresholds=(
        "failovers>=1",
        "availability>=99.99%",
        "rto(random-stop)<=1s",
        "anomalies(nonlinearizable-offset)==0",
        "throughput(<b>)>=1/s",
    ),
    allow=(Allowed(anomaly="lost-write", system="rocketmq", reason="<i>known</i>"),),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = synthetic.write(tmp_path / "run", "invalid", points=50)
    results = with_gate(synthetic.results("invalid"), read_run(made), GATES, date(2026, 11, 23))
    write_checked(made / "results.json", msgspec.json.encode(results))
    reporter.write(made, ["html", "junit", "summary"])
    return made


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
def test_thresholds_come_first_and_fit(open_page: Any, folder: Path, size: Any) -> None:
    page = open_page(folder / "report.html", size=size)
    rows = page.locator("section[aria-labelledby=thresholds] tr:has(td)")
    words = [text.strip() for text in rows.locator("td.v").all_text_contents()]
    assert words == sorted(words, key=("FAIL", "UNKNOWN", "PASS").index)
    assert words.count("UNKNOWN") >= 2
    assert page.locator(".lede").text_content().startswith("Broken threshold")
    assert page.evaluate("document.querySelector('#thresholds').getBoundingClientRect().top") < page.evaluate(
        "document.querySelector('#verdict').getBoundingClientRect().top"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert broken_words(page) == []
    cut = page.evaluate(
        "() => [...document.querySelectorAll('section[aria-labelledby=thresholds] .scroll')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert cut == 0


def test_the_terminal_has_them_before_the_checks(folder: Path) -> None:
    lines = summary(folder).splitlines()
    heads = [line.split()[0] for line in lines if line.startswith(("threshold  ", "check  "))]
    assert heads == ["threshold", "check"]
    assert lines[2].startswith("Broken threshold")
