"""Phases: each is said as it begins, has its edges in the history, its duration, and is not silent for long."""

from pathlib import Path

import pytest

from chaos.core.clock import NS_PER_S
from chaos.core.errors import DeployError
from chaos.core.events import EventLog, Phase
from chaos.run import phases
from chaos.run.phases import REMIND_EVERY_S, Phases
from chaos.storage.event_files import read_events


class Made:
    """Phases with a clock that the test moves, what they said, and their history."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at_s = 0.0
        monkeypatch.setattr(phases, "now_ns", lambda: int(self.at_s * NS_PER_S))
        self.said: list[str] = []
        self.path = folder / "run.events"
        self.log = EventLog(self.path)
        self.phases = Phases(self.log, self.said.append)

    def edges(self) -> list[tuple[str, str, bool, str]]:
        self.log.close()
        found = [event for event in read_events(self.path) if isinstance(event, Phase)]
        return [(event.name, event.edge, event.ok, event.note) for event in found]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    return Made(tmp_path, monkeypatch)


def test_a_phase_is_said_written_and_timed(made: Made) -> None:
    with made.phases.phase("deploy", "6 nodes on netns"):
        made.at_s = 2.5
    with made.phases.phase("load"):
        made.at_s = 12.5
    assert made.said == ["deploy   6 nodes on netns"]
    assert made.phases.timings_s == {"deploy": 2.5, "load": 10.0}
    assert made.edges() == [
        ("deploy", "start", True, ""),
        ("deploy", "end", True, ""),
        ("load", "start", True, ""),
        ("load", "end", True, ""),
    ]


def test_a_phase_that_breaks_ends_badly_and_is_timed(made: Made) -> None:
    def deploy() -> None:
        with made.phases.phase("deploy", "6 nodes"):
            made.at_s = 1.0
            raise DeployError("b1 did not start")

    with pytest.raises(DeployError):
        deploy()
    assert made.phases.timings_s == {"deploy": 1.0}
    assert made.edges()[-1] == ("deploy", "end", False, "b1 did not start")


def test_what_comes_after_the_history_is_said_and_timed_alone(made: Made) -> None:
    with made.phases.outside_history("check", "reading the history"):
        made.at_s = 3.0
    assert (made.said, made.phases.timings_s) == (["check    reading the history"], {"check": 3.0})
    assert made.edges() == []


def test_a_long_phase_is_heard_of_every_half_minute(made: Made) -> None:
    with made.phases.phase("drain", "0 of 4 queues"):
        for second in range(int(2.5 * REMIND_EVERY_S)):
            made.at_s = float(second)
            made.phases.remind()
    assert made.said[1:] == ["drain    30 s so far", "drain    60 s so far"]
    with made.phases.outside_history("check", "reading"):
        made.at_s += REMIND_EVERY_S
        made.phases.heard("shards", 3, 9)
        made.phases.heard("shards", 4, 9)
    assert made.said[-1] == "check    3 of 9 shards, 30 s so far"
