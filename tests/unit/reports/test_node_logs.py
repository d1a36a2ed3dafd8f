"""Lines of nodes' logs: their times, whose clock those are, and which lines are shown."""

from pathlib import Path

import msgspec
import pytest
import synthetic

from chaos.core.clock import NS_PER_S
from chaos.core.events import CLOCK_SKEW, Note
from chaos.storage.runinfo import read_run, write_run
from reports import node_logs
from reports.folder import dating_of, read_parts
from reports.node_logs import LogFile, LogLine, lines_with_time, read_logs
from reports.page.logs import ALIKE, CONTEXT, LINES, Logs, logs_of

AT = 1795334400.0
"""2026-11-22T08:00:00Z"""
RUN = synthetic.run_info("valid")
BEGAN_S = 1795245300.0
"""2026-11-21T07:15:00Z, when its load began."""


@pytest.mark.parametrize(
    ("line", "at", "text"),
    [
        ("2026-11-22T08:00:00.250Z INFO Broker main - up", AT + 0.25, "INFO Broker main - up"),
        ("2026-11-22 08:00:00,250 WARN up", AT + 0.25, "WARN up"),
        ("[2026-11-22T10:00:00+02:00] up", AT, "up"),
        ("2026/11/22 08:00:00.250001 [INF] up", AT + 0.250001, "[INF] up"),
        ("2026-11-22T10:00:00.5+0200 up", AT + 0.5, "up"),
        ("2026/11/22-08:00:00.000001 139 RocksDB", AT + 1e-6, "139 RocksDB"),
        ('{"level":"warn","ts":"2026-11-22T08:00:00.722Z","msg":"slow","took":"3s"}', AT + 0.722, "warn slow took=3s"),
        ('{"ts":1795334400.5,"msg":"up"}', AT + 0.5, "up"),
    ],
)
def test_the_usual_ways_to_write_a_time_are_understood(line: str, at: float, text: str) -> None:
    (found,) = lines_with_time([line])
    assert (found.clock, found.text) == ("wall", text)
    assert found.time_s == pytest.approx(at, abs=1e-6)


def test_a_system_that_dates_lines_in_its_own_way_is_asked(tmp_path: Path) -> None:
    synthetic.write(tmp_path, "valid")
    run = msgspec.structs.replace(read_run(tmp_path), system="redis")
    write_run(tmp_path, run)
    (tmp_path / "nodes" / "b1" / "redis.log").write_text("13:M 22 Nov 2026 08:00:00.250 * up\n")
    lines = {file.path: file.lines for file in read_parts(tmp_path).logs}
    assert lines["nodes/b1/redis.log"] == (LogLine("wall", AT + 0.25, "up"),)


@pytest.mark.parametrize("system", ["minimq", "of-somebody-else"])
def test_lines_of_other_systems_are_taken_as_they_are(system: str) -> None:
    assert dating_of(system)("[13] 2026/11/22 up") == "[13] 2026/11/22 up"


def test_seconds_of_the_monotonic_clock_are_another_clock() -> None:
    assert list(lines_with_time(["26541.171 b1 master of epoch 1"])) == [
        LogLine("monotonic", 26541.171, "b1 master of epoch 1")
    ]


@pytest.mark.parametrize(
    "line",
    ["ready b1 broker", "{not json", '{"msg":"no time"}', "2026-13-41T99:00:00Z no date", '{"ts":"soon"}', "1 up"],
)
def test_a_line_without_a_time_is_none(line: str) -> None:
    assert list(lines_with_time([line])) == []


def test_what_is_in_a_line_is_plain_text_of_bounded_length() -> None:
    (found,) = lines_with_time([f"26541.171 a\x1b[31m\x07b{'x' * 1000}"])
    assert found.text.startswith("a [31m b")
    assert len(found.text) == node_logs.LONGEST


def test_logs_are_files_of_the_nodes_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "nodes" / "b1"
    (home / "logs").mkdir(parents=True)
    (home / "logs" / "stdout.log").write_text("ready\n1.500 one\n2.500 two\n")
    (home / "LOG").write_bytes(b"3.500 \xff\n")
    (home / "store.bin").write_text("4.500 no log\n")
    (home / "link.log").symlink_to("/etc/hostname")
    monkeypatch.setattr(node_logs, "MAX_BYTES", 20)
    whole, first = read_logs(tmp_path, ["b1", "b2"])
    assert (whole.node, whole.path, [line.time_s for line in whole.lines]) == ("b1", "nodes/b1/LOG", [3.5])
    assert ([line.text for line in first.lines], first.unstamped, first.cut) == (["one"], 1, True)


