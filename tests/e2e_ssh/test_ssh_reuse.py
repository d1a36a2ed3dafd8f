"""A cluster that somebody else runs on the machines: faults hit it, and it is up afterwards as it was before."""

from pathlib import Path

import pytest
import yaml
from test_ssh_run import MINIMQ, chaos, events_of, short

from chaos.core.clock import Deadline
from chaos.core.errors import DeployError
from chaos.core.runinfo import NodeInfo
from cluster import process, reuse
from cluster.cluster import Node
from cluster.system import ClusterView
from cluster.systems.minimq.system import MiniMQ

pytestmark = pytest.mark.e2e

DAEMON = {
    "process": r"^sleep 4567\b",
    "start": 'echo "starting {name} in $PWD"; nohup sleep 4567 &',
    "stop": "pkill -f '^sleep 4567'",
}


def test_a_process_is_found_stopped_killed_and_started_again_by_the_users_commands(lab):
    made = lab("b1")
    host = made.up("b1")["b1"]
    info = NodeInfo(name="b1", role="broker", address=host.address)
    node = Node(info, host, reuse.launch(reuse.parse({"broker": DAEMON}, "f", ("broker",))["broker"], info, host.home))
    assert process.adopt(node) is None
    assert not process.state(node).alive
    begun = process.start(node, "run-1")
    assert process.state(node).pid == begun.pid
    process.await_ready(node, Deadline("b1", 20))
    assert host.run("cat", "logs/stdout.log", timeout_s=10).text.startswith("starting b1 in /run/home/root")
    environ = host.run("cat", f"/proc/{begun.pid}/environ", timeout_s=10).text
    assert "CHAOS" not in environ, "what is not ours carries no mark of ours"
    assert "HOME=/run/home/root\0" in environ + "\0"
    assert process.pause(node).stopped
    assert not process.resume(node).stopped
    with pytest.raises(DeployError, match="b1: its process runs already"):
        process.start(node, "run-1")
    assert process.kill(node).gone
    again = process.start(node, "run-1")
    assert again.pid != begun.pid
    assert process.adopt(node) == again
    host.run("sh", "-c", "sleep 4567 > /dev/null 2>&1 &", timeout_s=10).check()
    with pytest.raises(DeployError, match=r"b1: 2 processes match '\^sleep 4567\\\\b': "):
        process.adopt(node)
    process.stop(node)
    assert process.adopt(node) is None


def by_hand(made, name: str, role: str, view: ClusterView, artefacts: str) -> str:
    """Puts a minimq node on a machine, outside of any run; returns the command that starts it."""
    home = f"{made.machines[name].home}/mq"
    info = next(node for node in view.nodes if node.name == name)
    launch = MiniMQ().launch(info, home, artefacts, view)
    for path, content in launch.files.items():
        made.machines[name].put(content, f"{home}/{path}")
    env = " ".join(f"{key}='{value}'" for key, value in launch.env.items())
    return f"cd {home}; env {env} nohup setsid {' '.join(launch.argv)} >> log 2>&1 < /dev/null &"


def test_a_run_on_a_cluster_that_is_there_leaves_it_there(lab):
    made = lab(*MINIMQ)
    system = MiniMQ()
    roles = {spec.name: spec.role for spec in system.topology(system.resolve({}))}
    infos = tuple(NodeInfo(name=n, role=role, address=made.machines[n].address) for n, role in roles.items())
    view = ClusterView(run_id="before", nodes=infos, settings=system.resolve({}), queues=4)
    artefacts = made.netns.provide(system.fetch(lambda _: None))
    starts = {name: by_hand(made, name, role, view, artefacts) for name, role in roles.items()}
    for name in set(MINIMQ) - {"c3"}:
        made.machines[name].run("sh", "-c", starts[name], timeout_s=20).check()
    commands = {
        role: {
            "process": r"cluster\.systems\.minimq\.node",
            "start": f"sh {made.folder}/{{name}}/start",
            "stop": "pkill -f cluster.systems.minimq.node",
            "logs": [f"{made.folder}/b1/mq/log"] if role == "broker" else [],
        }
        for role in ("controller", "broker")
    }
    for name, command in starts.items():
        Path(made.machines[name].home, "start").write_text(command + "\n")
    (made.folder / "reuse.yaml").write_text(yaml.safe_dump(commands))

    def pids(name: str) -> str:
        return made.machines[name].run("pgrep", "-f", "minimq.node", timeout_s=10).text

    before = {name: pids(name) for name in MINIMQ}
    assert [name for name, found in before.items() if not found] == ["c3"]
    argv = ["--system", "minimq", "--nodes-file", made.nodes_file(), "--reuse", str(made.folder / "reuse.yaml")]
    code, said = chaos(made, *argv, "--nemesis", "leader-kill@broker", *short("--seed", "1", "--rate", "20"))
    assert code in (0, 2), said
    assert "] broke " not in said
    faults = [event for event in events_of(made) if event.get("evidence")]
    assert [(event["stage"], event["evidence"]["proven"]) for event in faults] == [
        ("active", True), ("heal", True), ("healed", True),
    ], faults  # fmt: skip
    (hit,) = faults[0]["targets"]
    after = {name: pids(name) for name in MINIMQ}
    assert after["c3"] == "", "it was not there before"
    assert after[hit] not in ("", before[hit])
    others = [name for name in MINIMQ if name not in ("c3", hit)]
    assert [after[name] for name in others] == [before[name] for name in others]
    assert Path(made.machines[hit].home, "mq").is_dir()
