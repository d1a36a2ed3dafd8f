"""For authors of plugins: a whole run on a fake system in memory, and histories as literals (docs/guide/extend.md).

::

    from chaos.testing import FakeSystem, lose_acknowledged, run

    def test_my_check_finds_a_lost_element(tmp_path):
        done = run(tmp_path, FakeSystem(bug=lose_acknowledged()), workload="set", checks=("mine",))
        assert done.check("mine").valid is False

Names are imported when they are asked for: a history as a literal needs nothing of a run.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from chaos.testing.fake_backend import FakeBackend
    from chaos.testing.fake_bugs import (
        FakeBug,
        answer_from_the_past,
        changes,
        do_twice,
        lose_acknowledged,
        lose_answers,
        refuse_and_do,
    )
    from chaos.testing.fake_objects import Step
    from chaos.testing.fake_system import FakeSystem
    from chaos.testing.temporary_plugins import offered
    from chaos.testing.whole_run import Outcome, run, simulate

_WHERE: Final = {
    "FakeBackend": "fake_backend",
    "FakeBug": "fake_bugs",
    "FakeSystem": "fake_system",
    "Outcome": "whole_run",
    "Step": "fake_objects",
    "answer_from_the_past": "fake_bugs",
    "changes": "fake_bugs",
    "do_twice": "fake_bugs",
    "lose_acknowledged": "fake_bugs",
    "lose_answers": "fake_bugs",
    "offered": "temporary_plugins",
    "refuse_and_do": "fake_bugs",
    "run": "whole_run",
    "simulate": "whole_run",
}

__all__ = [
    "FakeBackend",
    "FakeBug",
    "FakeSystem",
    "Outcome",
    "Step",
    "answer_from_the_past",
    "changes",
    "do_twice",
    "lose_acknowledged",
    "lose_answers",
    "offered",
    "refuse_and_do",
    "run",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
