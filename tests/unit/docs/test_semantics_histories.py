"""docs/semantics.md names histories that exist, and every rule that a history shows has its number there."""

import re

from history_literals import written
from repository import ROOT

from checkers.anomalies.catalogue import built_in
from nemesis.faults.registry import faults
from nemesis.plan.nemesis_names import catalog

PAGE = (ROOT / "docs" / "semantics.md").read_text()
HISTORIES = sorted((ROOT / "tests" / "histories").rglob("*.yaml"))
OTHER_NAMES = {
    "out-of-sync",
    "settings-in-effect",
    "commit-when-asked",
    "rollback-when-asked",
}
"""Names of three words or more that are neither a history, nor a name in results, nor a fault: notes, occasions."""


def test_every_history_that_a_rule_names_exists() -> None:
    known = {*(path.stem for path in HISTORIES), *built_in(), *catalog(), *faults(), *OTHER_NAMES}
    assert set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+){2,})`", PAGE)) - known == set()


def test_every_rule_that_a_history_shows_is_there() -> None:
    rules = set(re.findall(r"^(\d+[a-z]?)\. ", PAGE, re.MULTILINE))
    shown = {str(rule) for path in HISTORIES for rule in written(path)["rules"]}
    assert shown - rules == set()
