"""A whole run on a fake system, judged on Spark: the verdict is that of the engine without it."""

import msgspec
import pytest

from chaos.testing import FakeSystem, answer_from_the_past, lose_acknowledged, run
from checkers.engine import local_engine

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("workload", "bug", "check", "anomaly"),
    [
        ("set", lose_acknowledged(), "set", "lost-write"),
        ("bank", lose_acknowledged(), "bank", "out-of-bounds"),
        ("long-fork", answer_from_the_past(2), "long-fork", "key-order-cycle"),
        ("monotonic", answer_from_the_past(2), "monotonic", "key-order-cycle"),
        ("multi-register", lose_acknowledged(), "multi-register", "nonlinearizable"),
        ("list-append", answer_from_the_past(2), "transactions", "G-single-item-realtime"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_bug_of_a_fake_system_is_found_on_spark_as_here(workload, bug, check, anomaly, tmp_path):
    done = run(tmp_path, FakeSystem(bug=bug), workload=workload, engine="spark", nemesis="random-kill")
    assert (done.results.engine, done.exit_code) == ("spark", 1)
    here = local_engine.judge_folder(done.folder).results
    assert [msgspec.structs.replace(row, took_s=0.0) for row in here.checks] == [
        msgspec.structs.replace(row, took_s=0.0) for row in done.results.checks
    ]
    assert anomaly in done.check(check).anomalies
