"""RocketMQ's jars, and the native library that its brokers load."""

import platform
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Final

from chaos.core.errors import CapabilityError, DeployError
from cluster.systems._shared.maven import Distribution

VERSION: Final = "5.5.0"


def unpack_native(partial: Path) -> None:
    """Unpack the RocksDB library once; each broker start would leave a copy in its temporary folder."""
    member = {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"}.get(platform.machine())
    if member is None:
        raise CapabilityError(f"RocketMQ has no native library for {platform.machine()}; use x86-64 or ARM-64")
    jars = [*(partial / "lib").glob("rocketmq-rocksdb-*.jar")]
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
