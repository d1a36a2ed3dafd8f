"""What only containers have: rights, limits, labels, images, and an engine that may refuse."""

import io
import ipaddress
import os
import subprocess
import sys
import tarfile
import textwrap
from pathlib import Path

import pytest
from host_support import make, until

from chaos.core.errors import CapabilityError, UsageError
from cluster.cleanup import run_records
from cluster.host import NodeSpec, hosts_up
from cluster.hosts import cpu_share
from cluster.hosts.addressing import NETWORK
from cluster.hosts.docker import cleanup
from cluster.hosts.docker.backend import DockerBackend
from cluster.hosts.docker.engine import connect

pytestmark = pytest.mark.e2e

SPECS = [NodeSpec(name="b1", role="x")]
NET_ADMIN, NET_RAW = 1 << 12, 1 << 13


@pytest.fixture
def engine(tmp_path, monkeypatch):
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path / "cache"))
    make("docker")  # skips where there is no engine
    with connect() as engine:
        yield engine


def made_by(engine, run_id: str) -> list[tuple[str, str]]:
    """Kind and name of all that a run of this process has in the engine."""
    owner = run_records.marker(run_id)[run_records.OWNER]
    return [(each.kind, each.what.split()[1]) for each in cleanup.of_run(engine, run_id, owner)]


def test_hosts_may_filter_packets_and_nothing_else(sandbox):
    up = sandbox("b1")
    for host in up.hosts.values():
        said = dict(line.split(":\t") for line in host.run("cat", "/proc/self/status", timeout_s=5).text.splitlines())
        assert [int(said[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")] == [NET_ADMIN | NET_RAW] * 3
        assert said["NoNewPrivs"] == "1"
        for refused in (("mount", "-t", "tmpfs", "none", "/mnt"), ("unshare", "--net", "true"), ("dmesg",)):
            assert host.run(*refused, timeout_s=5).returncode != 0
        assert not Path(f"/proc/{os.getpid()}/root{host.home}/from-inside").exists()


def test_all_that_a_run_makes_is_labelled_and_gone_afterwards(sandbox, engine):
    up = sandbox("b1", "b2")
    names = [f"chaos-{up.run_id}-{name}" for name in ("b1", "b2", "client")]
    each_host = [(kind, name) for kind in ("container", "volume") for name in names]
    assert sorted(made_by(engine, up.run_id)) == sorted([("network", f"chaos-{up.run_id}"), *each_host])
    assert up.run_id not in {each.run_id for each in cleanup.leftovers(engine)}  # we live
    up.backend.down()
    assert made_by(engine, up.run_id) == []
    assert not list((run_records.folder().parent / "docker").iterdir())
    assert not list(run_records.folder().iterdir())


def test_two_runs_at_once_have_networks_of_their_own(sandbox):
    one, two = sandbox("b1"), sandbox("b1")
    here, there = one.hosts["b1"], two.hosts["b1"]
    assert here.address.rpartition(".")[0] != there.address.rpartition(".")[0]
    reach = "import socket, sys; socket.create_connection((sys.argv[1], 9), 1)"
    said = here.run("python3", "-c", reach, there.address, timeout_s=20).stderr.decode()
    assert "Network is unreachable" in said


def test_limits_hold(tmp_path, monkeypatch):
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path / "cache"))
    backend = make("docker", memory="64m", cpus="0.25")
    (tmp_path / "work").mkdir()
    with hosts_up(backend, f"limits-{os.getpid()}", SPECS, tmp_path / "work") as hosts, connect() as engine:
        for name, memory, cpus in (("b1", 64 << 20, 250_000_000), ("client", 0, 0)):
            limits = engine.api.inspect_container(f"chaos-limits-{os.getpid()}-{name}")["HostConfig"]
            assert (limits["Memory"], limits["NanoCpus"]) == (memory, cpus)
        eat = "import sys; held = bytearray(200 << 20)"
        assert hosts["b1"].run("python3", "-c", eat, timeout_s=30).returncode == -9
        assert hosts["client"].run("python3", "-c", eat, timeout_s=30).returncode == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cpus": "0"}, "--cpus 0: give a number of cores"),
        ({"cpus": "many"}, "--cpus many: give a number of cores"),
        ({"cpus": "nan"}, "--cpus nan: give a number of cores"),
        ({"memory": "1k"}, "--memory 1k: give at least 16m"),
        ({"memory": "much"}, "--memory much: give at least 16m"),
    ],
)
def test_impossible_limits_are_refused(options, said):
    with pytest.raises(UsageError, match=said):
        DockerBackend(**options)


def test_more_cores_than_there_are_is_refused(engine):
    with pytest.raises(UsageError, match=rf"--cpus 1000: the engine has {engine.cores} cores"):
        DockerBackend(cpus="1000").prepare(SPECS, print)


