"""The door of a cluster that is kept up by hand: what goes through it, and what becomes of bad questions."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

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
