"""The packages under ``examples/``, installed by pip as a stranger would install them, and ``chaos`` that sees them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from repository import ROOT

EXAMPLES = ROOT / "examples"
NAMES = tuple(sorted(path.parent.name for path in EXAMPLES.glob("*/pyproject.toml")))


def install(name: str, folder: Path) -> Path:
    """Install an example into a folder of its own, without the network; returns that folder."""
    source, site = folder / f"{name}-source", folder / f"{name}-site"
    shutil.copytree(EXAMPLES / name, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet")
    argv = [sys.executable, "-m", "pip", "install", *offline, "--target", str(site), str(source)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return site


def python(site: Path, *argv: str, cwd: Path, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
    """Python in a process that sees what was installed there."""
    known = os.environ.get("PYTHONPATH", "")
    env = {**os.environ, "PYTHONPATH": f"{site}:{known}" if known else str(site)}
    return subprocess.run(
        [sys.executable, *argv], cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout_s, check=False
    )


def chaos(site: Path, *argv: str, cwd: Path, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
    """The command in such a process."""
    return python(site, "-m", "chaos", *argv, cwd=cwd, timeout_s=timeout_s)
