"""A damaged run folder is refused, or judged as the whole one is: never another verdict, never a traceback."""

import random
import shutil

import pytest
from click.testing import CliRunner
from damage import STATES, WORKLOADS, damage, is_sound, make, verdict_of

from chaos.cli.main import cli
from chaos.core.errors import ChaosError

COMMANDS = (
    ("check", "--engine", "local"),
    ("check", "--engine", "local", "--json"),
    ("check", "--engine", "local", "--check", "no-loss"),
    ("show",),
    ("show", "--around", "1"),
    ("show", "--around", "lost-write"),
    ("report",),
)


def _spoil(tmp_path, seed, workload, state, times):
    """Damage one folder again and again, each time anew; how often it was refused."""
    rng = random.Random(f"{seed} {workload} {state}")
    before = make(rng, workload, state, tmp_path / "whole")
    assert verdict_of(tmp_path / "whole") == before
    refused = 0
    for number in range(times):
        one = random.Random(f"{seed} {workload} {state} {number}")
        folder = tmp_path / "damaged"
        shutil.copytree(tmp_path / "whole", folder)
        what = damage(one, folder)
        after = verdict_of(folder)
        assert is_sound(before, after, state), f"seed {seed}, {number}: {what}: {before} became {after}"
        refused += isinstance(after, str)
        shutil.rmtree(folder)
    shutil.rmtree(tmp_path / "whole")
    return refused


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_damaged_folder_is_never_judged_otherwise(tmp_path, workload, state):
    _spoil(tmp_path, 0, workload, state, 4)


@pytest.mark.longer
@pytest.mark.parametrize("seed", range(1, 15))
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_ten_thousand_damages(tmp_path, workload, state, seed):
    assert _spoil(tmp_path, seed, workload, state, 30)


def _command(tmp_path, seed, workload, state, times):
    """Let commands look at a damaged folder: a line and 254, or an answer."""
    rng = random.Random(f"{seed} {workload} {state}")
    make(rng, workload, state, tmp_path / "whole")
    for number in range(times):
        one = random.Random(f"{seed} {workload} {state} {number}")
        folder = tmp_path / "store" / "group" / "damaged"
        shutil.copytree(tmp_path / "whole", folder)
        what, argv = damage(one, folder), one.choice(COMMANDS)
        done = CliRunner().invoke(cli, [argv[0], str(folder), *argv[1:]], standalone_mode=False)
        said = f"seed {seed}, {number}: {what}: {argv}: {done.exception!r} {done.output}"
        if done.exception is None:
            assert done.return_value in {0, 1, 2, 254}, said
            assert done.return_value != 254 or len(done.stderr.splitlines()) == 1, said
        else:
            assert isinstance(done.exception, ChaosError), said
            assert done.exception.exit_code == 254, said
            assert "\n" not in str(done.exception), said
        listed = CliRunner().invoke(cli, ["ls", "--store", str(tmp_path / "store")], standalone_mode=False)
        assert listed.exception is None, said
        shutil.rmtree(tmp_path / "store")
    shutil.rmtree(tmp_path / "whole")


@pytest.mark.parametrize("state", STATES)
def test_commands_say_what_is_damaged_in_a_line(tmp_path, state):
    _command(tmp_path, 0, "queue", state, 6)


@pytest.mark.longer
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_commands_say_what_is_damaged_in_a_line_for_every_workload(tmp_path, workload, state):
    _command(tmp_path, 1, workload, state, 40)
