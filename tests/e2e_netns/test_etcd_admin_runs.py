"""Whole runs on a real etcd under what its administrators do: each proven and undone, and nothing lost."""

import pytest
from judged_run import judged_run

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

SHORT = ("--seed", "1", "--time-limit", "24", "--fault-interval", "5", "--fault-duration", "15", "--rate", "50")


@pytest.mark.parametrize("nemesis", ["transfer-leadership", "minor-replace-node"])
def test_etcd_is_valid(nemesis, tmp_path):
    code, results, said = judged_run(tmp_path, "--system", "etcd", "--nemesis", nemesis, *SHORT)
    assert code == 0, said
    assert [(fault["proven"], fault["healed"]) for fault in results["faults"]] == [(True, True)]
