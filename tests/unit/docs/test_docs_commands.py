"""Every example of README.md, docs/ and help: a command can be typed, a run can be planned, targets and YAML are right.

An example is in these tests by standing in a fenced block. test_docs_stored.py gives the commands that need no cluster.
"""

import re
from pathlib import Path
from typing import Any

import click
import doc_examples
import pytest
import yaml
from repository import ROOT

from chaos import plugins
from chaos.cli.main import COMMANDS, cli
from chaos.core.errors import UsageError
from chaos.matrix.read import read_matrix
from chaos.options.planning import draw_plan, mix_of
from chaos.options.resolve import experiment_of
from chaos.testing.history_files import load_history
from cluster import existing_cluster
from cluster.hosts.ssh import nodes_file

pytestmark = pytest.mark.broad

REFUSED = {
    "chaos run --rto": "always measured",
    "chaos run -c 0": "give a whole number from 1 to 10000",
    "chaos run --system redis --system-version 6.2.1": "redis can be had in 7.0.15 only",
}
"""The commands that pages show because they are refused, and what is said."""

OF_EXAMPLES = ("tinykv", "markdown", "mine")
"""A system, a reporter and a check that the reader makes from examples/; tests/unit/examples runs them."""

EXAMPLES = [*doc_examples.commands(), *doc_examples.of_help()]
RUNS = [
    one
    for one in EXAMPLES
    if one.split[0] in {"run", "plan", "up"}
    and one.line not in REFUSED
    and not {*OF_EXAMPLES} & {*re.split("[ ,]", one.line)}
]
MATRICES = [one for one in EXAMPLES if one.split[0] == "matrix"]
BESIDE = ("live", "repeat", "until_failure", "jobs", "as_json", "foreground")
"""Options of these commands that say nothing of the run itself."""


def _context(words: list[str]) -> click.Context:
    name, *rest = words
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, f"no command {name}"
    if isinstance(command, click.Group):
        command = command.commands[rest.pop(0)]
    return command.make_context(name, rest)


def _plan(words: list[str]) -> None:
    """All that a run does before it needs the machine."""
    options: dict[str, Any] = {key: value for key, value in _context(words).params.items() if key not in BESIDE}
    experiment = experiment_of(options)
    system = plugins.load("systems", experiment.system)()
    assert mix_of(experiment, system)
    draw_plan(experiment, system)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that examples name, as far as possible the ones that the pages show."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    doc_examples.yaml_in("docs/guide/ssh.md", "nodes:", tmp_path, "nodes.yaml")
    doc_examples.yaml_in("docs/guide/ssh.md", "process:", tmp_path, "cluster.yaml")
    doc_examples.yaml_in("docs/guide/ci.md", "thresholds:", tmp_path, "chaos.yaml")
    doc_examples.yaml_in("docs/guide/openchaos.md", "system:", tmp_path, "my.yaml")
    doc_examples.yaml_in("docs/guide/matrix.md", "axes:", tmp_path, "small.yaml")
    (tmp_path / "store" / "latest").mkdir(parents=True)
    (tmp_path / "store" / "latest" / "config.yaml").write_text("system: minimq\n")
    etcd = tmp_path / "etcd" / "bin" / "etcd"
    etcd.parent.mkdir(parents=True)
    etcd.write_text("#!/bin/sh\necho etcd Version: 3.5.4\n")
    etcd.chmod(0o755)
    for name, text in {"nodes.txt": "n1\nn2\n", "few.txt": "n1\n", ".ssh/lab": ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    return tmp_path


@pytest.mark.parametrize("example", [one for one in EXAMPLES if one.line not in REFUSED], ids=lambda one: one.line)
def test_the_command_can_be_typed(example: doc_examples.Command) -> None:
    assert example.split[0] in COMMANDS, f"{example.page}: no such command"
    _context(example.words)


@pytest.mark.parametrize("example", RUNS, ids=lambda one: one.line)
@pytest.mark.usefixtures("place")
def test_the_run_can_be_planned(example: doc_examples.Command) -> None:
    _plan(example.words)


@pytest.mark.parametrize("example", MATRICES, ids=lambda one: one.line)
@pytest.mark.usefixtures("place")
def test_the_matrix_is_there(example: doc_examples.Command) -> None:
    params = _context(example.words).params
    assert read_matrix(params["file"]).axes


def test_there_are_commands() -> None:
    assert len(EXAMPLES) > 150
    assert len(RUNS) > 100
    assert len(MATRICES) > 5


@pytest.mark.parametrize(("line", "says"), REFUSED.items())
def test_the_refused_ones_are_refused(line: str, says: str) -> None:
    (example,) = [one for one in EXAMPLES if one.line == line]
    with pytest.raises((UsageError, click.UsageError)) as refused:
        _plan(example.words)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--nemesys", "noop"],
        ["run", "--nemesis", "leader-kil"],
        ["run", "--set", "novalue=1"],
        ["run", "--system", "etcd", "--workload", "pop"],
        ["run", "--system", "redis", "--system-version", "6.2.1"],
        ["run", "--threshold", "lots==0"],
        ["run", "-d", "gone.yaml"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("place")
def test_a_slip_in_an_example_would_be_found(words: list[str]) -> None:
    with pytest.raises((UsageError, click.UsageError)):
        _plan(words)


@pytest.mark.parametrize("target", sorted(doc_examples.targets()))
def test_a_target_of_make_is_there(target: str) -> None:
    assert re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_every_target_of_make_is_described() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    described = {one for one in phony.split() if f"`make {one}" in (ROOT / "docs/guide/develop.md").read_text()}
    assert set(phony.split()) - described <= {"setup"}, "the page says that every target sets up first"


def read_yaml(text: str, file: Path) -> str:
    """Read a file as the program does that it is for; returns which."""
    file.write_text(text)
    keys = set(yaml.safe_load(text))
    if "axes" in keys:
        assert read_matrix(str(file)).axes
        return "matrix"
    if "nodes" in keys:
        assert nodes_file.parse(text, file.name, nodes_file.Defaults())
        return "nodes"
    if "ops" in keys:
        file = file.rename(file.with_stem(yaml.safe_load(text)["name"]))
        assert load_history(file).ops
        return "history"
    roles = plugins.load("systems", "rocketmq")().roles
    if keys <= set(roles):
        assert existing_cluster.parse(yaml.safe_load(text), file.name, tuple(roles), keys)
        return "cluster"
    experiment = experiment_of({"driver": str(file)})
    draw_plan(experiment, plugins.load("systems", experiment.system)())
    return "options"


@pytest.mark.parametrize("block", doc_examples.yaml_blocks(), ids=lambda block: f"{block.page}: {block.text[:30]!r}")
def test_yaml_is_read_by_its_program(block: doc_examples.Block, tmp_path: Path) -> None:
    read_yaml(block.text, tmp_path / "example.yaml")


def test_yaml_of_every_kind_is_shown(tmp_path: Path) -> None:
    kinds = {read_yaml(block.text, tmp_path / "example.yaml") for block in doc_examples.yaml_blocks()}
    assert kinds == {"matrix", "nodes", "history", "cluster", "options"}
