"""docs/semantics.md names histories that exist, and every rule that a history shows has its number there."""

import re

import yaml
from repository import ROOT

PAGE = (ROOT / "docs" / "semantics.md").read_text()
HISTORIES = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / "tests" / "histories").glob("*.yaml")}
OTHER_NAMES = {
    "settings-in-effect",
    "commit-when-asked",
    "rollback-when-asked",
    "leader-partition-in",
    "one-way-partition",
    "partition-majorities-ring",
}
"""Names of three words or more that are neither a history nor a name in results."""


def test_every_history_that_a_rule_names_exists() -> None:
    listed = PAGE.partition("**Names in results**")[2].partition("\n## ")[0]
    known = {*HISTORIES, *re.findall(r"`([\w-]+)`", listed), *OTHER_NAMES}
    assert set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+){2,})`", PAGE)) - known == set()


def test_every_rule_that_a_history_shows_is_there() -> None:
    rules = set(re.findall(r"^(\d+[a-z]?)\. ", PAGE, re.MULTILINE))
    shown = {str(rule) for history in HISTORIES.values() for rule in history["rules"]}
    assert shown - rules == set()
