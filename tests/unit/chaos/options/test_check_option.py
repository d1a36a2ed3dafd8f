"""``--check`` of a run: checks beside those of the workload, on the command line and in a file."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from chaos.cli.main import cli
from chaos.cli.options.run_options import as_argv
from chaos.core.errors import UsageError
from chaos.options.check_names import check_names
from chaos.options.config_file import load
from chaos.options.experiment import as_yaml
from chaos.options.resolve import experiment_of


def test_names_may_be_given_one_by_one_or_with_commas_and_count_once() -> None:
    assert check_names(()) == ()
    assert check_names(("set", "no-loss, order", "set")) == ("set", "no-loss", "order")


@pytest.mark.parametrize(
    ("name", "said"),
    [("no-los", "--check no-los: no such check; did you mean no-loss?"), ("qqqq", "rto, semaphore, set")],
)
def test_an_unknown_name_is_refused_in_one_line_with_what_there_is(name: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        experiment_of({"checks": (name,)})
    assert said in str(refused.value)
    done = CliRunner().invoke(cli, ["run", "--check", name], standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert UsageError.exit_code == 254


def test_a_run_keeps_the_names_in_its_file_and_in_the_command_that_repeats_it(tmp_path: Path) -> None:
    experiment = experiment_of({"checks": ("set", "counter")})
    assert experiment.checks == ("set", "counter")
    file = tmp_path / "config.yaml"
    file.write_text(as_yaml(experiment))
    assert yaml.safe_load(file.read_text())["checks"] == ["set", "counter"]
    assert experiment_of({}, load(file)).checks == ("set", "counter")
    assert as_argv({"checks": experiment.checks}) == ["--check", "set,counter"]


@pytest.mark.parametrize("key", ["check", "checks"])
def test_a_file_names_them_by_either_word(key: str, tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(f"{key}: [set]\n")
    assert experiment_of({}, load(file)).checks == ("set",)
    assert experiment_of({"checks": ("counter",)}, load(file)).checks == ("counter",), "what is typed wins"
