"""The fixture that controls share."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from control_runs import Ran, Runner, argv_of, environment, folder_in


@pytest.fixture
def chaos_run(tmp_path: Path) -> Runner:
    """Run ``chaos run --system rocketmq ARGV`` to its end in a store of its own."""

    def go(*argv: str, env: Mapping[str, str] | None = None, timeout_s: float = 600) -> Ran:
        done = subprocess.run(
            argv_of(argv, tmp_path / "store"),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            env=environment(env),
        )
        return Ran(done.returncode, folder_in(tmp_path / "store"), done.stdout + done.stderr)

    return go
