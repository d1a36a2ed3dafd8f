"""Where the time goes can be said of one check and of all: benchmarks ask for it only where their goal is missed."""

from pathlib import Path

import pytest

from benchmarks import timed_log
from chaos.generate.folder import write
from chaos.generate.plan import plan_of


@pytest.mark.parametrize("kernel", ["no-loss", "linearizable-offsets", None])
def test_where_the_time_of_a_queue_goes(tmp_path: Path, kernel: str | None) -> None:
    folder = tmp_path / "run"
    write(plan_of(ops=4_000, keys=2, seed=3, anomalies={}), folder, ("chaos", "generate"), 1)
    profile = timed_log.profile_checks(str(folder), kernel)["profile"]
    assert profile
    assert 0 < sum(share for _, share in profile) <= 1.01
