"""Every hand-made history gets exactly the verdict it names, from the raw stream on."""

from pathlib import Path

import pytest

from chaos.testing import assert_verdict, load_history, write_run_folder
from checkers import local

HISTORIES = sorted((Path(__file__).parent.parent / "histories").glob("*.yaml"))


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_history_locally(path, tmp_path):
    literal = load_history(path)
    assert literal.name == path.stem
    write_run_folder(literal, tmp_path / "run")
    assert_verdict(local.judge(tmp_path / "run"), literal)
