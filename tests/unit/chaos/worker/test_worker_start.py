"""A worker starts fast: the load begins half a second after it, on a machine that brings up a cluster beside it."""

import json
import subprocess
import sys

from chaos import plugins

CODE = """
import json, sys
from chaos import plugins
from chaos.models.registry import model_named
from chaos.worker import worker
from cluster.systems.minimq.clients import client as minimq
from cluster.systems.rocketmq import client as rocketmq
heavy, found = {"numpy", "pyarrow", "pandas", "yaml", "click", "rich"}, {}
for workload in sys.argv[1:]:
    model_named(plugins.load("workloads", workload).model)
    found[workload] = sorted(heavy & set(sys.modules))
print(json.dumps(found))
"""


def test_a_worker_loads_nothing_heavy() -> None:
    """Of any workload; what is there after the first of them that loads it is there after the others too."""
    workloads = plugins.names("workloads")
    done = subprocess.run([sys.executable, "-c", CODE, *workloads], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {workload: [] for workload in workloads}
