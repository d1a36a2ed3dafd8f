"""The revision that a run was made with, from a real repository."""

import subprocess
from pathlib import Path

from chaos.run.revision import source_revision


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false"]
    argv = ["git", "-C", str(folder), *names, *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def test_a_commit_and_whether_files_differ_from_it(tmp_path: Path) -> None:
    assert source_revision(tmp_path) == "", "installed without its sources"
    clean, changed = tmp_path / "clean", tmp_path / "changed"
    for folder in (clean, changed):
        git(tmp_path, "init", "-q", str(folder))
        (folder / "file").write_text("one")
        git(folder, "add", "file")
        git(folder, "commit", "-qm", "one")
    (changed / "file").write_text("two")
    assert source_revision(clean) == git(clean, "rev-parse", "--short=12", "HEAD")
    assert source_revision(changed) == git(changed, "rev-parse", "--short=12", "HEAD") + "+changes"
    (tmp_path / "odd" / ".git").mkdir(parents=True)
    assert source_revision(tmp_path / "odd") == "", "no repository after all"


def test_this_very_repository_has_one() -> None:
    assert len(source_revision().removesuffix("+changes")) == 12
