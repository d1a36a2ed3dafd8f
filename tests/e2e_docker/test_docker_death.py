"""However the harness, a container or the engine ends: it is said, and nothing stays."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import host_contract
import pytest
from host_support import make, marked, until
from repository import ROOT

from chaos.core.clock import boot_id
from chaos.core.errors import ChaosError, DeployError
from cluster import clean as reap
from cluster.cleanup import run_records
from cluster.cleanup.leftover import Leftover
from cluster.host import NodeSpec
from cluster.hosts.docker import cleanup
from cluster.hosts.docker import image as docker_image
from cluster.hosts.docker.backend import DockerBackend
from cluster.hosts.docker.engine import BOOT, OWNER, RUN, connect

pytestmark = pytest.mark.e2e

SPECS = [NodeSpec(name=name, role="broker") for name in ("b1", "b2")]
HARNESS = """
import os, sys, time
from pathlib import Path
from chaos.storage.runinfo import NodeInfo
from cluster.network import packet_filter
from cluster.nodes import process
from cluster.cluster import Node
from cluster.hosts.docker.backend import DockerBackend
from cluster.host import NodeSpec
from cluster.system import Launch

run_id, work = sys.argv[1], Path(sys.argv[2])
backend = DockerBackend()
hosts = backend.up(run_id, [NodeSpec(name=name, role="broker") for name in ("b1", "b2")], work)
launch = Launch(
    argv=("sh", "-c", "mkdir -p store; echo data > store/log; echo serving; exec sleep 3000"),
    env={}, files={"node.conf": b"k=v"}, ready_pattern="serving", logs=(), data=("store",),
)
for name in ("b1", "b2"):
    node = Node(NodeInfo(name=name, role="broker", address=hosts[name].address), hosts[name], launch)
    process.start(node, run_id)
process.pause(node)
packet_filter.apply(hosts["b1"], run_id, [packet_filter.Rule(hosts["b2"].address)])
backend.popen_inside(["sleep", "3000"], {})
print("up", backend._reaper._process.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def run_id(tmp_path, monkeypatch):
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path / "cache"))
    make("docker")  # skips where there is no engine
    run_id = f"death-{os.getpid()}-{tmp_path.name[:20].replace('_', '-')}"
    yield run_id
    with connect() as engine:
        for leftover in left(engine, run_id):
            reap.remove(leftover, engine)


def left(engine, run_id: str) -> list[Leftover]:
    """What `chaos clean` would find of a run; other people's tests may have their own."""
    return [leftover for leftover in reap.leftovers(engine) if leftover.run_id == run_id]


def start_harness(run_id: str, work: Path) -> tuple["subprocess.Popen[str]", int]:
    """A harness with a cluster that is up, and the pid of its reaper."""
    work.mkdir(exist_ok=True)
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, run_id, str(work)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert harness.stdout is not None
    word, pid = harness.stdout.readline().split()
    assert word == "up"
    return harness, int(pid)


def made(engine, run_id: str) -> list[str]:
    """All of a run that is in the engine, whoever made it."""
    return [each.what for each in cleanup._labelled(engine, lambda marks: marks.get(RUN) == run_id)]


def files(folder: Path) -> set[str]:
    """What is there now; a folder that somebody removes meanwhile is passed over."""
    return {str(Path(root, name).relative_to(folder)) for root, _, names in os.walk(folder) for name in names}


LOGS = {"work/b1/logs/stdout.log", "work/b2/logs/stdout.log"}


def test_kill_minus_nine_of_the_harness_leaves_logs_and_nothing_else(tmp_path, run_id):
    harness, _ = start_harness(run_id, tmp_path / "work")
    with connect() as engine:
        assert len(made(engine, run_id)) == 7
        assert sum("sleep 3000" in line for line in marked(run_id).values()) >= 3
        harness.kill()
        harness.communicate()
        until(lambda: made(engine, run_id) == [], "what the run made to be gone from the engine", 60)
        until(lambda: not marked(run_id), "all processes of the run to be gone", 20)
        until(lambda: files(tmp_path) == LOGS, f"only logs to be left, not {files(tmp_path)}", 20)
        assert left(engine, run_id) == []


