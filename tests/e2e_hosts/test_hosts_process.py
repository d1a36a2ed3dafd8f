"""Start, stop, kill and look: what /proc shows from outside must agree with what is claimed."""

import os
import re
from pathlib import Path

import pytest
from host_support import marked, until

from chaos.core.clock import Deadline
from chaos.core.errors import DeadlineError, DeployError
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Node
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from cluster.system import Launch

pytestmark = pytest.mark.e2e

SERVER = """
import subprocess, sys, threading, time
for _ in range(4):
    threading.Thread(target=time.sleep, args=(5000,), daemon=True).start()
subprocess.Popen(["sleep", "5001"])
subprocess.Popen(["sleep", "5002"], process_group=0)
print("serving as", open("conf/name").read(), flush=True)
time.sleep(5000)
"""


def node_of(up, name="b1", argv=("python3", "server.py"), ready="^serving", **files):
    files = {"server.py": SERVER.encode(), "conf/name": b"one", **files}
    launch = Launch(argv=argv, env={"GREETING": "hello world"}, files=files, ready_pattern=ready, logs=(), data=())
    return Node(NodeInfo(name=name, role="broker", address=up.hosts[name].address), up.hosts[name], launch)


def threads(up, pattern: str) -> dict[int, set[str]]:
    """pid out here -> the states of its threads, for the run's processes whose command matches."""
    found = {}
    for pid, line in marked(up.run_id).items():
        if re.search(pattern, line):
            stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
            found[pid] = {stat.rpartition(")")[2].split()[0] for stat in stats}
    return found


OURS = r"server\.py|sleep 500[12]"


def test_the_life_of_a_process(sandbox):
    up = sandbox("b1")
    node = node_of(up)
    assert process.state(node) == ProcState(alive=False)
    identity = process.start(node, up.run_id)
    process.await_ready(node, Deadline("b1", 20))
    seen = process.state(node)
    assert (seen.alive, seen.pid, seen.start_time) == (True, identity.pid, identity.start_time)
    assert (seen.stopped, seen.zombie, len(seen.others)) == (False, False, 2)
    assert len(threads(up, OURS)) == 3
    assert Path(up.hosts["b1"].home, process.STDOUT).read_text() == "serving as one\n"

    assert process.pause(node).stopped
    assert list(threads(up, OURS).values()) == [{"T"}] * 3
    assert process.pause(node).stopped
    assert not process.resume(node).stopped
    until(lambda: all("T" not in states for states in threads(up, OURS).values()), "all of it to run")

    process.pause(node)
    assert process.kill(node).gone
    assert threads(up, OURS) == {}
    assert process.kill(node).gone
    assert not process.resume(node).alive
    with pytest.raises(DeployError, match="b1: no live process to stop"):
        process.pause(node)

    again = process.start(node, up.run_id)
    assert (again.pid, again.start_time) != (identity.pid, identity.start_time)
    assert again.log_offset == len("serving as one\n")
    process.await_ready(node, Deadline("b1", 20))
    with pytest.raises(DeployError, match="b1: its process runs already"):
        process.start(node, up.run_id)
    assert process.kill(node).gone


def test_the_environment_and_the_folder_of_a_process(sandbox):
    up = sandbox("b1")
    script = 'echo "$GREETING, $CHAOS_RUN in $(pwd) $(ps -o tty= $$)"; exec sleep 5000'
    node = node_of(up, argv=("sh", "-c", script), ready="hello world")
    process.start(node, up.run_id)
    process.await_ready(node, Deadline("b1", 20))
    text = up.hosts["b1"].run("cat", process.STDOUT, timeout_s=5).text
    assert text == f"hello world, {up.run_id} in {up.hosts['b1'].home} ?"


