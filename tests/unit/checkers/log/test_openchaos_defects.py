"""What was wrong in OpenChaos itself: docs/explanation/openchaos-defects.md names the test for each defect."""

import ast
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from history_literals import written
from repository import ROOT

from chaos.cli.main import PACKAGES, cli
from chaos.testing.history_files import load_history, write_run_folder
from checkers.engine.installed_checks import OF_LOGS, checks
from nemesis.faults.registry import faults, faults_on
from nemesis.plan.count_bounds import count_bounds
from nemesis.plan.nemesis_names import catalog, parse
from nemesis.targets.selectors import Selector
from nemesis.targets.topology import Topology

HISTORIES = ROOT / "tests" / "histories"
ROW = re.compile(r"\| (\d+) \| .+ \| .+ \| (.+) \|")


def test_every_defect_has_a_test_that_is_there() -> None:
    lines = (ROOT / "docs" / "explanation" / "openchaos-defects.md").read_text().splitlines()
    rows = [row for row in map(ROW.fullmatch, lines) if row is not None]
    assert [int(row[1]) for row in rows] == list(range(1, 16))
    for row in rows:
        named = re.findall(r"`([^`]+)`", row[2])
        assert named, row[0]
        for path, _, test in (name.partition("::") for name in named):
            text = (ROOT / path).read_text()
            assert path.startswith("tests/histories/") or f"\ndef {test}(" in text, f"{path} has no {test}"


@pytest.mark.parametrize(
    ("history", "code"), [("lost-in-the-middle", 1), ("gaps-are-legal", 0), ("drain-did-not-end", 2)]
)
def test_the_verdict_is_the_exit_code(history: str, code: int, tmp_path: Path) -> None:
    write_run_folder(load_history(HISTORIES / f"{history}.yaml"), tmp_path / "run")
    done = CliRunner().invoke(cli, ["check", "--engine", "local", str(tmp_path / "run")], standalone_mode=False)
    assert done.return_value == code, done.output


def test_every_fault_that_is_listed_is_implemented() -> None:
    named = {entry.fault for entry in catalog().values() if entry.fault is not None}
    assert named == set(faults())
    for how in ("process", "container"):
        assert faults_on(how).keys() == named


@pytest.mark.parametrize("name", ["partition-majorities-ring", "bridge"])
def test_the_help_says_how_many_nodes_a_cut_needs(name: str) -> None:
    entry = parse(name, Topology({}, {})).entry
    said = re.search(r"; (\d) nodes or more", entry.help)
    assert said is not None
    possible = [n for n in range(1, 9) if count_bounds(Selector(entry.selector), entry.how, n, replicas=True)[1]]
    assert possible == list(range(int(said[1]), 9))


WALL = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
ANCHORS = {
    "chaos/cli/check_outputs.py",
    "chaos/run/judging.py",
    "chaos/run/wall_clock.py",
    "chaos/run/store.py",
    "chaos/matrix/process.py",
    "chaos/serve/follower.py",
    "cluster/hosts/ssh/connection.py",
    "cluster/systems/kafka/client.py",
    "cluster/systems/minimq/bugs/notes.py",
    "cluster/systems/pulsar/brokers.py",
    "cluster/systems/rocketmq/pops.py",
    "cluster/systems/rocketmq/sending.py",
}
"""When a run or a cell began, the name of a folder, how far a machine's clock is off: all for people to compare. And
what Kafka, Pulsar and RocketMQ are told of instants: their brokers go by the wall clock. And how long ago a file was
written: so do file systems. And a bug of minimq, which is just that. And on which day a verdict is told, since a
finding may be allowed until a day."""


MENTIONED = re.compile(rf"\.\s*(?:{'|'.join(sorted({name.partition('.')[2] for name in WALL}))})\b")
"""A text without these attributes reads no wall clock, so it need not be parsed."""


def reads_the_wall_clock(text: str) -> bool:
    nodes = ast.walk(ast.parse(text)) if MENTIONED.search(text) else ()
    return any(
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and f"{node.value.id}.{node.attr}" in WALL
        for node in nodes
    )


def test_nothing_is_measured_by_the_wall_clock() -> None:
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert {str(path.relative_to(ROOT)) for path in paths if reads_the_wall_clock(path.read_text())} == ANCHORS


def test_every_anomaly_of_a_log_has_a_history_that_shows_it() -> None:
    shown: set[str] = set()
    for path in HISTORIES.glob("*.yaml"):
        shown |= (written(path)["expect"].get("anomalies") or {}).keys()
    ours = {kind.name for check in OF_LOGS for kind in checks()[check].anomalies if kind.rule != "12"}
    assert len(ours) > 20
    assert ours <= shown
