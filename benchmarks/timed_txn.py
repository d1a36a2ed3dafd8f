"""How long the judge of transactions takes, from the text of a file to its verdict."""

from pathlib import Path
from typing import Any

from benchmarks.measuring import profile, times
from checkers.imported.judge_file import judge
from checkers.imported.options import Question


def time_judging(path: str, model: str, repeats: int) -> dict[str, Any]:
    """Reading and judging, as ``chaos check`` does both."""
    answers = []
    question = Question(format="jepsen", model=model)
    took = times(lambda: answers.append(judge(Path(path), question, "local").valid), repeats)
    return {**took, "valid": answers[-1]}


def profile_judging(path: str, model: str) -> dict[str, Any]:
    """Where the time of that goes."""
    return {"profile": profile(lambda: judge(Path(path), Question(format="jepsen", model=model), "local"))}