def test_an_image_that_is_not_there_or_is_no_host_is_refused(engine, tmp_path):
    with pytest.raises(UsageError, match="--image no-such:1: the engine does not have it; `docker pull`"):
        DockerBackend(image="no-such:1").prepare(SPECS, print)
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    engine.api.import_image_from_data(content.getvalue(), repository="chaos-test-empty", tag="1")
    try:
        backend = DockerBackend(image="chaos-test-empty:1")
        with pytest.raises(UsageError, match=r"image chaos-test-empty:1 has no python3 .*; an image for") as told:
            backend.up("empty", SPECS, tmp_path)
        assert told.value.exit_code == 254
        assert made_by(engine, "empty") == []
    finally:
        engine.api.remove_image("chaos-test-empty:1", force=True)


def test_an_address_range_that_is_taken_is_named(engine, tmp_path):
    from docker.types import IPAMConfig, IPAMPool

    half = next(NETWORK.subnets(new_prefix=16))
    ipam = IPAMConfig(pool_configs=[IPAMPool(subnet=str(half))])
    network = engine.api.create_network("chaos-test-clash", internal=True, ipam=ipam)["Id"]
    try:
        with hosts_up(DockerBackend(), "clash", SPECS, tmp_path) as hosts:
            assert ipaddress.ip_address(hosts["b1"].address) not in half
        other = engine.api.create_network(
            "chaos-test-clash-2",
            internal=True,
            ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=str(list(NETWORK.subnets(new_prefix=16))[1]))]),
        )["Id"]
        try:
            taken = r"no /24 of 198\.18\.0\.0/15 is free .*chaos-test-clash.*`chaos clean`"
            with pytest.raises(CapabilityError, match=taken):
                DockerBackend().up("clash", SPECS, tmp_path)
        finally:
            engine.api.remove_network(other)
    finally:
        engine.api.remove_network(network)
    assert made_by(engine, "clash") == []


def test_an_engine_that_is_not_there_is_one_line_with_what_helps(monkeypatch, tmp_path):
    for url, said in (
        (f"unix://{tmp_path}/no.sock", r"no engine answers at unix://.*/no\.sock: No such file or directory; `"),
        ("tcp://198.18.0.1:2375", r"198\.18\.0\.1:2375 is not reached through a Unix socket.*DOCKER_HOST"),
    ):
        monkeypatch.setenv("DOCKER_HOST", url)
        with pytest.raises(CapabilityError, match=said) as told:
            DockerBackend().prepare(SPECS, print)
        assert told.value.exit_code == 254
        assert "\n" not in str(told.value)


def test_a_container_that_is_stopped_lets_its_processes_end_in_order(sandbox, engine):
    up = sandbox("b1")
    home = up.hosts["b1"].home
    wait = "trap 'echo asked to end > asked; exit' TERM; echo ready > ready; while :; do sleep 0.05; done"
    up.hosts["b1"].run("sh", "-c", f"({wait}) >/dev/null 2>&1 &", timeout_s=5).check()
    until(lambda: Path(home, "ready").exists(), "the process to run")
    engine.api.stop(f"chaos-{up.run_id}-b1", timeout=20)
    assert Path(home, "asked").read_text() == "asked to end\n"
    assert engine.api.inspect_container(f"chaos-{up.run_id}-b1")["State"]["ExitCode"] == 0


def test_what_the_harness_runs_has_the_larger_share(sandbox, engine, tmp_path):
    """From within a group of its own, as on machines whose services and sessions have one each."""
    up = sandbox("b1")
    shares = {}
    for name in ("b1", "client"):
        facts = engine.api.inspect_container(f"chaos-{up.run_id}-{name}")
        shares[name] = facts["HostConfig"]["CpuShares"] or 1024
    assert shares == {"b1": 1024, "client": cpu_share.SHARES}
    version_1, own = cpu_share.cpu_group(Path("/proc/self/cgroup").read_text())
    mount = cpu_share.mount_of(Path("/proc/mounts").read_text(), version_1=version_1)
    if mount is None or own != "/":
        pytest.skip("this test is in a control group itself, or there are none")
    assert not any(name == "cgroup" for name in up.backend._namespaces), "without a group there is none to leave"
    group = Path(mount, f"chaos-test-{os.getpid()}")
    group.mkdir()
    code = textwrap.dedent(
        """
        import subprocess, sys
        from pathlib import Path
        from cluster.hosts.docker.backend import DockerBackend
        from cluster.host import NodeSpec, hosts_up
        Path(sys.argv[1], "cgroup.procs").write_text("0")
        backend = DockerBackend()
        with hosts_up(backend, sys.argv[2], [NodeSpec(name="b1", role="x")], Path(sys.argv[3])):
            print(backend.popen_inside(["cat", "/proc/self/cgroup"], {}).communicate(timeout=20)[0].decode())
        """
    )
    try:
        (tmp_path / "work").mkdir(exist_ok=True)
        argv = [sys.executable, "-c", code, str(group), f"share-{os.getpid()}", str(tmp_path / "work")]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert "docker" in cpu_share.cpu_group(done.stdout.strip())[1], done.stdout
    finally:
        group.rmdir()
