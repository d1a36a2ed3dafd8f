"""Whole runs on containers with an sshd: machines to the harness, nothing else."""

from collections.abc import Iterator

import pytest
from host_support import make
from run_support import FAULTS
from ssh_containers import ContainerLab, containers
from ssh_support import MINIMQ, valid_run


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContainerLab]:
    make("docker")  # skips where there is no engine
    with containers(tmp_path_factory.mktemp("containers"), *MINIMQ) as made:
        yield made


@pytest.mark.backends
@pytest.mark.parametrize("nemesis", FAULTS)
def test_minimq_is_valid_on_containers_with_sshd(lab, nemesis):
    valid_run(lab, "--nemesis", nemesis, "--time-limit", "30", "--fault-interval", "5", "--rate", "100")
