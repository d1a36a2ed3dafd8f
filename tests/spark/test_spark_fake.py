"""A whole run on a fake system, judged on Spark: the verdict is that of the engine without it."""

import msgspec
import pytest

from chaos.testing import FakeSystem, lose_acknowledged, run
from checkers.engine import local

pytestmark = pytest.mark.spark


def test_a_bug_of_a_fake_system_is_found_on_spark_as_here(tmp_path):
    done = run(tmp_path, FakeSystem(bug=lose_acknowledged()), workload="set", engine="spark", nemesis="random-kill")
    assert (done.results.engine, done.exit_code) == ("spark", 1)
    here = local.judged(done.folder).results
    assert [msgspec.structs.replace(row, took_s=0.0) for row in here.checks] == [
        msgspec.structs.replace(row, took_s=0.0) for row in done.results.checks
    ]
    assert "lost-write" in done.check("set").anomalies
