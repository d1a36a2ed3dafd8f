"""A run that is being recorded, followed through the server from its files alone."""

import http.client
import json
import os
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from log_ops import placed, sending
from stored_runs import write

from chaos.cli.live.json_lines import object_of
from chaos.cli.live.news import Board
from chaos.core.clock import Deadline
from chaos.core.op import Type
from chaos.models.log.model import LOG
from chaos.options.resolve import experiment_of
from chaos.run import phases_of_a_run
from chaos.run.watching import Beat, Quiet
from chaos.serve.follower import Follower
from chaos.serve.following import Following
from chaos.serve.server import Server
from chaos.serve.tail import EventTail, StreamTail
from chaos.storage.recorder import OP_SIZE, Recorder
from chaos.storage.runinfo import read_run
from chaos.testing import run
from cluster.simulation.backend import SimBackend

pytestmark = pytest.mark.broad


def told(event: Any) -> dict[str, Any] | None:
    return object_of("event", event, Board())


def objects(port: int, store: Path) -> Iterator[dict[str, Any]]:
    """What the server tells of the first run that appears, until it is over."""
    deadline = Deadline("a run", 120)
    while not (found := list(store.glob("*/*/run.json"))):
        deadline.check()
        threading.Event().wait(0.05)
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    link.request("GET", f"/{found[0].parent.relative_to(store).as_posix()}/live.events")
    answer = link.getresponse()
    assert answer.getheader("Content-Type") == "text/event-stream; charset=utf-8"
    while line := answer.readline():
        if line.strip():
            yield json.loads(line.removeprefix(b"data: "))
    link.close()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    """A server whose store has no run yet."""
    store = tmp_path / "store"
    store.mkdir()
    server = Server(store, "127.0.0.1", 0, told)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server, store
    server.shutdown()
    thread.join()
    server.close()


def test_a_run_is_followed_from_its_beginning_to_its_verdict(empty: tuple[Server, Path]) -> None:
    server, store = empty
    heard: queue.SimpleQueue[list[dict[str, Any]]] = queue.SimpleQueue()
    follow = threading.Thread(target=lambda: heard.put(list(objects(server.server_port, store))))
    follow.start()
    outcome = run(store, nemesis="random-kill", time_limit_s=1.5)
    follow.join(timeout=120)
    found = heard.get(timeout=1)
    kinds = [one["type"] for one in found]
    assert kinds[0] == "load"
    assert kinds[-1] == "end"
    opening = next(one for one in found if one["type"] == "load" and one["nodes"])
    assert opening["nodes"] == ["f1", "f2", "f3"]
    assert opening["faults"]
    stages = [one["stage"] for one in found if one["type"] == "fault" and one["id"] == 1]
    assert stages == ["inject", "active", "heal", "healed"]
    phases = [one["phase"] for one in found if one["type"] == "phase" and one["edge"] == "start"]
    assert phases.index("load") < phases.index("heal")
    began = next(one for one in found if one["type"] == "phase" and one["phase"] == "load")
    assert abs(began["t"]) < 1
    assert [one["t"] for one in found if one["type"] == "phase" and one["phase"] == "deploy"] == [None, None]
    beats = [one for one in found if one["type"] == "beat"]
    assert len(beats) > 2
    assert beats[0]["status"] in ("planned", "running")
    counts = outcome.results.counts
    assert beats[-1]["changes"]["ok"] == counts["write ok"] + counts["cas ok"]
    assert beats[-1]["in_flight"] == 0
    end = found[-1]
    assert (end["valid"], end["sentence"], end["report"]) == (outcome.results.valid, outcome.results.sentence, True)


def test_a_record_that_is_being_stored_is_not_given_yet(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, 0, ("b1",), LOG)
    for number in range(5):
        op = sending((1, number), process=number, client=1, deadline_ns=9)
        recorder.complete(recorder.invoke(op, 5, pinned=False)[0], op, placed(number, node="b1"))
    recorder.close()
    path, size = tmp_path / "w0.ops", OP_SIZE
    whole = path.read_bytes()
    path.write_bytes(whole[: 3 * size] + whole[3 * size : 3 * size + 40] + bytes(10 * size))
    tail = StreamTail(path)
    assert [len(part) for part, _ in tail.new()] == [3]
    assert [len(part) for part, _ in tail.new()] == []
    path.write_bytes(whole + bytes(4 * size))
    assert sum(len(part) for part, _ in tail.new()) == len(whole) // size - 3
    assert list(tail.new()) == []


