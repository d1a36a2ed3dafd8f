"""However the harness ends, the machine is as before; a host that dies says so and takes nobody with it."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import host_contract
import pytest
from host_support import marked, until
from repository import ROOT

from chaos.core.errors import CapabilityError, DeployError
from cluster import clean
from cluster.cleanup import run_records
from cluster.cleanup.leftover import Leftover
from cluster.host import NodeSpec
from cluster.hosts.netns import NetnsBackend, SandboxError
from cluster.network import packet_filter

pytestmark = pytest.mark.e2e

HARNESS = """
import os, sys, time
from pathlib import Path
from chaos.storage.runinfo import NodeInfo
from cluster.network import packet_filter
from cluster.nodes import process
from cluster.cluster import Node
from cluster.host import NodeSpec
from cluster.hosts.netns import NetnsBackend
from cluster.system import Launch

how, run_id, work = sys.argv[1], sys.argv[2], Path(sys.argv[3])
backend = NetnsBackend()
if how == "early":
    print("coming up", flush=True)
hosts = backend.up(run_id, [NodeSpec(name=f"b{n}", role="broker") for n in (1, 2, 3)], work)
launch = Launch(
    argv=("sh", "-c", "mkdir -p store; echo data > store/log; sleep 3000 & echo serving; sleep 3000"),
    env={}, files={"node.conf": b"k=v"}, ready_pattern="serving", logs=(), data=("store",),
)
for name in ("b1", "b2", "b3"):
    node = Node(NodeInfo(name=name, role="broker", address=hosts[name].address), hosts[name], launch)
    process.start(node, run_id)
process.pause(node)
packet_filter.apply(hosts["b1"], run_id, [packet_filter.Rule(hosts["b2"].address)])
backend.popen_inside(["sleep", "3000"], {})
if how == "fork" and os.fork() == 0:
    os.write(1, f"child {os.getpid()}\\n".encode())  # whole: its parent prints at the same time
    time.sleep(60)
    os._exit(0)
os.write(1, b"up\\n")
time.sleep(600)
"""


def start_harness(how: str, run_id: str, work: Path) -> "subprocess.Popen[str]":
    work.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", HARNESS, how, run_id, str(work)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def machine() -> dict[str, str]:
    """What a sandbox could leave behind outside of itself."""
    seen = {
        "links": "\n".join(sorted(path.name for path in Path("/sys/class/net").iterdir())),
        "namespaces": subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout,
        "mounts": Path("/proc/self/mounts").read_text(),
    }
    if os.geteuid() == 0:
        rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=True).stdout
        seen["rules"] = "\n".join(line for line in rules.splitlines() if not line.startswith("#"))
    return seen


def files(folder: Path) -> set[str]:
    """What is there now; a folder that somebody removes meanwhile is passed over."""
    return {str(Path(root, name).relative_to(folder)) for root, _, names in os.walk(folder) for name in names}


@pytest.fixture
def run_id(tmp_path, monkeypatch):
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path / "cache"))
    run_id = f"death-{os.getpid()}-{tmp_path.name[:20].replace('_', '-')}"
    yield run_id
    for leftover in clean.leftovers():
        clean.remove(leftover)


def left_processes() -> list[Leftover]:
    return [leftover for leftover in clean.leftovers() if leftover.kind == "process"]


def as_before(run_id: str, before: dict[str, str], tmp_path: Path, kept: set[str]) -> None:
    until(lambda: not marked(run_id), "all processes of the run to be gone", 5)
    until(lambda: files(tmp_path) == kept, f"only logs to be left, not {files(tmp_path)}", 5)
    assert machine() == before
    assert clean.leftovers() == []


LOGS = {f"work/b{n}/logs/stdout.log" for n in (1, 2, 3)}


def test_kill_minus_nine_of_the_harness_leaves_the_machine_as_before(tmp_path, run_id):
    before = machine()
    harness = start_harness("up", run_id, tmp_path / "work")
    assert harness.stdout is not None
    assert harness.stdout.readline() == "up\n"
    assert sum("sleep 3000" in line for line in marked(run_id).values()) >= 7
    assert "work/b1/store/log" in files(tmp_path)
    harness.kill()
    harness.communicate()
    as_before(run_id, before, tmp_path, LOGS)


def test_a_forked_child_of_the_harness_does_not_keep_the_sandbox_alive(tmp_path, run_id):
    before = machine()
    harness = start_harness("fork", run_id, tmp_path / "work")
    assert harness.stdout is not None
    said = sorted(harness.stdout.readline().split() for _ in range(2))
    child = os.pidfd_open(int(said[0][1]))
    try:
        harness.kill()
        harness.wait()
        as_before(run_id, before, tmp_path, LOGS)
    finally:
        signal.pidfd_send_signal(child, signal.SIGKILL)
        os.close(child)
        harness.communicate()


@pytest.mark.parametrize("delay_s", [0.0, 0.03, 0.06, 0.09, 0.12, 0.15, 0.2, 0.3])
def test_kill_minus_nine_on_the_way_up(tmp_path, run_id, delay_s):
    before = machine()
    harness = start_harness("early", run_id, tmp_path / "work")
    assert harness.stdout is not None
    assert harness.stdout.readline() == "coming up\n"
    try:
        harness.wait(delay_s)
    except subprocess.TimeoutExpired:
        harness.kill()
    harness.communicate()
    # What was started just then carries the run's mark a moment later, and ends by itself.
    until(lambda: not marked(run_id) and not left_processes(), "all processes of the run to be gone", 5)
    assert machine() == before
    for leftover in clean.leftovers():  # killed between the record and the sandbox: nobody was there to remove it
        clean.remove(leftover)
    assert files(tmp_path) <= LOGS


def test_an_interrupt_from_the_terminal_is_the_harness_own_to_answer(tmp_path, run_id):
    harness = start_harness("up", run_id, tmp_path / "work")
    assert harness.stdout is not None
    assert harness.stdout.readline() == "up\n"
    sessions = {os.getsid(pid) for pid in marked(run_id)}
    assert os.getsid(harness.pid) not in sessions
    harness.kill()
    harness.communicate()
    until(lambda: not marked(run_id), "all processes of the run to be gone", 5)


def test_hosts_outlive_the_thread_that_brought_them_up(sandbox):
    made = []
    thread = threading.Thread(target=lambda: made.append(sandbox("b1")))
    thread.start()
    thread.join()
    assert made[0].hosts["b1"].run("echo", "alive", timeout_s=5).text == "alive"


def agent_of(up, name: str) -> int:
    """The pid, out here, of a host's pid 1."""
    inside = up.hosts[name].run("readlink", "/proc/self/ns/pid", timeout_s=5).text
    for pid in marked(up.run_id):
        numbers = Path(f"/proc/{pid}/status").read_text().partition("\nNSpid:")[2].splitlines()[0].split()
        if Path(f"/proc/{pid}/ns/pid").readlink().name == inside and numbers[-1] == "1":
            return pid
    raise AssertionError(f"no agent of {name}")


