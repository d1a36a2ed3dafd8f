"""What a terminal shows of a run, and that no terminal can hold a run up or break it."""

import io
import json
import os
import threading
from pathlib import Path

import msgspec
from leading import leads

from chaos.cli.live import json_lines
from chaos.cli.live.display import QUEUE_MAX, Clock, Display
from chaos.cli.live.news import BEAT_EVERY_S, Board, counts
from chaos.cli.live.picture import picture
from chaos.core.clock import NS_PER_S
from chaos.core.events import Evidence, Fault, Note, Phase
from chaos.core.verdict import Results
from chaos.run.watching import Beat, Opening, Totals
from nemesis.plan.plan import Row
from nemesis.targets.selectors import Selector

ROW = Row(row=1, at_s=10, duration_s=20, name="leader-kill", selector=Selector.LEADER, fault="kill", roles=("broker",))
OPENING = Opening(
    changes="sends",
    title="minimq, seed 7",
    nodes=("c1", "b1", "b2"),
    plan=(ROW,),
    origin_ns=5 * NS_PER_S,
    time_limit_s=60,
)
SEEN = Evidence(kind="proc", proven=True, summary="b1 pid 4 gone")


def beat(at_s: float, ok: int = 0, master: str = "b1", epoch: int = 1, silent: tuple[str, ...] = ()) -> Beat:
    return Beat(
        now_ns=int((5 + at_s) * NS_PER_S),
        totals=Totals(
            changes={"ok": ok, "fail": 2},
            rest={},
            in_flight=3,
            worst_lag_s=0.004,
            worst_ack_s=0.25,
            last_ack_ns=int((4 + at_s) * NS_PER_S),
            last_sent={},
            last_acked={},
        ),
        silent=silent,
        leads=leads(master, "c1", epoch=epoch),
    )


def fault(stage: str, evidence: Evidence | None = None, note: str = "") -> Fault:
    return Fault(
        time_ns=0,
        id=1,
        name="leader-kill",
        stage=stage,
        targets=("b1",),
        description="leader b1, killed",
        evidence=evidence,
        note=note,
    )


def test_a_fault_is_a_line_when_it_is_in_force_and_when_it_is_over() -> None:
    board = Board()
    unproven = Evidence(kind="proc", proven=False, summary="b1 lives")
    assert board.take_event(Phase(time_ns=0, name="load", edge="start")) == []
    assert board.take_event(fault("inject")) == []
    assert board.take_event(fault("active", SEEN)) == [
        "fault 1  leader-kill: in force: leader b1, killed; b1 pid 4 gone"
    ]
    assert board.take_event(fault("heal")) == []
    assert board.take_event(fault("healed", unproven)) == [
        "fault 1  leader-kill: healed, NOT PROVEN: leader b1, killed; b1 lives"
    ]
    assert board.take_event(fault("skipped", note="no leader")) == [
        "fault 1  leader-kill: skipped: leader b1, killed; no leader"
    ]
    assert (board.phase, board.faults) == ("load", {})


def test_there_is_a_line_every_half_minute_and_one_when_the_leader_changes() -> None:
    board = Board()
    board.opening = OPENING
    said = [board.take_beat(beat(second, ok=100 * second)) for second in range(61)]
    assert [second for second, lines in enumerate(said) if lines] == [BEAT_EVERY_S, 2 * BEAT_EVERY_S]
    (line,) = said[30]
    assert line.startswith("load     sends ok 3000 fail 2 unknown 0  100/s  slowest ack 250 ms  last 1.0 s ago  ")
    assert line.endswith("  lag 4 ms  leader b1 epoch 1")
    assert board.take_beat(beat(61, master="b2", epoch=2)) == ["leader   b2 of brokers epoch 2, was b1"]


def test_what_a_node_refuses_by_design_is_told_apart_from_failures() -> None:
    one = beat(1, ok=5)
    totals = msgspec.structs.replace(one.totals, changes={"ok": 5, "fail": 2, "refused": 7, "info": 1})
    assert counts("sends", msgspec.structs.replace(one, totals=totals)) == (
        "sends ok 5 fail 2 refused by design 7 unknown 1"
    )
    assert totals.begun == 5 + 2 + 7 + 1 + 3
    (told_,) = told(("beat", msgspec.structs.replace(one, totals=totals)))
    assert told_["changes"] == {"ok": 5, "fail": 2, "refused": 7, "info": 1}


