"""Partitions that spare the harness, watchdogs that outlive it, and machines that die."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import host_contract
import pytest
from repository import ROOT
from ssh_support import PORT, USER

from chaos.core.errors import CapabilityError, DeadlineError, DeployError
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Node
from cluster.host import Capability, NodeSpec
from cluster.hosts.ssh.login import Secret
from cluster.network import packet_filter, probe_matrix
from cluster.network.packet_filter import Rule
from cluster.nodes import process
from cluster.system import Launch

pytestmark = pytest.mark.e2e

LAUNCH = Launch(
    argv=("sh", "-c", "echo serving; exec sleep 3000"),
    env={},
    files={"node.conf": b"k=v"},
    ready_pattern="serving",
    logs=(),
    data=(),
)

HARNESS = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_ssh_faults import LAUNCH
from chaos.storage.runinfo import NodeInfo
from cluster.network import packet_filter
from cluster.nodes import process
from cluster.cluster import Node
from cluster.host import NodeSpec
from cluster.hosts.ssh.backend import SshBackend

nodes_file, known_hosts, work = sys.argv[2], sys.argv[3], Path(sys.argv[4])
backend = SshBackend(nodes_file=nodes_file, known_hosts=known_hosts, watchdog_s=float(sys.argv[5]))
hosts = backend.up("dies", [NodeSpec(name=name, role="node") for name in ("b1", "b2", "b3")], work)
for name in ("b1", "b2", "b3"):
    node = Node(NodeInfo(name=name, role="node", address=hosts[name].address), hosts[name], LAUNCH)
    process.start(node, "dies")
process.pause(node)
for name in ("b1", "b2"):
    packet_filter.apply(hosts[name], "dies", [packet_filter.Rule(hosts["b3"].address)])
print("up", flush=True)
time.sleep(600)
"""


def until(condition: Callable[[], object], what: str, timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"waited {timeout_s} s for {what}"
        time.sleep(0.05)


def test_no_partition_cuts_the_harness_off(lab):
    made = lab()
    hosts = made.up()
    nodes = ("b1", "b2", "b3")
    for name in nodes:
        others = [host.address for host in hosts.values() if host.name != name]
        others = [Rule(address, way) for address in others for way in ("INPUT", "OUTPUT")]
        packet_filter.apply(hosts[name], "run-1", others)
    for name in nodes:
        hosts[name].connection._clients[0].close()  # a new connection has to come through as well
        assert hosts[name].run("hostname", timeout_s=20).text == name
    seen = probe_matrix.measure(hosts, 5)
    assert seen.silent() == seen.received.keys(), "also what comes from and goes to the harness' machine"
    counted = {counter.rule.address: counter.packets for counter in packet_filter.counters(hosts["b1"], "run-1")}
    assert counted.keys() == {host.address for host in hosts.values() if host.name != "b1"}
    for name in nodes:
        packet_filter.clear(hosts[name], "run-1")
        assert packet_filter.own_lines(hosts[name]) == ()
    assert probe_matrix.measure(hosts, 5).complete() == seen.received.keys()


def test_rules_to_which_somebody_removes_the_jump_are_seen_to_be_out_of_force(lab):
    hosts = lab().up()
    one, link = hosts["b1"], ("b2", "b1")
    packet_filter.apply(one, "run-1", [Rule(hosts["b2"].address)])
    assert packet_filter.read_held(one, "run-1").astray == {}
    assert probe_matrix.measure(hosts, 5, [link]).received[link] == 0
    one.run(packet_filter.variant(one), "-F", "INPUT", timeout_s=20).check()
    assert probe_matrix.measure(hosts, 5, [link]).received[link] == 5
    assert packet_filter.read_held(one, "run-1").astray == {"INPUT": "nothing in INPUT leads to them"}
    packet_filter.clear(one, "run-1")


def test_a_harness_killed_during_a_partition_leaves_nodes_that_heal_themselves(lab):
    made = lab()
    work = made.folder / "work"
    work.mkdir()
    argv = [str(ROOT / "tests" / "e2e_ssh"), made.nodes_file(), str(made.known_hosts), str(work), "3"]
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, *argv],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    def rules() -> str:
        return made.machines["b1"].run("iptables", "-S", timeout_s=10).text

    def states(name: str) -> str:
        script = "ps -A -o stat=,args= | grep '[s]leep 3000'; true"
        return made.machines[name].run("sh", "-c", script, timeout_s=10).text

    try:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "up\n"
        assert "-j DROP" in rules()
        assert states("b3").startswith("T")
        silence = probe_matrix.measure(made.machines, 3).silent()
        assert silence == {("b3", "b1"), ("b3", "b2")}
    finally:
        harness.send_signal(signal.SIGKILL)
        harness.communicate()
    until(lambda: "CHAOS" not in rules() and "S" in states("b3")[:1], "b1 and b3 to heal themselves", 3 + 10)
    until(lambda: not probe_matrix.measure(made.machines, 3).silent(), "all links to pass", 10)
    until(lambda: not any(map(states, made.names)), "the run's processes to be ended", 12 + 20)
    log = Path(made.machines["b1"].home, "root/.chaos/runs/dies/b1/logs/watchdog.log")
    until(lambda: "the run's processes are killed; the watch ends" in log.read_text(), "the watch to end", 10)
    assert "no sign of the harness for 3." in log.read_text()
    until(lambda: "run_id" not in made.machines["b1"].run("ps", "-A", "-o", "args=", timeout_s=10).text, "its end", 10)
    (alive,) = made.up("b2", run_id="alive").keys() - {"client"}
    said: list[str] = []
    made.backend().prepare([NodeSpec(name=name, role="node") for name in made.names], said.append)
    assert sorted(said[1:]) == [f"clean    what dead run dies left on {name}" for name in made.names]
    for name in made.names:
        left = Path(made.machines[name].home, "root/.chaos/runs").iterdir()
        assert [path.name for path in left] == (["alive"] if name == alive else []), "a living run is left alone"


