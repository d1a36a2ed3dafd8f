"""The command line as a process: exit codes, speed of --help, what is imported."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from repository import ROOT

from chaos.cli import main
from chaos.cli.main import PACKAGES

CHAOS = [sys.executable, "-m", "chaos"]


def chaos(*argv: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*CHAOS, *argv], capture_output=True, text=True, timeout=60, check=False, cwd=cwd)


def test_help_names_every_command_and_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom chaos.cli.main import cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        "heavy = {'pyspark', 'pyarrow', 'numpy', 'pandas', 'docker', 'paramiko', 'jinja2', 'rich', 'yaml'}\n"
        "heavy &= set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    from chaos.cli.main import COMMANDS, SECTIONS

    named = [name for names in SECTIONS.values() for name in names]
    assert sorted(named) == sorted(COMMANDS), "each command stands in one section"
    for name in named:
        assert f"\n  {name} " in done.stdout


def test_help_texts_are_sentences_and_the_list_says_what_the_command_says() -> None:
    import click

    from chaos.cli.main import COMMANDS, cli

    for name, (_, short) in COMMANDS.items():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        first = (command.help or "").split("\n")[0]
        assert first.endswith("."), name
        assert short.endswith((".", "…")), name
        assert first.split()[0] == short.split()[0], f"{name}: one verb in both"
        for param in command.params:
            if isinstance(param, click.Option) and param.help and not param.hidden:
                text = param.help.partition("  [")[0]
                assert text[0].isupper(), (name, param.name)
                assert text.endswith("."), (name, param.name)
                assert len(text) <= 200, (name, param.name)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["run", "--no-such-option"], "--no-such-option"),
        (["nonsense"], "nonsense"),
        (["run", "--system", "rocketmw"], "did you mean rocketmq?"),
        (["run", "--set", "minInSyncReplica=1"], "did you mean minInSyncReplicas?"),
        (["run", "--set", "novalue"], "key=value"),
        (["run", "--nemesis", "random-partitoin"], "did you mean random-partition"),
        (["run", "--nemesis", "random-kill@brokr"], "broker"),
        (["run", "--workload", "pop"], "clients of minimq make no pop"),
        (["run", "--system", "rocketmq", "--workload", "idempotent"], "clients of rocketmq make no idempotent send"),
        (["run", "--bug", "forget-vot"], "did you mean forget-vote?"),
        (["run", "--bug", "forget-vote", "--set", "bug=offset-gap"], "two bugs at once"),
        (["run", "--bug", "forget-vote", "--system", "rocketmq"], "rocketmq carries no bugs"),
        (["run", "--backend", "netnz"], "did you mean netns?"),
        (["run", "--time-limit", "0"], "-t/--time-limit 0: give a duration above 0"),
        (["run", "--rate", "0"], "-r/--rate 0: give a number above 0"),
        (["run", "-c", "0"], "-c/--clients 0: give a whole number from 1"),
        (["run", "--concurrency", "0"], "-c/--clients 0: give a whole number from 1"),
        (["run", "--workers", "100"], "--workers 100: give a whole number from 1 to 64"),
        (["run", "--rto-budget", "-1"], "--rto-budget -1: give a duration from 0"),
        (["run", "--bug", "duplicate-on-retry", "--workload", "queue"], "leave --workload out"),
        (["show", "-1", "--from", "50", "--to", "40"], "--from 50s: it is after --to 40s"),
        (["check", "no-such-run"], "no-such-run"),
        (["generate", "--ops", "999", "--output", "made", "--anomaly", "lost-wirte=1"], "did you mean lost-write?"),
        (["generate", "--ops", "999", "--output", "made", "--model", "kafka"], "ends in .edn or .json"),
        (["check"], "PATHS"),
        (["check", "-1"], "-1: store has 0 runs"),
        (["report", "-1"], "-1: store has 0 runs"),
        (["show", "-1", "--bogus"], "--bogus: no such option"),
        (["replay", "--bogus"], "--bogus: no such option"),
        (["check", "-1", "--modle", "x"], "--modle: no such option; did you mean --model?"),
    ],
)
def test_bad_arguments_end_in_254_with_one_clear_line(
    argv: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["chaos", *argv])
    assert main.run() == 254
    said = capsys.readouterr().err
    assert says in said
    assert said.startswith("chaos: ")
    assert said.count("\n") == 1, "one line"
    assert not any(tmp_path.glob("store/*/*")), "a run that cannot begin leaves no folder"


@pytest.mark.parametrize(
    "group", ["systems", "backends", "workloads", "nemeses", "checks", "anomalies", "reporters", "bugs", "settings"]
)
def test_list_shows_every_group(group: str) -> None:
    done = CliRunner().invoke(main.cli, ["list", group, "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    rows = json.loads(done.stdout)
    assert rows
    assert all(row["name"] and row["help"] and "error" not in row for row in rows)


def test_list_settings_says_what_can_be_set() -> None:
    lines = CliRunner().invoke(main.cli, ["list", "settings"], catch_exceptions=False).stdout.splitlines()
    assert any(line.split()[:2] == ["cluster.mode", "rocketmq"] and "master-slave" in line for line in lines)
    assert any(line.split()[:2] == ["client.routing", "minimq"] for line in lines)


def test_list_bugs_says_what_brings_each_to_light() -> None:
    lines = CliRunner().invoke(main.cli, ["list", "bugs"], catch_exceptions=False).stdout.splitlines()
    assert any(line.split()[:5] == ["truncate-acked", "minimq", "queue", "leader-kill", "lost-write"] for line in lines)


@pytest.mark.parametrize(
    "argv",
    [
        ["--help"],
        ["--version"],
        ["run", "--help"],
        pytest.param(["list", "nemeses"], marks=pytest.mark.broad),  # it tries all faults on hosts, as doctor does
        ["list", "checks", "--json"],
        ["ls"],
        ["plan", "--backend", "netns"],
        pytest.param(["doctor"], marks=pytest.mark.broad),
        ["clean", "--dry-run"],
    ],
    ids=" ".join,
)
def test_a_command_whose_reader_went_away_ends_quietly_as_other_tools_do(argv: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*CHAOS, *argv],
        stdout=_closed_pipe(),
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(("values", "code"), [((0, 0), 0), ((0, 1), 1)])
def test_a_verdict_stays_what_it_is_without_a_reader(values: tuple[int, int], code: int, tmp_path: Path) -> None:
    file = tmp_path / "set.edn"
    file.write_text(
        "{:process 0 :type :invoke :f :add :value 0}\n{:process 0 :type :ok :f :add :value 0}\n"
        f"{{:process 0 :type :invoke :f :read :value nil}}\n{{:process 0 :type :ok :f :read :value #{{{values[1]}}}}}\n"
    )
    argv = ["check", str(file), "--format", "jepsen", "--model", "set"]
    done = subprocess.run(
        [*CHAOS, *argv], stdout=_closed_pipe(), stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (code, "")


def test_nobody_who_hears_a_refusal_changes_its_exit_code() -> None:
    for argv in (["nonsense"], ["check", "no-such-run"]):
        done = subprocess.run([*CHAOS, *argv], stdout=subprocess.PIPE, stderr=_closed_pipe(), timeout=60, check=False)
        assert (done.returncode, done.stdout) == (254, b"")


def test_a_terminal_that_went_away_leaves_a_run_its_exit_code() -> None:
    code = "import sys\nfrom chaos.cli.output import tell\ntell('a')\ntell('b')\nsys.exit(1)\n"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=_closed_pipe(), stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (1, "")


def _closed_pipe() -> int:
    """The end of a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def test_version_is_printed() -> None:
    from chaos import __version__

    assert __version__ in chaos("--version").stdout


def test_a_package_of_the_same_name_from_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "__init__.py").write_text("")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    argv = [sys.executable, "-P", "-m", "chaos", "--version"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, env=env)
    assert done.returncode == 255
    assert f"'cluster' comes from {tmp_path}" in done.stderr


def test_the_distribution_holds_exactly_the_six_packages() -> None:
    root = ROOT
    found = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]["include"]
    assert sorted(found) == sorted(f"{name}*" for name in PACKAGES)
    assert sorted(path.parent.name for path in root.glob("*/__init__.py")) == sorted(PACKAGES)


def test_what_a_library_does_at_the_very_end_does_not_change_the_exit_code(tmp_path: Path) -> None:
    code = (
        "import ctypes, sys\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.__cxa_atexit(libc.abort, None, None)\n"  # as a destructor of a C++ library that goes wrong
        "from chaos.cli.main import main\n"
        f"sys.argv = ['chaos', 'check', {str(tmp_path / 'gone')!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 254, done.stderr
    assert "gone" in done.stderr
