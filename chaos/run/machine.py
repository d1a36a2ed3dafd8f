"""The machine a run was made on, as ``run.json`` keeps it: cheap facts, none of them probed by doing.

``chaos doctor`` finds out what the machine *can do*; this module refuses to.
"""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

_LIBRARIES: Final = ("pyspark", "pyarrow", "numpy")


def machine_facts() -> dict[str, Any]:
    """Kernel, distribution, cores usable by this process, memory, Python and the libraries that judge."""
    release = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    facts: dict[str, Any] = {
        "system": release.get("PRETTY_NAME", platform.system()),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": f"{memory_bytes / 2**30:.1f} GiB",
        "user": "root" if os.geteuid() == 0 else "ordinary",
        "python": platform.python_version(),
    }
    for name in _LIBRARIES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "not installed"
    return facts
