"""``chaos doctor`` for people: what works in few lines, what does not with what helps."""

import pytest
from click.testing import CliRunner

from chaos import plugins
from chaos.cli.inspect import faults_together
from chaos.cli.main import cli
from cluster.doctor import Fact

FOUND = [
    Fact("iptables", True, "v1.8.9"),
    Fact("fault delay", True, "works", fault="delay"),
    Fact("fault disk-full", False, "no /dev/fuse", "modprobe fuse", fault="disk-full"),
    Fact("fault reorder", True, "works", fault="reorder"),
    Fact("java", True, "17"),
]


def test_faults_that_work_share_a_line_and_one_that_does_not_keeps_its_own() -> None:
    shown = list(faults_together(FOUND))
    assert [(fact.name, fact.detail) for fact in shown] == [
        ("iptables", "v1.8.9"),
        ("faults that were tried", "work: delay, reorder"),
        ("fault disk-full", "no /dev/fuse"),
        ("java", "17"),
    ]
    assert shown[2] == FOUND[2]


def test_where_no_fault_works_nothing_is_said_to() -> None:
    facts = [fact for fact in FOUND if not (fact.fault and fact.ok)]
    assert list(faults_together(facts)) == facts


@pytest.mark.broad
def test_there_is_a_line_for_every_system() -> None:
    done = CliRunner().invoke(cli, ["doctor"], standalone_mode=False)
    assert done.exception is None, done.exception
    for name in plugins.names("systems"):
        assert f"  system {name} " in done.output
