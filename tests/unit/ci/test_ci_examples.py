"""examples/ci: the files keep to their servers' schemas, and what they name is there. Nothing needs the network."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from ci_files import FOLDER, INSTALLS, NAMES, every_step, steps
from repository import ROOT

from chaos.cli.main import cli
from chaos.matrix.read import read_matrix

SCHEMAS = {
    "github-actions.yml": ["--builtin-schema", "vendor.github-workflows"],
    "gitlab-ci.yml": ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
}


def check(name: str, file: Path) -> subprocess.CompletedProcess[str]:
    """The server's schema, out of the installed package: a request would be refused."""
    env = {"PATH": "/usr/bin:/bin", "https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    argv = [sys.executable, "-m", "check_jsonschema", *SCHEMAS[name], str(file)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=env, timeout=120)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_keeps_to_its_servers_schema(name: str) -> None:
    done = check(name, FOLDER / name)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("github-actions.yml", "runs-on:", "run-on:"),
        ("gitlab-ci.yml", "when: always\n    paths", "when: ever\n    paths"),
    ],
)
def test_a_mistake_is_found(name: str, right: str, wrong: str, tmp_path: Path) -> None:
    text = (FOLDER / name).read_text()
    assert right in text
    file = tmp_path / name
    file.write_text(text.replace(right, wrong))
    assert check(name, file).returncode == 1


def test_all_files_do_the_same_in_the_same_order() -> None:
    found = [re.findall(r"\.venv/bin/chaos (.*)", "\n".join(step.script for step in steps(name))) for name in NAMES]
    assert found[0] == ['matrix "$MATRIX" --store "$STORE"', 'publish public --store "$STORE"']
    assert found[1:] == found[:1] * 2


@pytest.mark.parametrize("name", NAMES)
def test_every_command_can_be_typed(name: str) -> None:
    text = (FOLDER / name).read_text()
    for line in re.findall(r"\.venv/bin/chaos (.*)", text):
        command, *words = shlex.split(line)
        made = cli.get_command(click.Context(cli), command)
        assert made is not None
        made.make_context(command, words)


def installed(name: str, place: Path, tools: tuple[str, ...]) -> list[str]:
    """Do the step that installs where these tools only note how they are called; returns the calls."""
    tool = place / "tool"
    tool.write_text('#!/bin/sh\necho "${0##*/} $*" >> "$CALLS"\n')
    tool.chmod(0o755)
    (place / "bin").mkdir()
    for one in tools:
        (place / "bin" / one).symlink_to(tool)
    for one in ("rm", "sh"):
        (place / "bin" / one).symlink_to(f"/bin/{one}")
    (step,) = [step for step in every_step(name) if INSTALLS in step.script]
    env = {"PATH": str(place / "bin"), "CALLS": str(place / "calls"), "STORE": "store"}
    subprocess.run(["/bin/bash", "-e", "-o", "pipefail", "-c", step.script], cwd=place, env=env, check=True, timeout=60)
    return (place / "calls").read_text().splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_the_installation_makes_setup(name: str, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    calls = installed(name, tmp_path, ("make", "sudo", "apt-get"))
    assert calls[-1] == "make setup"
    assert [call.split()[0] for call in calls[:-1]] == (["sudo"] if name == "github-actions.yml" else [])
    assert (tmp_path / "store").exists() == (name != "Jenkinsfile"), "an agent of Jenkins keeps its folder"


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_kept_and_published_also_after_a_failure(name: str) -> None:
    assert [step.always for step in steps(name) if "chaos publish" in step.script] == [True]
    assert "junit.xml" in (FOLDER / name).read_text()


@pytest.mark.parametrize("name", NAMES)
def test_the_matrix_that_it_names_is_there(name: str) -> None:
    (file,) = set(re.findall(r"examples/ci/\S+?\.yaml", (FOLDER / name).read_text()))
    assert len(read_matrix(str(ROOT / file)).axes) == 1


def test_the_jenkinsfile_closes_what_it_opens() -> None:
    text = re.sub(r"'''[^']*'''|'[^'\n]*'|//.*", "", (FOLDER / "Jenkinsfile").read_text())
    for opens, closes in ("{}", "[]", "()"):
        assert text.count(opens) == text.count(closes) > 0


def test_yaml_in_the_guide_is_read_by_the_command() -> None:
    page = (ROOT / "docs" / "guide" / "ci.md").read_text()
    blocks = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert {key for block in blocks for key in yaml.safe_load(block)} == {"system", "nemesis", "thresholds", "allow"}
