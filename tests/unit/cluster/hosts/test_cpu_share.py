"""Who measures does not wait for who is measured: the group that weighs a process, and what it says of itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.hosts import cpu_share

V1 = "9:name=systemd:/docker/a7\n4:memory:/process_api/0f\n2:cpuacct:/docker/a7\n1:cpu:/docker/a7\n0::/docker/a7\n"
HYBRID = "5:cpu,cpuacct:/\n1:name=systemd:/user.slice\n0::/user.slice/user-0.slice/session-1.scope\n"
V2 = "0::/system.slice/docker-a7:b.scope\n"
MOUNTS_V1 = (
    "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n"
    "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
)


@pytest.mark.parametrize(
    ("told", "group"),
    [
        (V1, (True, "/docker/a7")),
        (HYBRID, (True, "/")),
        (V2, (False, "/system.slice/docker-a7:b.scope")),
        ("0::/\n", (False, "/")),
        ("", (False, "/")),
    ],
)
def test_the_group_is_the_one_that_weighs(told, group):
    assert cpu_share.cpu_group(told) == group


def test_the_mount_is_that_of_the_controller():
    assert cpu_share.mount_of(MOUNTS_V1, version_1=True) == "/sys/fs/cgroup/cpu,cpuacct"
    assert cpu_share.mount_of(MOUNTS_V1, version_1=False) == "/sys/fs/cgroup/unified"
    assert cpu_share.mount_of("tmpfs /sys/fs/cgroup tmpfs rw 0 0\n", version_1=True) is None


def test_a_process_without_a_group_joins_none():
    own = cpu_share.cpu_group(Path("/proc/self/cgroup").read_text())[1]
    found = cpu_share.procs_of(os.getpid())
    assert (found is None) if own == "/" else str(found).endswith(f"{own}/cgroup.procs")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may take precedence")
def test_precedence_is_taken_for_the_process_and_for_its_session():
    code = (
        "import os; from pathlib import Path; from cluster.hosts.cpu_share import take_precedence; take_precedence();"
        "place = Path('/proc/self/autogroup'); print(os.nice(0), place.read_text() if place.exists() else 'nice -10')"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, start_new_session=True)
    nice, _, autogroup = done.stdout.strip().partition(" ")
    assert int(nice) == cpu_share.PRIORITY
    assert autogroup.endswith(f"nice {cpu_share.PRIORITY}")
