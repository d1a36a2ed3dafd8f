"""The terminal's last lines."""

import re
from pathlib import Path

import msgspec
import pytest
import synthetic

from chaos.core.verdict import FaultResult
from reports.folder import read_parts
from reports.page.build import report_data
from reports.summary.terminal import MAX_FAULTS, lines, summary
from reports.summary.text_style import TextStyle

GOLDEN = """\

FAIL  rocketmq 5.5.0 · 1 namesrv, 3 controllers, 3 brokers · queue · NEMESIS
328 acknowledged messages were lost: b1, master of epoch 1, cut off by fault 1 (leader-partition) at 20.0 s,
went on acknowledging alone until 40.0 s; b2, master of epoch 2 from 22.6 s, gave offsets 1204-1531 of queue 2
again.

check                 verdict  examined                   found
no-loss               FAIL     27 600 acknowledged sends  328 acknowledged messages lost
offsets               FAIL     4 queues                   328 offsets given twice
rpo                   FAIL     3 faults                   per fault
assumptions           PASS     3 faults                   3 of 3 faults proven and healed, drain complete
linearizable-offsets  PASS     4 queues                   37 stale tails, allowed here
rto                   PASS     3 faults                   worst 2.9 s (fault 3)

#  fault                        from       to    RTO  lost  evidence
1  leader-partition           20.0 s   40.0 s  3.0 s   328  EVIDENCE
2  major-suspend@controller   60.0 s   80.0 s   none     0  EVIDENCE
3  random-loss               100.0 s  116.0 s  never     0  EVIDENCE
RTO of send: never recovered from fault 3; 3.0 s (fault 1); 1 fault without an outage; budget 10 s
RTO of poll: 3 faults without an outage; budget 10 s
steady throughput again: not after fault 3; at most 3.0 s after the heal (fault 1)
RPO: 328 acknowledged messages lost, of these 328 after fault 1
available 99.2 % of 120 seconds (any queue), queue 2 95.0 %; longest silence 5.1 s (queue 2, from 21.0 s)
end to end p50 31 ms, p99 210 ms, longest 913 ms
end to end under fault 1 p50 40 ms, p99 5.2 s, longest 5.4 s

run again   chaos run --system rocketmq --nemesis leader-partition,random-loss --seed 9133702
judge again chaos check FOLDER
exit code   1
report      FOLDER/report.html"""
EVIDENCE = "12 of 12 links across the cut dropped all 20 probes, 18 of 18 inside passed"


def test_golden(folders: dict[str, Path]) -> None:
    said = summary(folders["invalid"]).replace(str(folders["invalid"]), "FOLDER")
    said = said.replace(synthetic.run_info("invalid").nemesis, "NEMESIS").replace(EVIDENCE, "EVIDENCE")
    assert said == GOLDEN


@pytest.mark.parametrize("width", [40, 60, 80, 110, 200])
def test_a_terminal_is_as_wide_as_it_says(folders: dict[str, Path], width: int) -> None:
    style = TextStyle(width=width, fits=True)
    for kind in ("valid", "invalid", "unknown"):
        data = report_data(read_parts(folders[kind]))
        commands = {f"{what:<11} {line}" for what, line in data.commands}
        said = [line for line in lines(data, style) if line not in commands]
        too_long = [line for line in said if len(line) > max(width, 80)]
        assert too_long == [], "below 80 columns some numbers do not fit"
        assert max(map(len, said)) > min(width, 110) - 15, "the width is used"


def test_behind_a_pipe_nothing_is_cut(folders: dict[str, Path]) -> None:
    said = summary(folders["invalid"], style=TextStyle(width=40))
    assert "…" not in said
    assert "dropped all 20 probes, 18 of 18 inside passed" in said
    narrow = summary(folders["invalid"], style=TextStyle(width=80, fits=True))
    assert "…" in narrow


def test_colours_say_what_the_words_say(folders: dict[str, Path]) -> None:
    said = summary(folders["invalid"], style=TextStyle(colour=True))
    assert "\x1b[1;31mFAIL\x1b[0m  rocketmq" in said
    assert "no-loss               \x1b[1;31mFAIL\x1b[0m     27 600 acknowledged" in said
    assert "assumptions           \x1b[1;32mPASS\x1b[0m     3 faults " in said
    assert "\x1b[1;31m328\x1b[0m  12 of 12" in said
    assert re.sub(r"\x1b\[[0-9;]*m", "", said) == summary(folders["invalid"])
    assert "\x1b[1;33mUNKNOWN\x1b[0m" in summary(folders["unknown"], style=TextStyle(colour=True))


def test_the_reason_of_an_unknown_comes_before_the_checks(folders: dict[str, Path]) -> None:
    said = summary(folders["unknown"])
    assert said.index("UNKNOWN: fault 3 (random-loss) is unproven") < said.index("\ncheck ")


def test_a_run_that_broke_says_so_and_what_helps(folders: dict[str, Path]) -> None:
    said = summary(folders["crashed"])
    assert "BROKE" in said
    assert "the observer ended with exit code 1 <b>at 31 s</b>" in said
    assert "chaos check" in said
    assert "healing not recorded; 12 of 12" in said


def test_without_a_page_no_path(tmp_path: Path) -> None:
    assert "report.html" not in summary(synthetic.write(tmp_path / "run", "valid"))


def test_many_faults_are_cut_and_counted(folders: dict[str, Path]) -> None:
    parts = read_parts(folders["valid"])
    first: FaultResult = synthetic.fault_results("valid")[0]
    faults = tuple(msgspec.structs.replace(first, id=number) for number in range(1, 31))
    assert parts.results is not None
    results = msgspec.structs.replace(parts.results, faults=faults)
    said = lines(report_data(msgspec.structs.replace(parts, results=results)))
    assert f"showing {MAX_FAULTS} of 30 faults" in said
    assert sum("leader-partition" in line and "12 of 12" in line for line in said) == MAX_FAULTS


@pytest.mark.parametrize("kind", synthetic.KINDS)
def test_no_line_ends_in_blanks_and_no_colour_codes(folders: dict[str, Path], kind: str) -> None:
    said = summary(folders[kind])
    assert all(line == line.rstrip() for line in said.split("\n"))
    assert "\x1b" not in said
