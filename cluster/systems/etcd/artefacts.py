"""The program ``etcd``, once per user: out of Debian's package, which is unpacked and not installed."""

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from chaos.core.errors import CapabilityError, DeployError
from cluster.systems._shared.cache import cache_root

VERSION: Final = "3.4.23"
_PACKAGE: Final = "etcd-server"
_TIMEOUT_S: Final = 300.0


def fetch(say: Callable[[str], None], environment: Mapping[str, str] | None = None) -> Path:
    """The folder that holds ``etcd``; makes it if it is not there.

    Args:
        say: gets one line if it has to be made.
        environment: the variables that place the cache and find the tools (default: this process').

    Raises:
        CapabilityError: this machine has no apt, or its package lists have no such version.
        DeployError: the package cannot be unpacked, or the cache cannot be written.
    """
    environment = os.environ if environment is None else environment
    root = cache_root(environment)
    folder = root / f"etcd-{VERSION}-{platform.machine()}"
    if folder.is_dir():
        return folder
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program, path=environment.get("PATH")) is None:
            raise CapabilityError(f"etcd comes from Debian's {_PACKAGE}, and here is no {program}; use Debian 12")
    say(f"etcd {VERSION}: fetching Debian's {_PACKAGE} into {root} (8 MB, once)")
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=f"{folder.name}.partial-") as partial:
            _unpack(Path(partial), environment)
            if not folder.is_dir():  # another run was faster, and its folder is the same
                (Path(partial) / "x/usr/bin").rename(folder)
    except OSError as error:
        raise DeployError(f"{error.filename or root}: {error.strerror}; make it writable or set CHAOS_CACHE") from None
    return folder


def _unpack(partial: Path, environment: Mapping[str, str]) -> None:
    wanted = f"{_PACKAGE}={VERSION}*"
    if (said := _failed(["apt-get", "download", wanted], partial, environment)) is not None:
        raise CapabilityError(f"etcd: apt-get download {wanted}: {said}; apt-get update, on Debian 12")
    for package in partial.glob("*.deb"):
        if (said := _failed(["dpkg-deb", "-x", str(package), "x"], partial, environment)) is not None:
            raise DeployError(f"etcd: {package.name} cannot be unpacked: {said}")


def _failed(argv: list[str], folder: Path, environment: Mapping[str, str]) -> str | None:
    """What the command said last if it failed; None if it did not."""
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, timeout=_TIMEOUT_S, check=False)
    lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return (lines or [f"exit {done.returncode}"])[-1] if done.returncode else None
