"""``chaos generate`` writes with whatever generator has the model's name, and gives it only the options it knows."""

import importlib
import json

import pytest
from click.testing import CliRunner

from chaos import plugins
from chaos.cli import generate
from chaos.cli.inspect import list_command


class TallyGenerator:
    """Files with a number."""

    planted = ("counted-twice",)
    options = ("sub_via",)

    def write(self, spec, output):
        output.write_text(json.dumps([spec.ops, dict(spec.anomalies), dict(spec.options), spec.argv[:4]]))
        return "a number"


@pytest.fixture
def command():
    """The command as a process has it in which a package brought a generator."""
    with plugins.offered("generators", "tally", TallyGenerator()):
        yield importlib.reload(generate).generate_command
    importlib.reload(generate)


def said(command, *argv):
    done = CliRunner().invoke(command, argv, standalone_mode=False)
    return done.output.strip() if done.exception is None else str(done.exception)


def test_a_generator_of_another_package_is_asked_as_ours_are(command, tmp_path):
    words = ["--model", "tally", "--ops", "7", "--output", str(tmp_path / "made")]
    told = said(command, *words, "--anomaly", "counted-twice=2", "--sub-via", "assign")
    assert told.startswith(f"{tmp_path / 'made'}: a number, written in ")
    assert json.loads((tmp_path / "made").read_text()) == [
        7,
        {"counted-twice": 2},
        {"sub_via": "assign"},
        ["chaos", "generate", "--model", "tally"],
    ]
    assert (
        said(command, *words, "--txn-length", "3") == "--txn-length: only for --model kafka, list-append, rw-register"
    )
    assert said(command, *words, "--anomaly", "lost-write=1").startswith(
        "--anomaly lost-write=1: no 'lost-write' can be planted"
    )


def test_generators_are_listed_with_what_they_write():
    told = CliRunner().invoke(list_command, ["generators", "--json"]).output
    names = {row["name"] for row in json.loads(told)}
    models = {row.name for row in plugins.list_group("models")} - {"transaction"}
    assert names == models | {"kafka", "list-append", "rw-register"}, "each model has a generator"
    assert all(row["help"].startswith(("Run folders of", "Files as")) for row in json.loads(told))
