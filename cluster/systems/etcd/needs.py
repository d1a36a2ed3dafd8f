"""Whether etcd is there or can be had: Debian's package, unpacked in the cache."""

import os
import platform
import shutil
from collections.abc import Mapping

from cluster.needs import Need
from cluster.systems._shared.cache import cache_root
from cluster.systems._shared.debian import Package


def needs(package: Package, environment: Mapping[str, str] | None = None) -> Need:
    """The folder if the package is unpacked already, else the tools that fetch it (``debian.unpacked``)."""
    environment = os.environ if environment is None else environment
    folder = cache_root(environment) / f"{package.program}-{package.version}-{platform.machine()}"
    if folder.is_dir():
        return Need(met=True, detail=f"{package.version} in {folder}")
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool, path=environment.get("PATH")) is None:
            detail = f"it comes from Debian's {package.name} {package.version}, and here is no {tool}"
            return Need(met=False, detail=detail, help=f"use {package.release}")
    fetched = f"the first run fetches Debian's {package.name} {package.version} by apt-get ({package.size})"
    return Need(met=True, detail=f"{fetched} into {folder}")
