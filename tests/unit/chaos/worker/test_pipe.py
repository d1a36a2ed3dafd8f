"""The pipe between the main process and its children, with real processes."""

import subprocess
import sys
from collections.abc import Mapping, Sequence

import pytest

from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError, DeadlineError
from chaos.worker.messages import Answer, AskReady, Load, Prepare, Stats
from chaos.worker.pipe import Inside

CHILD = """
import sys
from pathlib import Path
import msgspec
from chaos.worker.pipe import Child, answer_of, serve
from chaos.worker.messages import AskReady, Command, Load, Prepare, Stats

class Spec(msgspec.Struct):
    log: str

async def body(spec, pipe):
    while (line := await pipe.line()) is not None:
        command = msgspec.json.decode(line, type=Command)
        if isinstance(command, AskReady):
            pipe.say(answer_of("not yet"))
        elif isinstance(command, Load):
            for n in (1, 2):
                stats = {"counts": {}, "in_flight": 0, "worst_lag_s": 0, "worst_ack_s": 0, "last_ack_ns": 0}
                pipe.say(Stats(worker=n, **stats))
            pipe.say(answer_of(None))
        elif isinstance(command, Prepare):
            raise RuntimeError("broke on purpose")

serve(Child(Spec, body, lambda spec: spec.log))
"""


class LocalBackend:
    """Starts children right here; the pipe is what is tested."""

    name = "local"

    def popen_inside(self, argv: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(argv, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.fixture
def inside(tmp_path):
    import os

    import msgspec

    spec = msgspec.defstruct("Spec", [("log", str)])(log=str(tmp_path / "child.log"))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = Inside(LocalBackend(), "child", [sys.executable, "-c", CHILD], env, spec)
    yield child
    child.close()


def test_answers_are_taken_once_and_states_are_kept(inside: Inside) -> None:
    inside.send(AskReady())
    assert inside.take(Answer, Deadline("an answer", 20)).text == "not yet"
    with pytest.raises(DeadlineError, match=r"0\.2 s for a second answer"):
        inside.take(Answer, Deadline("a second answer", 0.2))
    inside.send(Load(origin_ns=0))
    assert inside.take(Answer, Deadline("an answer", 20)).text == ""
    stats = inside.latest(Stats)
    assert stats is not None
    assert stats.worker == 2


def test_a_child_that_dies_is_said_to_have_ended(inside: Inside, tmp_path) -> None:
    inside.send(Prepare())
    with pytest.raises(ChaosError, match="child ended while waiting for its word"):
        inside.take(Answer, Deadline("its word", 20))
    assert "broke on purpose" in (tmp_path / "child.log").read_text()
    assert inside.ended


def test_a_child_leaves_when_the_harness_is_gone(inside: Inside) -> None:
    assert inside.close() == 0
