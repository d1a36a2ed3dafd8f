"""What the local engine says of a history that a model made."""

import tempfile
from pathlib import Path

from chaos.testing.history_files import write_run_folder
from checkers.engine import local_engine


def judged(literal):
    with tempfile.TemporaryDirectory() as folder:
        write_run_folder(literal, Path(folder) / "run")
        return local_engine.judge_folder(Path(folder) / "run").results
