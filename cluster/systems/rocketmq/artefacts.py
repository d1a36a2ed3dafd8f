"""RocketMQ's jars in each version, and the native library that its brokers load."""

import platform
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Final

from chaos.core.errors import CapabilityError, DeployError, UsageError
from cluster.systems._shared.maven import Distribution
from cluster.versions import release_of

VERSION: Final = "5.5.0"


def unpack_native(partial: Path) -> None:
    """Unpack the RocksDB library once; each broker start would leave a copy in its temporary folder."""
    member = {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"}.get(platform.machine())
    if member is None:
        raise CapabilityError(f"RocketMQ has no native library for {platform.machine()}; use x86-64 or ARM-64")
    jars = [*(partial / "lib").glob("rocketmq-rocksdb-*.jar")]
    if not jars:
        return  # early versions have none
    if len(jars) != 1:
        raise DeployError(f"{partial}/lib: {len(jars)} rocketmq-rocksdb jars instead of one; remove the folder")
    with zipfile.ZipFile(jars[0]) as archive:
        archive.extract(member, partial / "native")


DISTRIBUTION: Final = Distribution(
    program="rocketmq",
    label="RocketMQ",
    version=VERSION,
    size="94 MB",
    pom=files(__package__).joinpath("distribution.pom").read_bytes(),
    finish=unpack_native,
)
HOLDS: Final = "lib with RocketMQ's jars, as its distribution unpacks to"
_FIRST: Final = (5, 0)
_BROKER: Final = "rocketmq-broker-*.jar"


def distribution(version: str) -> Distribution:
    """The jars of a version; whether the registry has it is for Maven to find out.

    Raises:
        UsageError: it is no version, or one without controllers.
    """
    _check(version)
    if version == VERSION:
        return DISTRIBUTION
    return DISTRIBUTION._replace(
        version=version, size="about 100 MB", pom=DISTRIBUTION.pom.replace(VERSION.encode(), version.encode())
    )


def version_in(folder: Path) -> str:
    """The version of the jars in the folder ``lib`` of a folder. Raises UsageError: there are none."""
    jars = [*(folder / "lib").glob(_BROKER)]
    if len(jars) != 1:
        raise UsageError(f"{len(jars)} {_BROKER} in {folder / 'lib'} instead of one; name a folder that holds {HOLDS}")
    before, after = _BROKER.split("*")
    version = jars[0].name.removeprefix(before).removesuffix(after)
    _check(version)
    return version


def _check(version: str) -> None:
    if release_of(version, VERSION) < _FIRST:
        raise UsageError(f"--system-version {version}: RocketMQ has controllers since 5.0.0; name that or a later one")
