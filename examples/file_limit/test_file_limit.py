"""The fault on a fake system, whose nodes are real processes: done, proven, and undone."""

from pathlib import Path

from chaos.testing import run


def test_it_is_proven_and_healed(tmp_path: Path) -> None:
    """The evidence is what the kernel says of the processes."""
    done = run(tmp_path, nemesis="random-file-limit:files=7")
    (fault,) = done.results.faults
    assert (fault.proven, fault.healed) == (True, True), fault
    assert "may open 7" in fault.evidence
