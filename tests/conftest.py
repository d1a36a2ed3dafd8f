"""Properties are searched without a clock: a machine that is slow today is no finding.

Tests that make repositories of their own must not meet the one that a hook or a rebase works on, so what git tells such
programs is forgotten. A shell without jobs lets what it starts in the background ignore interrupts, and programs that
tests start would inherit that.

What one process has compiled the next ones take from it, whatever the surroundings say: hundreds of tests start
commands, and each would compile all that it imports.

A test that drives a browser, makes whole runs of a fake system, starts chaos beside packages of others or draws its
cases is `broad`. It is worth its seconds, but not in the part of `make test` that tells of a slip within two minutes.
"""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

for name in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[name]

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

PROPERTIES = Path(__file__).parent / "property"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if PROPERTIES in item.path.parents or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.broad)