def test_refusals_by_design_are_counted_apart_as_in_the_verdict(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, 0, ("b1",), LOG)
    path, tail = tmp_path / "w0.ops", StreamTail(tmp_path / "w0.ops", ("rejected: not-master",))
    seen: list[bool] = []
    for client, kind, error in (
        (1, Type.FAIL, "rejected: not-master"),  # follows the route
        (2, Type.FAIL, "rejected: not-master, b2 is"),
        (2, Type.INFO, "rejected: not-master"),
        (2, Type.FAIL, "connect: refused"),
        (2, Type.FAIL, "rejected: not-master"),
        (2, Type.OK, None),
    ):
        op = sending((1, client), process=client, client=client, deadline_ns=9)
        number = recorder.invoke(op, 5, pinned=client == 2)[0]
        recorder.complete(number, op, placed(0, kind, node="b1", error=error))
        for part, refused in tail.new():  # the file is mapped: what is stored can be read
            seen += refused[part["type"] != Type.INVOKE].tolist()
    recorder.close()
    assert seen == [False, True, False, False, True, False]
    (both,) = StreamTail(path, ("rejected: not-master",)).new()
    following = Following(read_run(write(tmp_path / "run")), told)
    before = following.beat(0)["changes"]
    following.take_records(*both)
    assert before == {}
    assert following.beat(0)["changes"] == {"ok": 1, "fail": 2, "info": 1, "refused": 2}


class Beats(Quiet):
    """Keeps what a console would be told once a second."""

    def __init__(self) -> None:
        self.heard: list[Beat] = []

    def beat(self, beat: Beat) -> None:
        self.heard.append(beat)


def test_console_live_page_and_verdict_count_the_same_refusals(tmp_path: Path) -> None:
    asked = {"system": "minimq", "backend": "sim", "nemesis": "leader-partition", "seed": 1, "time_limit_s": 30.0}
    experiment, console = experiment_of({**asked, "store": str(tmp_path), "reports": ()}), Beats()
    folder, results, _ = phases_of_a_run.run(experiment, SimBackend(), ("chaos", "run"), console)
    assert results is not None
    by_design = sum(one.count for one in results.errors if one.by_design)
    assert by_design > 100
    *_, beat = Follower(folder, told).step()
    assert beat["changes"].get("refused", 0) + beat["rest"].get("refused", 0) == by_design
    totals = console.heard[-1].totals
    said = totals.changes.get("refused", 0) + totals.rest.get("refused", 0)
    assert by_design * 0.8 < said <= by_design, "the last second is not told any more"


def test_a_line_that_is_being_written_is_not_given_yet(tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    path = folder / "history" / "run.events"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:20])
    tail = EventTail(path)
    assert len(list(tail.new())) == 2
    path.write_bytes(b"".join(lines[:3]) + b"{nonsense\n" + b"".join(lines[3:]))
    assert len(list(tail.new())) == len(lines) - 2
    assert list(tail.new()) == []


def test_a_run_is_over_only_when_its_page_is_there_or_does_not_come(tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    assert [one["type"] for one in Follower(folder, told).step()][-1] == "beat", "its page may be being written"
    os.utime(folder / "run.json", (1_000_000_000, 1_000_000_000))
    for path in (folder / "history").iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))
    *_, end = Follower(folder, told).step()
    assert (end["type"], end["verdict"], end["report"]) == ("end", "PASS", False)
    (folder / "report.html").write_text("")
    os.utime(folder / "run.json")
    *_, end = Follower(folder, told).step()
    assert (end["type"], end["report"]) == ("end", True)


def test_a_run_that_was_killed_says_how_long_nothing_was_written(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", "crashed", status="running")
    for path in (folder / "run.json", *(folder / "history").iterdir()):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    *_, beat = Follower(folder, told).step()
    assert beat["type"] == "beat"
    assert beat["quiet_s"] > 1_000_000
    assert beat["leaders"][0] == {"subject": "brokers", "kind": "replica", "leader": "b2", "epoch": 2}
