"""The door of a cluster that is kept up by hand: what goes through it, and what becomes of bad questions."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos.cli.manual import show_until_it_serves
from chaos.core.errors import ChaosError, UsageError
from chaos.manual.control_socket import SOCKET, ControlSocket, Done, Line, NodeStatus, Question, answers_there, ask

NODES = (NodeStatus(node="b1", role="broker", address="198.18.0.2", state="running"),)


def answer(ask: Question, say: Callable[[str], None]) -> Done:
    if ask.verb == "status":
        return Done(nodes=NODES)
    if ask.verb == "inject":
        raise UsageError(f"no nemesis {ask.nemesis}")
    if ask.verb == "heal":
        raise ValueError("a defect")
    say("going")
    say("gone")
    return Done(code=2)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    deep = tmp_path / ("a-long-name-" * 9) / ("another-" * 9)  # a socket's path may have 107 bytes only
    deep.mkdir(parents=True)
    door = ControlSocket(deep, answer)
    door.serve()
    yield deep
    door.close()
    assert not answers_there(deep)
    assert not (deep / SOCKET).exists()


def test_lines_come_before_the_end_of_an_answer(folder: Path) -> None:
    assert answers_there(folder)
    assert list(ask(folder, Question(verb="down"), 20)) == [Line("going"), Line("gone"), Done(code=2)]
    assert list(ask(folder, Question(verb="status"), 20)) == [Done(nodes=NODES)]


def test_what_is_refused_and_what_breaks_ends_the_answer_and_not_the_door(folder: Path) -> None:
    refused = Done(code=254, error="no nemesis leader-kil")
    assert list(ask(folder, Question(verb="inject", nemesis="leader-kil"), 20)) == [refused]
    assert list(ask(folder, Question(verb="heal"), 20)) == [Done(code=255, error="ValueError: a defect")]
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    with socket.socket(socket.AF_UNIX) as garbled:
        garbled.connect(f"/proc/self/fd/{here}/{SOCKET}")
        garbled.sendall(b"{nonsense\n")
        assert b'"code":255' in garbled.recv(4096)
    os.close(here)
    assert list(ask(folder, Question(verb="status"), 20)) == [Done(nodes=NODES)]


def test_a_question_may_be_put_before_it_serves_and_is_answered_from_then_on(tmp_path: Path) -> None:
    door = ControlSocket(tmp_path, answer)
    try:
        assert answers_there(tmp_path)
        with pytest.raises(ChaosError, match="said nothing"):
            list(ask(tmp_path, Question(verb="status"), 0.2))
        door.serve()
        assert list(ask(tmp_path, Question(verb="status"), 20)) == [Done(nodes=NODES)]
    finally:
        door.close()


KEEPER = """
import sys
import threading
from pathlib import Path
from chaos.manual.control_socket import ControlSocket, Done

folder = Path(sys.argv[1])
kept = ControlSocket(folder, lambda question, say: Done())
print("listens", flush=True)
sys.stdin.readline()
with (folder / "logs" / "up.log").open("a") as log:
    log.write("ready\\n")
kept.serve()
threading.Event().wait(60)
"""


def test_up_shows_the_line_with_which_a_cluster_serves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "up.log").write_text("deploy\n")
    argv = [sys.executable, "-c", KEEPER, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as keeper:
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        keeper.stdout.readline()
        until_ready = threading.Timer(0.5, keeper.stdin.close)  # it listens already, and is not ready yet
        until_ready.start()
        assert show_until_it_serves(keeper, tmp_path) == 0
        keeper.kill()
    assert capsys.readouterr().out == f"deploy\nready\n{tmp_path}\n"


def test_a_cluster_that_did_not_come_up_is_said_with_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "up.log").write_text("no such system\n")
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"]) as keeper:
        keeper.wait()
        assert show_until_it_serves(keeper, tmp_path) == 7
    said = capsys.readouterr()
    assert said.out == "no such system\n"
    assert "the cluster did not come up; read why in" in said.err


def test_without_a_cluster_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no cluster is up"):
        list(ask(tmp_path / "none", Question(verb="status"), 1))
    with pytest.raises(UsageError, match="no cluster is up in this store"):
        list(ask(tmp_path, Question(verb="status"), 1))


def test_a_cluster_that_says_nothing_is_waited_for_only_so_long(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / SOCKET))
        silent.listen()
        with pytest.raises(ChaosError, match=r"said nothing for 0\.05 s"):
            list(ask(tmp_path, Question(verb="status"), 0.05))
