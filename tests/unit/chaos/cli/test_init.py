"""The file that ``chaos init`` writes: every option and setting is in it, and it is taken as it is."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from chaos import plugins
from chaos.cli.init import _scalar, file_of
from chaos.cli.main import cli
from chaos.core.errors import UsageError
from chaos.core.strict_yaml import parse
from chaos.options.config_file import known_keys, load
from chaos.options.experiment import Experiment
from chaos.options.resolve import experiment_of
from cluster.system import settings_help_of


def chaos(*argv: str) -> Any:
    return CliRunner().invoke(cli, list(argv), standalone_mode=False)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("system", plugins.names("systems"))
def test_the_file_of_every_system_is_taken_as_it_is_and_means_the_defaults(system: str) -> None:
    done = chaos("init", system)
    assert done.exception is None, done.exception
    assert done.output == "chaos.yaml: change it and run it with chaos run -d chaos.yaml\n"
    made, plain = experiment_of({"driver": "chaos.yaml", "seed": 7}), experiment_of({"system": system, "seed": 7})
    for field in Experiment.__struct_fields__:
        assert field == "origins" or getattr(made, field) == getattr(plain, field), field
    planned = chaos("plan", "--backend", "netns", "--seed", "7", "-d", "chaos.yaml", "--json")
    assert planned.exception is None, planned.exception
    assert planned.output == chaos("plan", "--backend", "netns", "--seed", "7", "--system", system, "--json").output


@pytest.mark.parametrize("system", plugins.names("systems"))
def test_every_option_and_every_setting_is_there_with_its_help(system: str) -> None:
    plugin = plugins.load("systems", system)()
    text = file_of(plugin, "chaos.yaml")
    named = set(re.findall(r"^(?:# )?([a-z][a-z-]*): ", text, re.MULTILINE)) | {"settings"}
    fields = {field for name, field in known_keys().items() if name in named}
    assert fields >= set(known_keys().values()) - {"backend_options"}, "each is set or commented out"
    assert list(yaml.safe_load(text)["settings"]) == list(plugin.resolve({}))
    assert max(map(len, text.splitlines())) <= 120
    for name, helped in settings_help_of(plugin).items():
        assert re.search(
            rf"^  # {re.escape(helped[:40])}.*\n(  # .*\n)*  (# )?{re.escape(name)}: ", text, re.MULTILINE
        ), name


def test_what_is_commented_out_can_be_set(tmp_path: Path) -> None:
    chaos("init", "minimq")
    text = Path("chaos.yaml").read_text()
    for name, value in {"seed": "7", "fault-duration": "500ms", "rto-budget": "1m", "check": "[no-loss]"}.items():
        text, times = re.subn(rf"^# {name}: .*$", f"{name}: {value}", text, flags=re.MULTILINE)
        assert times == 1, name
    Path("chaos.yaml").write_text(text)
    made = load(Path("chaos.yaml")).values
    assert (made["seed"], made["fault_duration_s"], made["rto_budget_s"], made["checks"]) == (
        7,
        0.5,
        60.0,
        ("no-loss",),
    )


def test_nothing_is_written_over() -> None:
    Path("chaos.yaml").write_text("mine")
    done = chaos("init", "minimq")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == "chaos.yaml: it is there already; remove it, or name another with --output FILE"
    assert Path("chaos.yaml").read_text() == "mine"
    assert chaos("init", "minimq", "--output", "other.yaml").exception is None
    assert "chaos run -d other.yaml" in Path("other.yaml").read_text()


def test_it_can_be_printed() -> None:
    done = chaos("init", "etcd", "--output", "-")
    assert yaml.safe_load(done.output)["system"] == "etcd"
    assert not Path("chaos.yaml").exists()


@pytest.mark.parametrize(
    ("argv", "says"), [(["etdc"], "did you mean etcd?"), (["etcd", "--output", "no/x"], "No such file")]
)
def test_what_cannot_be_is_one_line(argv: list[str], says: str) -> None:
    done = chaos("init", *argv)
    assert isinstance(done.exception, UsageError)
    assert says in str(done.exception)


@pytest.mark.parametrize("text", ["on", "false", "1_0", "0.5", "16m", "", "a: b", "# no", " x ", "'q'", "[", "~", "é"])
def test_a_word_is_read_again_as_it_is(text: str) -> None:
    source = parse(f"key: {_scalar(text)}\n", "file")
    (entry,) = source.entries(source.root, "file")
    assert source.text(entry.value, "key") == text
