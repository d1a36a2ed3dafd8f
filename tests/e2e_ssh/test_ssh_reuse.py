"""A cluster that somebody else runs on the machines: faults hit it, and it is up afterwards as it was before."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from run_support import check_verdict
from standing_cluster import cluster_that_is_there, minimq_that_is_there
from test_ssh_run import MINIMQ, chaos, events_of, short

from chaos.core.clock import NS_PER_S, Deadline, now_ns
from chaos.core.errors import DeployError
from chaos.models.log.words import F
from chaos.storage.runinfo import NodeInfo
from cluster import existing_cluster
from cluster.cluster import Node
from cluster.nodes import process
from cluster.systems.minimq.config import NODE_MODULE
from cluster.systems.rocketmq.config import BROKER_PORT
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.protocol import Request
from cluster.systems.rocketmq.system import RocketMQ

pytestmark = pytest.mark.e2e


def brief(*more: str) -> list[str]:
    """Options of a run without faults that is over soon."""
    return ["--nemesis", "noop", "--time-limit", "8", "--recovery-time", "1", "--rate", "50", *more]


def assert_sound(made, code: int, said: str) -> None:
    """The run is valid; on a busy machine all but that the load left in time, which the run then shows."""
    folder = (made.folder / "store" / "current").resolve()
    check_verdict(code, folder, said)
    results = json.loads((folder / "results.json").read_text())
    rows = {row["name"]: row["valid"] for row in results["checks"] if row["name"] != "assumptions"}
    assert len(rows) > 5, said
    assert set(rows.values()) == {True}, said


DAEMON = {
    "process": r"^sleep 4567\b",
    "start": 'echo "starting {name} in $PWD"; nohup sleep 4567 &',
    "stop": "pkill -f '^sleep 4567'",
}


def test_a_process_is_found_stopped_killed_and_started_again_by_the_users_commands(lab):
    made = lab("b1")
    host = made.up("b1")["b1"]
    info = NodeInfo(name="b1", role="broker", address=host.address)
    node = Node(
        info,
        host,
        existing_cluster.launch(
            existing_cluster.parse({"broker": DAEMON}, "f", ("broker",), ("broker",))["broker"], info, host.home
        ),
    )
    assert process.adopt(node) is None
    assert not process.state(node).alive
    host.run("sh", "-c", "sleep 4567 > /dev/null 2>&1 &", timeout_s=10).check()
    assert process.adopt(node) is not None
    assert process.stop(node), "also of a process that no command of ours started"
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


def test_a_run_on_a_cluster_that_is_there_leaves_it_there(lab):
    made = lab(*MINIMQ)
    argv = minimq_that_is_there(made, down=frozenset({"c3"}))

    def pids(name: str) -> str:
        return made.machines[name].run("pgrep", "-f", NODE_MODULE, timeout_s=10).text

    before = {name: pids(name) for name in MINIMQ}
    assert [name for name, found in before.items() if not found] == ["c3"]
    code, said = chaos(made, *argv, "--nemesis", "leader-kill@broker", *short("--seed", "1", "--rate", "20"))
    check_verdict(code, (made.folder / "store" / "current").resolve(), said)
    assert "] broke " not in said
    faults = [event for event in events_of(made) if event.get("evidence")]
    assert [(event["stage"], event["evidence"]["proven"]) for event in faults] == [
        ("active", True),
        ("heal", True),
        ("healed", True),
    ], faults
    (hit,) = faults[0]["targets"]
    after = {name: pids(name) for name in MINIMQ}
    assert after["c3"] == "", "it was not there before"
    assert after[hit] not in ("", before[hit])
    others = [name for name in MINIMQ if name not in ("c3", hit)]
    assert [after[name] for name in others] == [before[name] for name in others]
    assert Path(made.machines[hit].home, "by-hand").is_dir()


@pytest.mark.longer
def test_run_after_run_on_one_cluster_is_valid(lab):
    """Topics, offsets of groups and numbers of producers of a run before are no business of the next one."""
    made = lab(*MINIMQ)
    argv = minimq_that_is_there(made)
    topics = set()
    for number, workload in enumerate(("idempotent", "idempotent", "group", "group")):
        code, said = chaos(made, *argv, *brief("--workload", workload, "--seed", str(number)))
        assert_sound(made, code, said)
        (left,) = [event for event in events_of(made) if event.get("name") == "left-behind"]
        (topic,) = re.findall(r"left on the cluster: topic (chaos-[0-9a-f]{16}) and ", left["text"])
        assert f"Left on the cluster: topic {topic}" in " ".join(said.split())
        topics.add(topic)
    assert len(topics) == 4


def test_what_is_promised_follows_from_what_the_nodes_say(lab):
    made = lab(*MINIMQ)
    argv = minimq_that_is_there(made, minInSyncReplicas="1", electionTimeout="2")
    code, said = chaos(made, *argv, *brief("--set", "minInSyncReplicas=2"))
    assert code == 255, said
    assert "settings are not in effect: b1: broker.minInSyncReplicas was set to 2 and is 1 (and 2 more)" in said
    code, said = chaos(made, *argv, *brief("--seed", "1"))
    assert_sound(made, code, said)
    text = " ".join(said.split())
    held = "system was not held to progress under faults on controllers (its margin was measured with other timers"
    assert held in text
    run = json.loads((made.folder / "store" / "current" / "run.json").read_text())
    assert run["promises"]["min_in_sync"] == 1
    assert run["promises"]["progress_margin_s"] == 0
    assert run["settings"]["broker.minInSyncReplicas"] == "1"
    assert run["settings"]["controller.electionTimeout"] == "2"


async def topics_of(address: str) -> bytes:
    """What a broker says of its topics."""
    link = Link(address, BROKER_PORT)
    try:
        return (await link.request(Request.GET_ALL_TOPIC_CONFIG, {}, now_ns() + 5 * NS_PER_S)).body
    finally:
        link.close()


@pytest.mark.backends
def test_run_after_run_on_one_rocketmq_is_valid_and_leaves_no_topic(lab, monkeypatch):
    made = lab("n1", *MINIMQ)
    monkeypatch.setenv("CHAOS_CACHE", str(Path.home() / ".cache" / "chaos"))  # Maven takes minutes
    system = RocketMQ()
    settings = system.settings_for(frozenset(F))
    asked = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    by_name = {name.replace(".", "__"): value for name, value in settings.items()}
    view, argv = cluster_that_is_there(made, system, r"org\.apache\.rocketmq\.", **by_name)
    marks = set()
    for number, workload in enumerate(("pop", "pop", "group")):
        code, said = chaos(made, *argv, *brief("--workload", workload, "--seed", str(number)), *asked)
        assert_sound(made, code, said)
        (left,) = [event for event in events_of(made) if event.get("name") == "left-behind"]
        assert left["data"]["left"] == [], left
        (mark,) = re.findall(r"chaos-[0-9a-f]{16}", left["text"])
        marks.add(mark)
        for broker in view.of_role("broker"):
            known = asyncio.run(topics_of(broker.address))
            assert b"SELF_TEST_TOPIC" in known
            assert [each for each in marks if each.encode() in known] == []
    assert len(marks) == 3