def test_what_the_reaper_could_not_remove_the_next_one_does(tmp_path, run_id):
    harness, reaper = start_harness(run_id, tmp_path / "work")
    os.kill(reaper, signal.SIGKILL)
    harness.kill()
    harness.communicate()
    until(lambda: not marked(run_id), "all processes of the run to be gone", 20)  # the agents saw it
    with connect() as engine:
        assert len(made(engine, run_id)) == 7
        kinds = [each.kind for each in left(engine, run_id)]
        assert kinds == ["container"] * 3 + ["network"] + ["volume"] * 3 + ["home"] * 4 + ["record"]
        said = []
        DockerBackend().prepare(SPECS, said.append)
        assert f"clean    7 containers, networks and volumes of dead run {run_id}" in said
        assert made(engine, run_id) == []
        for leftover in left(engine, run_id):
            reap.remove(leftover, engine)
        assert files(tmp_path) == LOGS
        assert left(engine, run_id) == []


def test_the_living_and_the_unlabelled_are_left_alone(sandbox):
    up = sandbox("b1")
    with connect() as engine:
        elsewhere = {RUN: "elsewhere", OWNER: "1:1:77", BOOT: boot_id()}  # another pid namespace's: not ours to judge
        plain = engine.api.create_volume("chaos-test-plain")["Name"]
        marked_volume = engine.api.create_volume("chaos-test-elsewhere", labels=elsewhere)["Name"]
        try:
            assert not {each.name for each in cleanup.leftovers(engine)} & {plain, marked_volume}
        finally:
            engine.api.remove_volume(plain)
            engine.api.remove_volume(marked_volume)
    assert up.hosts["b1"].run("echo", "unharmed", timeout_s=5).text == "unharmed"


def test_a_dead_container_is_named_and_the_others_live(sandbox):
    up = sandbox("b1", "b2")

    def end() -> None:
        with connect() as engine:
            engine.api.kill(f"chaos-{up.run_id}-b1")

    said = "host b1 is gone: its container ended with 137; nothing runs there any more"
    host_contract.tells_a_command_that_its_host_ended(up.hosts["b1"], up.run_id, end, said)
    with pytest.raises(DeployError, match="host b1 is gone: its container ended with 137"):
        up.hosts["b1"].run("true", timeout_s=5)
    assert up.hosts["b2"].run("echo", "alive", timeout_s=5).text == "alive"


@pytest.fixture
def own_engine(run_id):
    """An engine for one test, with the image; yields what starts it (again) and kills it."""
    packages = docker_image.packages_for(SPECS)
    with connect() as engine:
        docker_image.build(engine, packages, print)
        image = b"".join(engine.api.get_image(docker_image.tag_of(packages)))
    started: list[subprocess.Popen[bytes]] = []

    folder = Path(tempfile.mkdtemp(prefix="chaos-engine-"))  # containerd has sockets deep below, with short names only

    def start() -> "subprocess.Popen[bytes]":
        argv = [str(ROOT / ".ci/engine"), str(folder), "sh", "-c", "echo up; exec cat"]
        env = {**os.environ, "CHAOS_ENGINE": "own", "PYTHON": sys.executable}
        own = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        started.append(own)
        assert own.stdout is not None
        assert own.stdout.readline() == b"up\n"
        return own

    start()
    with pytest.MonkeyPatch.context() as own:
        own.setenv("DOCKER_HOST", f"unix://{folder}/docker.sock")
        with connect() as engine:
            engine.api.load_image(image)
        yield start, folder
        with connect() as engine:
            for each in cleanup.of_run(engine, run_id, run_records.marker(run_id)[run_records.OWNER]):
                cleanup.remove(engine, each)
    for each in started:
        each.communicate(timeout=60)
    shutil.rmtree(folder)


def test_an_engine_killed_in_the_middle(own_engine, tmp_path, run_id):
    start, folder = own_engine
    backend = DockerBackend()
    (tmp_path / "work").mkdir()
    hosts = backend.up(run_id, SPECS, tmp_path / "work")
    pids = [int((folder / name).read_text()) for name in ("docker.pid", "exec/containerd/containerd.pid")]
    os.kill(pids[0], signal.SIGKILL)  # the kernel ends containerd with it
    assert hosts["b1"].run("echo", "obeys", timeout_s=10).text == "obeys"  # no engine between us and it
    with pytest.raises(ChaosError, match=r"the engine at unix://.* does not answer any more .*`chaos clean`") as told:
        backend.down()
    assert told.value.exit_code == 255
    until(lambda: not marked(run_id), "the hosts' processes to be gone", 20)
    until(lambda: not any(run_records.start_time(pid) for pid in pids), "the engine to be gone", 20)
    start()
    with connect() as engine:
        assert len(made(engine, run_id)) == 7  # we live, so `chaos clean` lets it be; the fixture removes it
