"""Whether RocketMQ is there or can be had: a Java, and its jars in the cache or a Maven to fetch them."""

import os
import shutil
from collections.abc import Mapping

from cluster.needs import Need
from cluster.systems._shared.cache import cache_root
from cluster.systems.rocketmq.artefacts import JAVA_PACKAGE, VERSION, folder_in, is_complete


def needs(environment: Mapping[str, str] | None = None) -> Need:
    """What ``artefacts.fetch`` would find."""
    environment = os.environ if environment is None else environment
    path, folder = environment.get("PATH"), folder_in(cache_root(environment))
    if shutil.which("java", path=path) is None:
        return Need(met=False, detail="it needs java, which is not on the PATH", help=f"apt-get install {JAVA_PACKAGE}")
    if is_complete(folder):
        return Need(met=True, detail=f"{VERSION} in {folder}")
    if shutil.which("mvn", path=path) is None:
        detail = f"its jars are not in {folder}, and here is no Maven to fetch them"
        return Need(met=False, detail=detail, help="apt-get install maven")
    return Need(met=True, detail=f"the first run fetches the jars of {VERSION} by Maven into {folder}")
