"""A worker starts fast: the load begins half a second after it, on a machine that brings up a cluster beside it."""

import subprocess
import sys

import pytest

from chaos import plugins

CODE = """
import sys
from chaos import plugins
from chaos.models.registry import model_named
from chaos.worker import worker
from cluster.systems.minimq import client as minimq
from cluster.systems.rocketmq import client as rocketmq
model_named(plugins.load("workloads", sys.argv[1]).model)
print(sorted({"numpy", "pyarrow", "pandas", "yaml", "click", "rich"} & set(sys.modules)))
"""


@pytest.mark.parametrize("workload", plugins.names("workloads"))
def test_a_worker_loads_nothing_heavy(workload: str) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, workload], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