def file(node: str, *lines: tuple[float, str], clock: str = "wall", **more: object) -> LogFile:
    found = tuple(LogLine(clock, at, text) for at, text in lines)  # type: ignore[arg-type]
    return msgspec.structs.replace(LogFile(node=node, path=f"nodes/{node}/node.log", lines=found), **more)


def shown(made: Logs) -> list[tuple[float, str, str]]:
    return [(row.at, RUN.nodes[row.node].name, row.text) for row in made.rows]


def test_on_the_clock_of_the_control_host_times_are_the_runs() -> None:
    origin_s = synthetic.ORIGIN / NS_PER_S
    files = [file("b1", (BEGAN_S + 20.5, "cut off")), file("c1", (origin_s + 22.6, "elected"), clock="monotonic")]
    made = logs_of(files, RUN, [], [20.0], (-30.0, 100.0))
    assert shown(made) == [(20.5, "b1", "cut off"), (22.6, "c1", "elected")]
    assert made.said == ("Their hosts run on the clock of the run.",)


def test_a_known_offset_is_taken_off_and_an_unknown_one_is_said() -> None:
    run = msgspec.structs.replace(RUN, backend="ssh")
    skew = Note(time_ns=1, name=CLOCK_SKEW, node="b1", data={"ahead_ns": 2 * NS_PER_S, "error_ns": 1_000_000})
    files = [
        file("b1", (BEGAN_S + 12.0, "one")),
        file("b2", (BEGAN_S + 12.0, "two"), unstamped=3),
        file("c1", (synthetic.ORIGIN / NS_PER_S + 5, "of a clock that is nobody else's"), clock="monotonic"),
    ]
    made = logs_of(files, run, [skew], [], (-30.0, 100.0))
    assert shown(made) == [(10.0, "b1", "one"), (12.0, "b2", "two")]
    assert made.said == (
        "The clock of b1 was 2000.0 ms ± 1.0 ms ahead, which is taken off.",
        "Nobody compared the clock of b2 and c1 with the run's: times are as they were logged.",
        "3 lines without a time are in the files alone.",
    )
    assert made.of == 6


def test_warnings_near_to_what_happened_come_before_others() -> None:
    room = LINES // len(RUN.nodes)
    words = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")
    calm = [(BEGAN_S + 50 + i / 1000, f"{words[i % 10]} {words[i // 10 % 10]}") for i in range(room + 20)]
    warning = (BEGAN_S + 50.1, "WARN disk is slow")
    made = logs_of([file("b1", *calm, warning)], RUN, [], [50.0], (-30.0, 100.0))
    assert len(made.rows) == room
    assert shown(made)[-1] == (50.1, "b1", "WARN disk is slow")


def test_lines_that_differ_in_numbers_alone_are_few_and_those_outside_the_run_are_none() -> None:
    lines = [(BEGAN_S + 1.0 + i, f"closed channel {i}") for i in range(20)]
    made = logs_of([file("b1", *lines, (BEGAN_S + 9000.0, "later"))], RUN, [], [5.0], (-30.0, 100.0))
    assert [text for _, _, text in shown(made)] == [f"closed channel {i}" for i in (2, 3, 4, 5)][:ALIKE]


def test_a_run_without_logs_says_nothing_of_clocks() -> None:
    assert logs_of([], RUN, [], [], (0.0, 1.0)) == Logs()


def test_every_line_right_before_and_behind_a_moment_is_shown_whatever_it_says() -> None:
    lines = [(BEGAN_S + 10.0 + i, f"closed channel {i}") for i in range(80)]
    twice = (BEGAN_S + 50.2, "the same line")
    made = logs_of([file("b1", *lines, twice, twice)], RUN, [], [], (-30.0, 100.0), whole=[50.1])
    near = [at for at, _, _ in shown(made) if abs(at - 50.1) < CONTEXT]
    assert near == sorted([*(float(at) for at in range(31, 71)), 50.2, 50.2])[: len(near)]
    before = [row for row in made.rows if row.at < 50.1][-CONTEXT:]
    behind = [row for row in made.rows if row.at > 50.1][:CONTEXT]
    assert [row.at for row in before] == [float(at) for at in range(31, 51)]
    assert [row.text for row in behind[:2]] == ["the same line"] * 2
    assert [row.at for row in behind[2:]] == [float(at) for at in range(51, 69)]


def test_lines_beside_moments_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.page.logs.WHOLE", 50)
    lines = [(BEGAN_S + i / 10, f"closed channel {i}") for i in range(900)]
    made = logs_of([file("b1", *lines)], RUN, [], [], (-30.0, 100.0), whole=[10.0, 30.0, 50.0, 70.0])
    assert any(abs(row.at - 10.0) < 1 for row in made.rows)
    assert not any(abs(row.at - 70.0) < 1 for row in made.rows)
