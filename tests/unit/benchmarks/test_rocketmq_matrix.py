"""The commands whose rows make docs/results/rocketmq.md can be run, and do what their names say."""

import importlib
import shlex

import pytest
from repository import BENCHMARKS
from rocketmq_view import SYSTEM

from chaos.cli.run import run_command
from chaos.options.resolve import parse_settings
from cluster.systems.rocketmq import promises
from nemesis.plan.plan import make_plan


@pytest.fixture
def matrix(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("rocketmq_matrix")


def asked(command):
    """The resolved settings of a command and the names of its faults."""
    program, verb, *argv = shlex.split(command)
    assert (program, verb) == ("chaos", "run")
    given = run_command.make_context("run", argv).params
    settings = SYSTEM.resolve(parse_settings(given["pairs"]))
    rows = make_plan(
        given["nemesis"],
        SYSTEM.roles,
        SYSTEM.topology(settings),
        interval_s=given["fault_interval_s"],
        duration_s=given["fault_duration_s"] or given["fault_interval_s"],
        time_limit_s=given["time_limit_s"],
        seed=given["seed"],
        subjects=SYSTEM.subjects(settings, 4),
    )
    return settings, [row.name for row in rows]


def test_modes_are_safe_and_meet_faults(matrix):
    for name in matrix.MODES:
        settings, faults = asked(matrix.command_of(name, 1))
        assert promises.unsafe_setting(settings) is None, name
        assert len(faults) >= 3, name


def test_settings_that_give_safety_up_are_known_to(matrix):
    for name in matrix.UNSAFE:
        settings, faults = asked(matrix.command_of(name, 1))
        assert promises.unsafe_setting(settings) is not None, name
        assert faults, name


def test_sections_appear_with_their_rows(matrix):
    row = {
        "name": "jraft",
        "seed": 1,
        "exit": 1,
        "sentence": "One was lost.",
        "reason": "",
        "faults": [{"skipped": False, "lost": 1, "rto": [{"f": "send", "seconds": 2.0, "recovered": True}]}],
    }
    page = matrix.page([row])
    assert "| jraft | 1 | 1:1 | 1 | 0 | 2.0 s | 2.0 s | 1 |" in page
    assert "- jraft, seed 1, exit 1: One was lost." in page
    assert "## Settings that give safety up" not in page
