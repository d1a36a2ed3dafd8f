"""The share of the processors that load and observers have beside the nodes on the same machine.

Who measures must not wait for who is measured. A nice value alone does not see to it: the kernel weighs it only among
the processes of one group. Processes that no control group holds are grouped by session (sched_autogroup(7)), and each
container is a control group. So the same wish is stated for the group that counts.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

PRIORITY: Final = -10
"""Nice value of load and observers, and of their session, where the user may set it."""

SHARES: Final = 10_240
"""CPU shares of the container that load and observers run beside; a node's container has 1,024."""

_AUTOGROUP: Final = Path("/proc/self/autogroup")


def take_precedence() -> None:
    """Put this process, and its session where sessions are what is weighed, before others; what is refused stays."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    with suppress(OSError):  # a kernel without it, or a user who may not
        _AUTOGROUP.write_text(str(PRIORITY))


def cpu_group(told: str) -> tuple[bool, str]:
    """Pure: the control group that weighs a process, from the text of /proc/PID/cgroup.

    Returns whether it is in the hierarchy of version 1 that has the controller ``cpu``, and its path there; else its
    path in version 2. ``/`` is no group.
    """
    lines = [line.split(":", 2) for line in told.splitlines() if line.count(":") >= 2]  # noqa: PLR2004 - three fields
    for _, controllers, path in lines:
        if "cpu" in controllers.split(","):
            return True, path
    return False, next((path for number, _, path in lines if number == "0"), "/")


def mount_of(told: str, *, version_1: bool) -> str | None:
    """Pure: where the hierarchy that weighs processes is mounted, from the text of /proc/mounts."""
    for line in told.splitlines():
        _, place, kind, options, *_ = line.split(" ")
        if (kind == "cgroup" and "cpu" in options.split(",")) if version_1 else kind == "cgroup2":
            return place
    return None


def procs_of(pid: int) -> Path | None:
    """The file that takes processes into the group of another one; None if this process is in no group itself.

    A process in no group is weighed with its session against all containers together, which serves it better.
    """
    with suppress(OSError):
        version_1, own = cpu_group(Path("/proc/self/cgroup").read_text())
        group = cpu_group(Path(f"/proc/{pid}/cgroup").read_text())
        mount = mount_of(Path("/proc/mounts").read_text(), version_1=version_1)
        if own != "/" and group[0] == version_1 and mount is not None:
            return Path(mount, group[1].lstrip("/"), "cgroup.procs")
    return None
