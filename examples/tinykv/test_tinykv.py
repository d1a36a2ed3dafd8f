"""tinykv on hosts of tests: the real server and client, without namespaces."""

from pathlib import Path

from chaos.testing import run


def test_nothing_is_lost_when_servers_are_killed(tmp_path: Path) -> None:
    """Every change is in a file before it is answered."""
    done = run(tmp_path, "tinykv", nemesis="random-kill")
    assert done.results.faults[0].proven
    assert done.check("register").valid is True


def test_what_is_only_in_memory_is_lost(tmp_path: Path) -> None:
    """The check must find it: of so many keys one is read before it is written again."""
    done = run(tmp_path, "tinykv", nemesis="all-kill", pairs=("durable=false",), keys=30)
    assert done.check("register").valid is False
