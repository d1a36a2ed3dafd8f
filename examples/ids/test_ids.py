"""The check on a fake source of ids: valid without a bug, invalid with each of three."""

from pathlib import Path
from typing import Any

import pytest

from chaos.core.op import Invocation
from chaos.testing import FakeBug, FakeSystem, Step, lose_acknowledged, lose_answers, run
from chaos_ids.model import Id


def next_id(held: int | None, op: Invocation) -> tuple[int, Id]:
    """What a correct source does: (what it holds, operation) → (what it holds then, answer)."""
    number = (held or 0) + 1
    return number, Id(number)


def starts_again(step: Step, held: Any, op: Invocation) -> tuple[Any, Any]:
    """A bug of our own: after 20 ids the source begins anew."""
    return step(None if held == 20 else held, op)


@pytest.mark.parametrize("bug", [None, lose_answers(5)])
def test_a_correct_source_is_valid(bug: FakeBug | None, tmp_path: Path) -> None:
    """Also where some answers are lost."""
    done = run(tmp_path, FakeSystem(objects={"ids": next_id}, bug=bug), workload="ids")
    row = done.check("unique-ids")
    assert (row.valid, row.found) == (True, "every id was given once, in growing order")


@pytest.mark.parametrize("bug", [lose_acknowledged(), starts_again])
def test_ids_that_are_given_twice_are_found(bug: FakeBug, tmp_path: Path) -> None:
    """A source that forgets gives an id again."""
    done = run(tmp_path, FakeSystem(objects={"ids": next_id}, bug=bug), workload="ids", nemesis="random-suspend")
    assert done.exit_code == 1
    assert done.check("unique-ids").anomalies["duplicate-id"].count > 0


def test_it_judges_no_other_model(tmp_path: Path) -> None:
    """It may be asked of any run, and says why it has nothing to say."""
    done = run(tmp_path, workload="set", checks=("unique-ids",))
    assert done.results.declined["unique-ids"] == "it is a run of the model set"
