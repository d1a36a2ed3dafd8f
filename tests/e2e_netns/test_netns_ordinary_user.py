"""Everything that root can do here, an ordinary user can: the same tests, run by one."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parent
USER = 23456
HOSTS = HERE.parent / "e2e_hosts"
FILES = (
    HOSTS / "test_hosts.py",
    HOSTS / "test_hosts_process.py",
    HOSTS / "test_hosts_network.py",
    HERE / "test_netns_hosts.py",
    HERE / "test_netns_death.py",
)


def as_user(*argv: str, env: dict[str, str], timeout_s: float) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *argv],
        env=env,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def interpreter(env: dict[str, str]) -> str:
    """A Python of this version that another user may run and that finds what we have installed."""
    usable = "import os, sys, pytest, msgspec; os.stat(sys.executable)"
    for candidate in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        if as_user(candidate, "-c", usable, env=env, timeout_s=60).returncode == 0:
            return candidate
    assert not os.environ.get("CI"), "CI has no Python that another user may run"
    pytest.skip("no Python here that another user may run")


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs these tests already")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_as_an_ordinary_user(path):
    home = Path(tempfile.mkdtemp(prefix="chaos-user-"))
    try:
        shutil.chown(home, USER, USER)
        installed = [path for path in sys.path if "site-packages" in path]
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), *installed]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        python = interpreter(env)
        settings = str(HERE.parents[1] / "pyproject.toml")
        options = ("-q", "-p", "no:cacheprovider", "-c", settings, "--basetemp", str(home / "made"))
        done = as_user(python, "-m", "pytest", *options, "-k", "not docker", str(path), env=env, timeout_s=300)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        assert " passed" in done.stdout
    finally:
        shutil.rmtree(home)
