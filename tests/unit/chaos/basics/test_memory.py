"""Memory that is used again is asked from the system once."""

import subprocess
import sys

import pytest

from chaos.basics.memory import keep_freed

FAULTS = """
import resource, sys
import numpy as np
from chaos.basics.memory import keep_freed
if "keep" in sys.argv:
    keep_freed()
for round in range(6):
    if round == 2:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(1 << 20) for _ in range(8)]
    del arrays
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*words):
    return int(subprocess.run([sys.executable, "-c", FAULTS, *words], check=True, capture_output=True).stdout)


def test_an_array_takes_the_place_of_the_last():
    if not keep_freed():
        pytest.skip("malloc is not glibc's")
    assert faults("keep") * 10 < faults()
