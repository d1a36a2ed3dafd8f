"""What is shown of a long check, where, and that no stream can hold it up or break it."""

import io
import threading

from repository import HISTORIES

from chaos.basics import progress
from chaos.cli.live.progress_bar import LINE_EVERY_S, SHOWN_AFTER_S, Bar, line
from chaos.testing.history_files import load_history, write_run_folder
from checkers.engine import local_engine


class Terminal(io.StringIO):
    def __init__(self):
        super().__init__()
        self.touched = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        self.touched.set()
        return super().write(text)


class Closed(Terminal):
    def write(self, _text):
        self.touched.set()
        raise BrokenPipeError


def test_a_line_every_half_minute_where_there_is_no_terminal():
    out = io.StringIO()
    bar = Bar(out)
    bar("tasks", 3, 8)
    for at_s in (
        SHOWN_AFTER_S,
        LINE_EVERY_S - 1,
        LINE_EVERY_S,
        LINE_EVERY_S + 1,
        3 * LINE_EVERY_S,
        3 * LINE_EVERY_S + 1,
    ):
        bar.show(at_s)
    assert out.getvalue() == "checking: 3 of 8 tasks, 30 s\nchecking: 3 of 8 tasks, 90 s\n"


def test_a_bar_on_a_terminal_only_if_it_lasts(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    bar = Bar(out)
    bar("queues", 1, 4)
    bar.show(SHOWN_AFTER_S - 0.1)
    assert out.getvalue() == ""
    bar.show(SHOWN_AFTER_S)
    bar.close()
    assert "checking: 1 of 4 queues, 2 s" in out.getvalue()


def test_what_has_no_pieces_is_named():
    assert line("Spark starts at yarn", 0, 0, 31.2) == "checking: Spark starts at yarn, 31 s"


def test_its_thread_ends_with_the_check_whatever_the_stream_does(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("chaos.cli.live.progress_bar.SHOWN_AFTER_S", 0.0)
    before = set(threading.enumerate())
    for stream in (Terminal(), Closed()):
        with Bar(stream) as bar, progress.listening(bar):
            assert list(progress.track("pieces", "abc")) == ["a", "b", "c"]
            assert stream.touched.wait(60)
        assert set(threading.enumerate()) == before


def test_the_local_engine_tells_of_streams_and_queues(tmp_path):
    write_run_folder(load_history(HISTORIES / "queues-have-their-own-order.yaml"), tmp_path / "run")
    heard = []
    with progress.listening(lambda *said: heard.append(said)):
        local_engine.judge_folder(tmp_path / "run")
    queues = [said for said in heard if said[0] == "groups of queues"]
    assert {said[0] for said in heard} == {"streams", "groups of queues"}
    assert [done for _, done, _ in queues] == list(range(len(queues)))
    assert {of for *_, of in queues} == {len(queues) - 1}
    progress.current_listener()("nobody listens", 0, 0)
