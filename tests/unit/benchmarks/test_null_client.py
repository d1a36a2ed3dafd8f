"""What the harness records of clients that answer at once can be measured."""

import json
import subprocess
import sys

import pytest
from repository import ROOT


@pytest.mark.broad
@pytest.mark.parametrize("workload", ["queue", "register"])
def test_operations_are_recorded(workload):
    argv = [sys.executable, str(ROOT / "benchmarks" / "null_client.py"), "--workload", workload, "--seconds", "0.3"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120)
    found = json.loads(said.stdout)
    assert found["per_s"] > 0
    assert 20 < found["bytes_per_op"] < 500
