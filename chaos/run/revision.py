"""Which revision of chaos a run was made with, as far as the folder that it is imported from can say."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Final

import chaos

_PATIENCE_S: Final = 10.0
CHANGED: Final = "+changes"


@cache
def source_revision(folder: Path = Path(chaos.__file__).parents[1]) -> str:
    """``f612174b03ce``, with ``+changes`` where files differ from it; empty where chaos is installed without sources.

    Args:
        folder: what holds the packages.
    """
    if not (folder / ".git").exists():
        return ""
    try:
        revision = _git(folder, "rev-parse", "--short=12", "HEAD")
        return revision + CHANGED if _git(folder, "status", "--porcelain", "--untracked-files=no") else revision
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(folder: Path, *words: str) -> str:
    argv = ["git", "-C", str(folder), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=_PATIENCE_S).stdout.strip()