def test_the_picture_shows_roles_the_fault_with_its_countdown_and_rates() -> None:
    from rich.console import Console

    def drawn() -> str:
        out = io.StringIO()
        Console(file=out, width=110, force_terminal=True, color_system=None).print(picture(board))
        return out.getvalue()

    board = Board()
    board.opening = OPENING
    board.take_beat(beat(4))
    assert "next: leader-kill in 6 s" in drawn()
    board.take_event(Phase(time_ns=0, name="load", edge="start"))
    board.take_event(fault("active", SEEN))
    board.take_beat(beat(14, ok=500, silent=("b2",)))
    text = drawn()
    for words in (
        "minimq, seed 7",
        "c1 ACTIVE   b1 LEADER 1   b2 silent",
        "fault 1 leader-kill: leader b1, killed  16 s left",
        "sends ok 500 fail 2 unknown 0",
        "50/s █",
        "in flight 3",
        "load 14 / 60 s",
    ):
        assert words in text


def test_lines_come_out_in_order_and_before_the_end() -> None:
    out = io.StringIO()
    display = Display(out, "plain")
    display.say("one")
    display.opening(OPENING)
    display.event(fault("active", SEEN))
    display.say("two")
    display.close()
    assert [line.split("] ")[1][:7] for line in out.getvalue().splitlines()] == ["one", "fault 1", "two"]


class Ticking:
    """An instant that a test moves, in seconds."""

    def __init__(self) -> None:
        self.at_s = 0.0

    def __call__(self) -> int:
        return int(self.at_s * NS_PER_S)


def test_the_clock_is_the_loads_once_it_has_begun_and_an_event_has_its_own_time() -> None:
    out, now = io.StringIO(), Ticking()
    display = Display(out, "plain", Clock(now))
    now.at_s = 3.14
    display.say("deploy   six nodes")
    now.at_s = 4.5
    display.opening(OPENING)  # whose load begins at 5 s
    display.say("load     200 sends/s")
    now.at_s = 17.0
    display.event(msgspec.structs.replace(fault("active", SEEN), time_ns=15 * NS_PER_S))
    display.say("drain    4 of 4 queues")
    display.close()
    assert out.getvalue().splitlines() == [
        "[setup   3.1] deploy   six nodes",
        "[        0.0] load     200 sends/s",
        "[       10.0] fault 1  leader-kill: in force: leader b1, killed; b1 pid 4 gone",
        "[       12.0] drain    4 of 4 queues",
    ]


def test_what_nobody_knows_is_not_printed() -> None:
    board = Board()
    board.opening = OPENING
    board.take_beat(beat(1))
    lines = board.take_beat(without_epochs(beat(2, master="b2")))
    assert lines == ["leader   b2 of brokers, was b1"]
    assert board.status_line().endswith("  lag 4 ms  leader b2")
    assert "b2 LEADER" in board.roles()
    alone = Board()
    alone.take_beat(without_epochs(beat(1)))
    nobody = msgspec.structs.replace(
        beat(2), leads={name: msgspec.structs.replace(lead, leader=None) for name, lead in beat(2).leads.items()}
    )
    alone.take_beat(nobody)
    assert alone.status_line().endswith("nobody leads")
    for said in (*lines, board.status_line(), board.roles(), alone.status_line()):
        assert "None" not in said
        assert "?" not in said


def without_epochs(one: Beat) -> Beat:
    leads = {name: msgspec.structs.replace(lead, epoch=None) for name, lead in one.leads.items()}
    return msgspec.structs.replace(one, leads=leads)


