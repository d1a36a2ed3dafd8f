"""Whole runs on containers with an sshd: machines to the harness, nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from host_support import make
from run_support import ROCKETMQ_FAULTS
from ssh_containers import ContainerLab, containers
from ssh_support import valid_run

from chaos import plugins
from cluster.hosts.docker.image import packages_for

OPTIONS = {
    "minimq": ("--time-limit", "30", "--fault-interval", "5", "--rate", "100"),
    "rocketmq": ("--set", "client.routing=follow", *ROCKETMQ_FAULTS),
}
NEMESES = {"minimq": ("random-partition", "random-kill"), "rocketmq": ("random-kill",)}
"""One fault of links and one of processes; each system under all of them is on machines that are namespaces."""


@pytest.fixture(scope="module")
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, ContainerLab]]:
    """A system, and containers on which its nodes can run; one system's are gone before the other's are made."""
    make("docker")  # skips where there is no engine
    system = plugins.load("systems", request.param)()
    nodes = system.topology(system.resolve({}))
    folder = tmp_path_factory.mktemp("containers")
    with containers(folder, *(node.name for node in nodes), packages=packages_for(nodes)) as made:
        yield request.param, made


@pytest.mark.backends
@pytest.mark.parametrize(
    ("place", "nemesis"), [(system, nemesis) for system in OPTIONS for nemesis in NEMESES[system]], indirect=["place"]
)
def test_a_system_is_valid_on_containers_with_sshd(place, nemesis, monkeypatch):
    monkeypatch.setenv("CHAOS_CACHE", str(Path.home() / ".cache" / "chaos"))  # Maven takes minutes
    system, lab = place
    valid_run(lab, "--system", system, "--nemesis", nemesis, *OPTIONS[system])