def test_a_watchdog_that_is_killed_is_started_again_and_said(lab):
    made = lab("b1")
    hosts = made.up("b1", watchdog_s=3.0)
    packet_filter.apply(hosts["b1"], "run-1", [Rule("198.18.0.99")])
    kill = 'kill -9 "$(cat "$1/watchdog.pid")"'
    made.machines["b1"].run("sh", "-c", kill, "sh", hosts["b1"].home, timeout_s=10).check()
    backend = made.backends[-1]
    said: list[str] = []
    until(lambda: said.extend(n.text for n in backend.notes()) or any("started again" in t for t in said), "it", 20)
    assert "DROP" in " ".join(packet_filter.own_lines(hosts["b1"])), "the harness lives, so nothing is healed"


def test_a_machine_that_dies_is_named_and_the_others_live(lab):
    made = lab("b1", "b2")
    hosts = made.up("b1", "b2")
    raised: list[str] = []

    def wait() -> None:
        with pytest.raises(DeployError) as caught:
            hosts["b1"].run("sh", "-c", "echo > begun; sleep 600", timeout_s=600)
        raised.append(str(caught.value))

    waiting = threading.Thread(target=wait)
    waiting.start()
    until(Path(made.machines["b1"].home, "root/.chaos/runs/run-1/b1/begun").exists, "the command to run", 20)
    made.machines["b1"].run("sh", "-c", "kill -9 -1", timeout_s=10)
    waiting.join(30)
    where = f"{made.machines['b1'].address}:{PORT}"
    assert raised == [f"host b1 is gone: its SSH connection to {where} broke"]
    with pytest.raises(DeployError, match=f"^host b1 is gone: b1 at {where}: no SSH connection: .*refused$"):
        hosts["b1"].run("true", timeout_s=10)
    assert hosts["b2"].run("echo", "alive", timeout_s=10).text == "alive"
    made.backends[-1].down()
    warnings = [note.text for note in made.backends[-1].notes() if note.data.get("warning")]
    assert any(text.startswith("b1: not cleaned up: host b1 is gone") for text in warnings)


def test_a_machine_with_few_sessions_takes_many_commands_one_after_another(lab):
    """Commands that are refused at the same moment, as they are here all the time, must not take it for broken."""
    made = lab("b1", sshd="MaxSessions 3")
    host_contract.takes_many_commands_at_once(made.up(install=True)["b1"])


def test_a_machine_that_stands_still_is_a_deadline(lab):
    made = lab("b1")
    host = made.up("b1")["b1"]
    made.machines["b1"].run("pkill", "-STOP", "-f", "^sshd: root", timeout_s=10).check()
    try:
        with pytest.raises(DeadlineError, match=r"^waited 1 s for `true` on b1"):
            host.run("true", timeout_s=1)
    finally:
        made.machines["b1"].run("pkill", "-CONT", "-f", "^sshd: root", timeout_s=10).check()
    assert host.run("echo", "again", timeout_s=20).text == "again"