def test_ready_means_this_start_not_an_older_one(sandbox):
    up = sandbox("b1")
    node = node_of(up)
    process.start(node, up.run_id)
    process.await_ready(node, Deadline("b1", 20))
    process.kill(node)
    silent = node_of(up, argv=("sh", "-c", "echo warming up; exec sleep 5000"))
    process.start(silent, up.run_id)
    with pytest.raises(DeadlineError, match=r"waited 0\.4 s for b1 to be ready \(b1 last said: warming up\)"):
        process.await_ready(silent, Deadline("b1 to be ready", 0.4))


def test_ready_is_seen_across_chunks_of_a_large_log(sandbox):
    up = sandbox("b1")
    node = node_of(up, argv=("sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo serving; exec sleep 5000"))
    process.start(node, up.run_id)
    process.await_ready(node, Deadline("b1", 30))


def test_a_process_that_ends_is_told_at_once_with_its_last_words(sandbox):
    up = sandbox("b1")
    node = node_of(up, argv=("sh", "-c", "echo starting; echo 'no such disk' >&2; exit 4"))
    process.start(node, up.run_id)
    with pytest.raises(DeployError, match=r"b1: its process ended before it was ready: starting \| no such disk"):
        process.await_ready(node, Deadline("b1", 60))
    missing = node_of(up, argv=("no-such-server",))
    for _ in range(20):  # however soon it ends, it has been started
        process.start(missing, up.run_id)
    with pytest.raises(DeployError, match="no-such-server"):
        process.await_ready(missing, Deadline("b1", 60))
    with pytest.raises(DeployError, match="nothing can become ready"):
        process.await_ready(node_of(sandbox("b1")), Deadline("b1", 60))


def test_a_reused_pid_is_somebody_elses(sandbox):
    up = sandbox("b1")
    node = node_of(up)
    process.start(node, up.run_id)
    process.await_ready(node, Deadline("b1", 20))
    pid_file = f"{node.host.home}/{process.PID_FILE}"
    pid, start, offset = node.host.run("cat", pid_file, timeout_s=5).text.split()
    node.host.put(f"{pid} {int(start) - 1} {offset}\n".encode(), pid_file)
    assert not process.state(node).alive
    assert process.kill(node).gone
    assert not process.resume(node).alive
    assert len(threads(up, OURS)) == 3
    assert not any("T" in states for states in threads(up, OURS).values())
    node.host.put(f"{pid} {start} {offset}\n".encode(), pid_file)
    assert process.kill(node).gone
    assert threads(up, OURS) == {}


def test_children_that_outlive_their_leader_are_killed_too(sandbox):
    up = sandbox("b1")
    node = node_of(up, argv=("sh", "-c", "sleep 5001 & sleep 5002 & echo serving; exit 0"))
    process.start(node, up.run_id)
    until(lambda: not process.state(node).alive and len(process.state(node).others) == 2, "the leader to end")
    assert not process.state(node).gone
    assert process.kill(node).gone
    assert threads(up, OURS) == {}


def test_a_process_that_forks_all_the_time_is_stopped_and_killed(sandbox):
    up = sandbox("b1")
    forking = "import subprocess\nprint('serving', flush=True)\nwhile True: subprocess.run(['/bin/true'])"  # by vfork
    node = node_of(up, argv=("python3", "-c", forking))
    process.start(node, up.run_id)
    process.await_ready(node, Deadline("b1", 20))
    for _ in range(12):
        assert process.pause(node).stopped
        assert process.state(node).stopped
        assert not process.resume(node).stopped
    assert process.kill(node).gone
    assert threads(up, "bin/true|serving") == {}


def test_a_process_survives_the_command_that_started_it_and_its_kin(sandbox):
    up = sandbox("b1")
    node = node_of(up)
    process.start(node, up.run_id)
    process.await_ready(node, Deadline("b1", 20))
    with pytest.raises(DeadlineError):
        up.hosts["b1"].run("sleep", "60", timeout_s=0.1)
    assert process.state(node).alive
    assert os.getsid(0) not in {os.getsid(pid) for pid in threads(up, OURS)}
