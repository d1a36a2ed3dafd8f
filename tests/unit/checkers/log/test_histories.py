"""Every hand-made history gets exactly the verdict it names, from the raw stream on."""

import pytest
from repository import HISTORIES

from chaos.testing.history_files import assert_verdict, load_history, write_run_folder
from checkers.engine import local_engine

PATHS = sorted(HISTORIES.glob("*.yaml"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_history_locally(path, tmp_path):
    literal = load_history(path)
    assert literal.name == path.stem
    write_run_folder(literal, tmp_path / "run")
    assert_verdict(local_engine.judge(tmp_path / "run"), literal)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "skipped-is-not-unproven",
            (
                "Valid as far as it was judged: assumptions, final-reads, no-loss."
                " 1 of 2 faults was skipped: no leader known."
            ),
        ),
        (
            "a-loss-beside-skipped-faults",
            "1 fault, 0 failovers. 2 of 3 faults were skipped: no leader known.",
        ),
        (
            "every-fault-was-skipped",
            "Unknown: 2 faults were planned and none was injected: all were skipped (no leader known).",
        ),
    ],
)
def test_a_part_of_the_checks_tells_of_skipped_faults_too(name, sentence, tmp_path):
    literal = load_history(next(path for path in PATHS if path.stem == name))
    write_run_folder(literal, tmp_path / "run")
    assert sentence in local_engine.judge_folder(tmp_path / "run", only=("no-loss",)).results.sentence