def test_what_a_run_leaves_on_a_machine_is_said(lab):
    made = lab("b1", "b2")
    hosts = made.up("b1", "b2")
    node = Node(NodeInfo(name="b1", role="node", address=hosts["b1"].address), hosts["b1"], LAUNCH)
    process.start(node, "run-1")
    packet_filter.apply(hosts["b1"], "another-run", [Rule("198.18.0.99")])
    hosts["b2"].put(b"logged", f"{hosts['b2'].home}/logs/some.log")
    made.backends[-1].down()
    notes = made.backends[-1].notes()
    changed = [note.text for note in notes if note.name == "host-changed"]
    assert all(text.startswith("b1: not as before the run: ") for text in changed)
    assert sum("rule added: -A CHAOS-another-run -s 198.18.0.99/32 -j DROP" in text for text in changed) == 1
    assert sum("process left: marked " in text and "sleep 3000" in text for text in changed) == 1
    assert (made.folder / "work-1" / "b2" / "logs" / "some.log").read_bytes() == b"logged"
    for name in ("b1", "b2"):
        folder = Path(made.machines[name].home, "root/.chaos")
        assert sorted(path.name for path in folder.iterdir()) == ["runs", "tools"]
        assert list((folder / "runs").iterdir()) == []
        assert "watchdog" not in made.machines[name].run("ps", "-A", "-o", "args=", timeout_s=10).text
    assert len([note for note in notes if note.name == "clock-skew"]) == 4


def test_artefacts_are_put_there_once_and_only_if_asked(lab, tmp_path):
    made = lab("b1", "b2")
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "jar").write_bytes(os.urandom(1 << 20))
    made.up("b1", "b2")
    with pytest.raises(Exception, match="b1 b2: what the system is made of is not there; --install puts it there"):
        made.backends[-1].provide(tmp_path / "system")
    made.backends.pop().down()
    hosts = made.up("b1", "b2", install=True)
    path = made.backends[-1].provide(tmp_path / "system")
    stamp = ("stat", "-c", "%Y %i", f"{path}/jar")
    before = [hosts[name].run(*stamp, timeout_s=10).check().text for name in ("b1", "b2")]
    made.backends.pop().down()
    hosts = made.up("b1", "b2")
    assert made.backends[-1].provide(tmp_path / "system") == path
    assert [hosts[name].run(*stamp, timeout_s=10).check().text for name in ("b1", "b2")] == before
    assert hosts["b1"].run("ls", str(Path(path).parent), timeout_s=10).text == Path(path).name


@pytest.mark.parametrize("free", [True, False])
def test_sudo_where_the_login_is_not_root(lab, free):
    made = lab("b1", "b2")
    made.sudoers("b1", f"{USER} ALL=(ALL) {'NOPASSWD: ' if free else ''}ALL")
    options = {} if free else {"passwords": (None, Secret("the word"))}
    hosts = made.up("b1", user=USER, **options)
    host = hosts["b1"]
    assert host.run("id", "-u", timeout_s=10).text == "0"
    assert host.run("cat", stdin=b"not a password\n", timeout_s=10).stdout == b"not a password\n"
    assert Capability.IPTABLES in host.capabilities
    packet_filter.apply(host, "run-1", [Rule(hosts["client"].address)])
    assert probe_matrix.measure(hosts, 3).silent() == {("client", "b1")}
    node = Node(NodeInfo(name="b1", role="node", address=host.address), host, LAUNCH)
    process.start(node, "run-1")
    assert process.pause(node).stopped
    with pytest.raises(DeadlineError):
        host.run("sleep", "9753", timeout_s=0.5)
    until(lambda: "9753" not in host.run("ps", "-A", "-o", "args=", timeout_s=10).text, "root's command to be gone", 10)
    assert process.kill(node).gone
    made.backends[-1].down()
    assert [note.text for note in made.backends[-1].notes() if note.data.get("warning")] == []


def test_without_root_packet_filters_are_out_of_reach_and_that_is_said(lab):
    made = lab("b1", "b2")
    made.sudoers("b1", f"{USER} ALL=(ALL) ALL")
    hosts = made.up("b1", "b2", user=USER)
    for name in ("b1", "b2"):
        assert hosts[name].capabilities == {
            Capability.SIGNALS,
            Capability.RESTART,
            Capability.PROGRAMS,
            Capability.FILES,
            Capability.CLOCK,
        }
        node = Node(NodeInfo(name=name, role="node", address=hosts[name].address), hosts[name], LAUNCH)
        process.start(node, "run-1")
        assert process.pause(node).stopped
        assert process.kill(node).gone
    with pytest.raises(CapabilityError, match="b1: no iptables that works"):
        packet_filter.apply(hosts["b1"], "run-1", [])
    warnings = [note.text for note in made.backends[-1].notes() if note.data.get("warning")]
    assert any("b1: the login is not root and sudo asks for a password" in text for text in warnings)


def test_evidence_of_the_clock(lab):
    made = lab("b1")
    made.up("b1")
    notes = [note for note in made.backends[-1].notes() if note.name == "clock-skew"]
    assert len(notes) == 1
    assert json.dumps(notes[0].data)
    assert abs(notes[0].data["ahead_ns"]) <= notes[0].data["error_ns"] + 1_000_000, "one machine, one clock"