def test_a_dead_host_is_named_and_the_others_live(sandbox):
    up = sandbox("b1", "b2")
    said = "host b1 is gone: its namespaces have ended; nothing runs there any more"
    host_contract.tells_a_command_that_its_host_ended(
        up.hosts["b1"], up.run_id, lambda: os.kill(agent_of(up, "b1"), signal.SIGKILL), said
    )
    with pytest.raises(DeployError, match="host b1 is gone"):
        up.hosts["b1"].run("true", timeout_s=5)
    with pytest.raises(DeployError, match="host b1 is gone"):
        packet_filter.apply(up.hosts["b1"], up.run_id, [])
    assert up.hosts["b2"].run("echo", "alive", timeout_s=5).text == "alive"
    assert up.hosts["client"].run("echo", "alive", timeout_s=5).text == "alive"


def test_leftovers_are_what_dead_owners_left_and_nothing_of_the_living(sandbox, tmp_path, monkeypatch):
    up = sandbox("b1")
    assert clean.leftovers() == []  # we live
    dead = subprocess.Popen(["true"])
    dead.wait()
    namespace = run_records.marker("any")[run_records.OWNER].rpartition(":")[2]

    def start_owned_in(namespace: str) -> "subprocess.Popen[bytes]":
        marker = {run_records.RUN: "dead-run", run_records.OWNER: f"{dead.pid}:1:{namespace}"}
        return subprocess.Popen(["sleep", "600"], env={**os.environ, **marker})

    orphan, elsewhere = start_owned_in(namespace), start_owned_in("1")
    home = tmp_path / "home"
    (home / "logs").mkdir(parents=True)
    (home / "logs" / "kept.log").write_text("kept")
    (home / "store").mkdir()
    (home / "file").write_text("data")
    live = next((tmp_path / "cache" / "runs").glob("*.json"))
    lost = {"pid": dead.pid, "start_time": 1, "run_id": "dead-run", "homes": [str(home)]}
    (live.parent / "dead-run-1.json").write_text(json.dumps(json.loads(live.read_text()) | lost))
    try:
        until(lambda: clean.environment(orphan.pid) and clean.environment(elsewhere.pid), "both to run")
        found = clean.leftovers()
        assert [(each.kind, each.run_id) for each in found] == [
            ("process", "dead-run"),
            ("home", "dead-run"),
            ("record", "dead-run"),
        ]
        assert found[0].pid == orphan.pid
        for each in found:
            clean.remove(each)
            clean.remove(each)
        assert orphan.wait(5) == -signal.SIGKILL
        assert elsewhere.poll() is None
        assert files(home) == {"logs/kept.log"}
        assert clean.leftovers() == []
        assert live.exists()
        assert up.hosts["b1"].run("echo", "alive", timeout_s=5).text == "alive"
    finally:
        for child in (orphan, elsewhere):
            child.kill()
            child.wait()


def test_a_reused_pid_is_not_killed():
    child = subprocess.Popen(["sleep", "600"])
    try:
        stale = Leftover(kind="process", run_id="x", what="x", pid=child.pid, start_time=1)
        clean.remove(stale)
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_a_refusing_machine_is_named_with_what_helps(tmp_path, monkeypatch):
    """No iproute2 on the PATH: the real way up, stopped by a real refusal."""
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("cluster.hosts.netns.clean_environment", lambda *_: {"PATH": str(tmp_path)})
    backend = NetnsBackend()
    with pytest.raises(SandboxError, match=r"iproute2: .*ip.*apt-get install iproute2") as caught:
        backend.up("refused", [NodeSpec(name="b1", role="x")], tmp_path)
    assert isinstance(caught.value, CapabilityError)
    assert caught.value.exit_code == 254
    until(lambda: not marked("refused"), "nothing to be left")
    assert not list((tmp_path / "cache" / "runs").iterdir())
