"""Properties are searched without a clock: a machine that is slow today is no finding.

Tests that make repositories of their own must not meet the one that a hook or a rebase works on, so what git tells such
programs is forgotten. A shell without jobs lets what it starts in the background ignore interrupts, and programs that
tests start would inherit that.

What one process has compiled the next ones take from it, whatever the surroundings say: hundreds of tests start
commands, and each would compile all that it imports.

A test that drives a browser, makes whole runs of a fake system, starts chaos beside packages of others or draws its
cases is `broad`. It is worth its seconds, but not in the part of `make test` that tells of a slip within two minutes.

Files that cannot have what ``-m`` asks for are not imported: see marks_named.py. A test with a mark that its file does
not name would be left out in silence, so it is an error wherever it is collected.
"""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from marks_named import BROWSERS, OURS, PROPERTIES, can_match, marks_in, names_of

for name in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[name]

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files alone that have nothing to give; whoever names one is told by pytest itself."""
    asked = config.option.markexpr
    if not asked or collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    if any(Path(config.invocation_params.dir, word.partition("::")[0]) == collection_path for word in config.args):
        return None
    return True if not can_match(asked, marks_in(collection_path, names_of(asked))) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if PROPERTIES in item.path.parents or not set(BROWSERS).isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.broad)
    for path, mark in sorted({(item.path, mark.name) for item in items for mark in item.iter_markers()}):
        if mark in OURS and mark not in marks_in(path, [mark]):
            raise pytest.UsageError(f"{path}: a test of it is {mark}, and the file does not say so; see marks_named.py")
