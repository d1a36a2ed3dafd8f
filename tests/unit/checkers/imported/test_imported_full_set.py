"""Files of Jepsen in which an add failed for certain and its element was read (semantics.md, 5 and 14)."""

from pathlib import Path

import pytest

from checkers.imported.judge_file import judge
from checkers.imported.options import Question

FILES = Path(__file__).parents[3] / "data" / "set-full"


@pytest.mark.parametrize(
    ("name", "strict", "valid", "found"),
    [
        ("a-refused-element-is-read", False, True, {"G1a": True}),
        ("a-refused-element-is-read", True, False, {"G1a": False}),
        ("a-refused-element-is-read-and-gone", False, False, {"lost-write": False, "G1a": True}),
        ("a-refused-element-is-read-and-gone", True, False, {"lost-write": False, "G1a": False}),
        ("an-element-in-doubt-is-read", False, True, {}),
        ("an-element-in-doubt-is-read", True, True, {}),
    ],
)
def test_an_element_that_was_refused_and_read_is_told_and_an_error_if_strict(name, strict, valid, found):
    """``found``: each anomaly and whether it is allowed. The reference's verdicts are those without ``strict``."""
    question = Question(format="jepsen", model="set-full", strict=strict)
    results = judge(FILES / f"{name}.edn", question, "local")
    assert results.valid is valid
    assert {kind: one.allowed for kind, one in results.anomalies.items()} == found


def test_of_a_file_that_ends_too_early_a_refused_element_stands(tmp_path):
    text = (FILES / "a-refused-element-is-read.edn").read_text()
    path = tmp_path / "history.edn"
    path.write_text(text + "{:process 2, :type :inv")
    results = judge(path, Question(format="jepsen", model="set-full", strict=True), "local")
    assert (results.valid, {*results.anomalies}) == (False, {"G1a"})
