"""What help shows: options in sections, examples that can be typed, and only defaults that hold."""

import re
import shlex
from typing import Any

import click
import help_texts
import pytest

from chaos import plugins
from chaos.cli.main import COMMANDS, cli
from chaos.cli.options.sections import COMMON, OTHER, SectionOption
from chaos.options.planning import draw_plan, mix_of
from chaos.options.resolve import experiment_of

SHOWN_DEFAULT = re.compile(r"\[default: ([^\]]+)\]")


def command_of(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command


def help_of(name: str) -> str:
    return command_of(name).get_help(click.Context(command_of(name), info_name=f"chaos {name}", terminal_width=80))


def examples_of(name: str) -> list[str]:
    return re.findall(r"^  (\S.*)$", command_of(name).epilog or "", re.MULTILINE)


EXAMPLES = [(name, line) for name in COMMANDS for line in examples_of(name)]


@pytest.mark.parametrize("name", ["run", "plan", "replay", "up"])
def test_every_option_of_a_run_stands_in_a_section(name: str) -> None:
    params = [one for one in command_of(name).params if isinstance(one, click.Option) and not one.hidden]
    loose = [one.name for one in params if not isinstance(one, SectionOption) or one.section == OTHER]
    assert loose == (["as_json"] if name == "plan" else ["foreground"] if name == "up" else [])
    headings = re.findall(r"^(\S.*):$", help_of(name), re.MULTILINE)
    assert headings[0] == COMMON
    assert headings[-1] == OTHER
    assert len(headings) == len(set(headings))


def test_help_of_run_names_an_option_once_and_takes_its_other_names() -> None:
    text = help_of("run")
    assert "-c, --clients COUNT" in text
    assert "--concurrency" not in text
    for words in (["--concurrency", "3"], ["-c", "3"], ["--clients", "3"]):
        assert command_of("run").make_context("run", list(words)).params["clients"] == 3


@pytest.mark.parametrize("name", COMMANDS)
def test_every_number_is_refused_in_our_words_and_has_bounds(name: str) -> None:
    command = command_of(name)
    inside = command.commands.values() if isinstance(command, click.Group) else ()
    params = [param for one in (command, *inside) for param in one.params]
    of_clicks = (click.types.IntParamType, click.types.FloatParamType)
    assert [param.name for param in params if isinstance(param.type, of_clicks)] == []


def test_run_has_five_examples_and_each_can_be_planned() -> None:
    lines = examples_of("run")
    assert len(lines) == 5
    for line in lines:
        options: dict[str, Any] = dict(command_of("run").make_context("run", shlex.split(line)[2:]).params)
        for beside in ("live", "repeat", "until_failure", "jobs"):
            options.pop(beside)
        experiment = experiment_of(options)
        system = plugins.load("systems", experiment.system)()
        assert mix_of(experiment, system), line
        assert draw_plan(experiment, system), line


@pytest.mark.parametrize(("name", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_an_example_can_be_typed(name: str, line: str) -> None:
    words = shlex.split(line.removeprefix("source <(").removesuffix(")").partition(" > ")[0])
    assert words[:2] == ["chaos", name]
    command_of(name).make_context(name, words[2:])


def test_replay_shows_no_default_that_it_does_not_use() -> None:
    command = command_of("replay")
    for param in command.params:
        if isinstance(param, click.Option) and not param.hidden and param.name != "store":
            shown = SHOWN_DEFAULT.search(param.help or "")
            assert shown is None, f"--{param.name} of the run is taken, not {shown and shown[1]}"
    for word in ("--nemesis", "--fault-interval", "--rhythm"):
        assert word not in help_of("replay"), "the plan of the run decides it"
    assert "[default: 1m]" in help_of("run")


@pytest.mark.parametrize("name", sorted(help_texts.texts()))
def test_help_is_as_it_was_meant(name: str) -> None:
    again = "if it is meant: .venv/bin/python tests/support/help_texts.py"
    assert help_texts.texts()[name] == (help_texts.FOLDER / f"{name}.txt").read_text(), again


def test_no_help_text_is_left_of_a_command_that_is_gone() -> None:
    assert {path.stem for path in help_texts.FOLDER.iterdir()} == set(help_texts.texts())


@pytest.mark.parametrize(("name", "text"), help_texts.texts().items())
def test_help_fits_a_terminal_but_for_examples(name: str, text: str) -> None:
    lines = text.partition("  Examples:\n")[0].splitlines()
    assert [line for line in lines if len(line) > help_texts.WIDTH] == []