def told(*calls: tuple[str, object]) -> list[dict[str, object]]:
    """The objects that a display of JSON writes."""
    out, now = io.StringIO(), Ticking()
    display = Display(out, "json", Clock(now))
    for name, what in calls:
        getattr(display, name)(what)
    display.close()
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_programs_are_told_in_an_object_a_line() -> None:
    drain = Phase(time_ns=70 * NS_PER_S, name="drain", edge="start")
    note = Note(time_ns=9 * NS_PER_S, name="worker-ended", text="worker 1")
    first, load, phase, hit, before, beaten, noted, last = told(
        ("say", "deploy   six nodes"),
        ("opening", OPENING),
        ("event", msgspec.structs.replace(drain, name="load", time_ns=5 * NS_PER_S)),
        ("event", msgspec.structs.replace(fault("active", SEEN), time_ns=15 * NS_PER_S)),
        ("beat", beat(11, ok=300)),
        ("beat", beat(12, ok=500)),
        ("event", note),
        ("event", drain),
    )
    assert first == {"type": "line", "t": None, "elapsed": 0.0, "text": "deploy   six nodes"}
    assert (load["type"], load["t"], load["nodes"]) == ("load", 0.0, ["c1", "b1", "b2"])
    assert load["faults"] == [{"id": 1, "name": "leader-kill", "at": 10, "until": 30}]
    assert (phase["type"], phase["phase"], phase["edge"], phase["t"]) == ("phase", "load", "start", 0.0)
    assert (hit["type"], hit["stage"], hit["proven"], hit["t"]) == ("fault", "active", True, 10.0)
    assert (before["type"], before["ok_per_s"]) == ("beat", None)
    assert (beaten["phase"], beaten["changes"], beaten["ok_per_s"]) == ("load", {"ok": 500, "fail": 2}, 200.0)
    assert beaten["leaders"][0] == {"subject": "brokers", "kind": "replica", "leader": "b1", "epoch": 1}
    assert (noted["type"], noted["text"], noted["t"]) == ("note", "worker 1", 4.0)
    assert (last["phase"], last["t"]) == ("drain", 65.0)


def test_the_last_object_is_the_verdict(tmp_path: Path) -> None:
    results = Results(valid=False, sentence="1 lost.", reason="", model="log", engine="local")
    assert json_lines.end(tmp_path, results, 1) == {
        "type": "end",
        "verdict": "FAIL",
        "valid": False,
        "exit_code": 1,
        "sentence": "1 lost.",
        "folder": str(tmp_path),
        "report": None,
    }
    (tmp_path / "report.html").write_text("")
    ended = json_lines.end(tmp_path, None, 255)
    assert (ended["verdict"], ended["report"]) == (None, str(tmp_path / "report.html"))


def test_the_picture_leaves_only_the_lines() -> None:
    out = io.StringIO()
    display = Display(out, "rich")
    display.opening(OPENING)
    display.beat(beat(1))
    display.say("a line [bold]as it is[/bold]")
    display.close()
    assert "a line [bold]as it is[/bold]\n" in out.getvalue()


class Broken(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.tried = 0

    def write(self, text: str) -> int:
        self.tried += 1
        raise BrokenPipeError


def test_a_terminal_that_is_gone_is_tried_once_and_breaks_nothing() -> None:
    for form in ("plain", "rich", "json"):
        gone = Broken()
        display = Display(gone, form)
        for number in range(50):
            display.say(f"line {number}")
            display.beat(beat(number))
        display.close()
        assert not display._thread.is_alive()
        assert 0 < gone.tried <= 8  # rich tries to hide and to show the cursor


def test_a_terminal_that_stands_still_holds_nobody_up() -> None:
    reader, writer = os.pipe()
    display = Display(os.fdopen(writer, "w"), "plain")
    told = threading.Event()
    lines = 3 * QUEUE_MAX

    def tell() -> None:
        for number in range(lines):
            display.say(f"{number} {'x' * 200}")
        told.set()

    threading.Thread(target=tell, daemon=True).start()
    assert told.wait(60), "the pipe takes 64 KiB and nobody reads it"
    assert display._queue.qsize() <= QUEUE_MAX
    closing = threading.Thread(target=display.close)
    closing.start()
    with os.fdopen(reader) as taken:
        shown, left_out = 0, 0
        while shown + left_out < lines:
            line = taken.readline()
            shown += "xxx" in line
            left_out += int(line[1:].split()[0]) if line.startswith("(") else 0
    closing.join(60)
    assert shown + left_out == lines
    assert left_out >= lines - QUEUE_MAX - 500
