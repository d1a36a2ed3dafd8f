"""The reporter on runs of a fake system."""

from pathlib import Path

from chaos.testing import FakeSystem, lose_acknowledged, run


def test_the_verdict_is_there(tmp_path: Path) -> None:
    """Its sentence, a row for each check, and the fault with its proof."""
    fake = FakeSystem(bug=lose_acknowledged())
    done = run(tmp_path, fake, workload="set", nemesis="random-kill", reports=("html", "markdown"))
    text = (done.folder / "report.md").read_text()
    assert f"**invalid**: {done.results.sentence}" in text
    assert "| set | **invalid** | lost-write" in text
    assert f"| random-kill | {' '.join(done.results.faults[0].targets)} | " in text
