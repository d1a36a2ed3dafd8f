"""Faults on processes that a supervisor starts again: what was ended is told apart from what stayed gone."""

import re

import msgspec
import pytest
from host_support import until
from leading import leads
from test_hosts_nemesis import Run

from chaos.core.events import EventLog, Note
from chaos.run.wait_for_recovery import Recovery
from chaos.storage.event_files import read_events
from chaos.storage.runinfo import NodeInfo, Promises
from chaos.testing.history_files import RunLiteral, run_info
from checkers.history.timeline import timeline_of
from cluster import existing_cluster
from cluster.cluster import Cluster, Node
from cluster.nodes import process
from cluster.nodes.process_state import parse_list
from nemesis.faults.fault import Scene
from nemesis.faults.processes.kill import Kill
from nemesis.plan.choose_targets import choose
from nemesis.plan.plan import make_plan
from nemesis.targets.topology import Topology

pytestmark = pytest.mark.e2e

NAMES = ("b1", "b2", "b3")
# $1: the home. As systemd with Restart=always; while there is a file "hold" it waits.
LOOP = b"""\
while [ ! -e "$1/end" ]; do
  [ -e "$1/hold" ] || sleep 4567
  sleep 0.05
done
"""
COMMANDS = {"process": r"^sleep 4567\b", "stop": "pkill -f '^sleep 4567'"}


@pytest.fixture
def supervised(sandbox):
    """A cluster of three, and what makes the supervisor of each node wait."""
    made = sandbox(*NAMES)
    nodes = {}
    for name, host in made.nodes().items():
        info = NodeInfo(name=name, role="broker", address=host.address)
        host.put(LOOP, f"{host.home}/loop")
        start = f"[ -e {host.home}/up ] && exit; touch {host.home}/up; setsid sh {host.home}/loop {host.home} &"
        commands = existing_cluster.parse({"broker": {**COMMANDS, "start": start}}, "f", ("broker",), ("broker",))[
            "broker"
        ]
        nodes[name] = Node(info, host, existing_cluster.launch(commands, info, host.home))
        process.start(nodes[name], made.run_id)
    yield Cluster(made.run_id, nodes, {"broker": "replica"}), made.hosts["client"]
    for node in nodes.values():
        node.host.put(b"", f"{node.host.home}/end")
        process.kill(node)


def plan_of(cluster, nemesis, duration_s=600.0):
    infos = [node.info for node in cluster.nodes.values()]
    return make_plan(
        nemesis,
        cluster.kinds,
        infos,
        interval_s=0.2,
        duration_s=duration_s,
        time_limit_s=duration_s + 0.2,
        seed=1,
        fault_nodes=("b1",),
    )


def run_of(supervised, tmp_path, nemesis, duration_s=600.0):
    return Run(supervised, tmp_path, plan_of(supervised[0], nemesis, duration_s), duration_s)


def concluded(run):
    """What checks take from the events, and the events of the fault by stage."""
    events = run.events()
    info = msgspec.structs.replace(run_info(RunLiteral(), "supervised"), planned_faults=1)
    (span,) = timeline_of(list(events), info).faults
    return span, {event.stage: event for event in events}


def listed(node, pattern=COMMANDS["process"]):
    """The pids of the node's processes whose command lines match."""
    every = parse_list(process._run(node, process._LIST))
    return [each.pid for each in every if re.search(pattern, each.command)]


def test_a_kill_that_a_supervisor_undoes_is_not_proven(supervised):
    cluster, client = supervised
    node = cluster.nodes["b1"]
    before = process.state(node)
    topology = Topology.of([each.info for each in cluster.nodes.values()], cluster.kinds)
    targets = choose(plan_of(cluster, "fixed-kill")[0], topology, leads())
    kill = Kill(Scene(cluster, targets, client))
    kill.act()
    until(lambda: listed(node), "the supervisor to start it again")
    for look in (kill.verify, kill.verify_still):
        seen = look()
        assert not seen.proven
        said = rf"NOT: b1 pid {before.pid} was killed, and something else started it again as pid \d+ after \d+\.\d s"
        assert re.fullmatch(said, seen.summary)
    kill.heal()
    assert kill.verify_healed().proven, "the node is whole, whoever started it"
    assert listed(node) == [process.state(node).pid] != [before.pid]


def test_a_process_that_comes_back_before_the_last_look_did_not_stay_gone(supervised, tmp_path):
    cluster, _ = supervised
    node = cluster.nodes["b1"]
    node.host.put(b"", f"{node.host.home}/hold")
    with run_of(supervised, tmp_path, "fixed-kill", 6.0) as run:
        assert run.await_stage("active").evidence.proven
        node.host.run("rm", f"{node.host.home}/hold", timeout_s=10).check()
        run.finish()
    span, stages = concluded(run)
    assert stages["broke"].note.startswith("did not last: NOT: b1 pid ")
    assert not span.proven


def test_a_process_that_comes_back_after_the_last_look_did_not_stay_gone_either(supervised, tmp_path):
    cluster, _ = supervised
    node = cluster.nodes["b1"]
    node.host.put(b"", f"{node.host.home}/hold")
    with run_of(supervised, tmp_path, "fixed-kill") as run:
        assert run.await_stage("active").evidence.proven
        node.host.run("rm", f"{node.host.home}/hold", timeout_s=10).check()
        until(lambda: listed(node), "the supervisor to start it again")
    span, stages = concluded(run)
    assert stages["healed"].evidence.proven
    assert (span.proven, span.healed) == (False, True)
    assert re.match(r"broke: did not last: b1 pid \d+ was killed, and something else started it again ", span.note)


def test_a_process_that_stays_gone_is_started_by_its_own_command(supervised, tmp_path):
    cluster, _ = supervised
    node = cluster.nodes["b1"]
    node.host.put(b"", f"{node.host.home}/hold")
    with run_of(supervised, tmp_path, "fixed-kill") as run:
        assert run.await_stage("active").evidence.proven
        assert listed(node) == []
        node.host.run("sh", "-c", f"rm {node.host.home}/up; touch {node.host.home}/end", timeout_s=10).check()
        until(lambda: not listed(node, "/loop "), "the supervisor to end")
        node.host.run("rm", f"{node.host.home}/end", f"{node.host.home}/hold", timeout_s=10).check()
    span, stages = concluded(run)
    assert (span.proven, span.healed) == (True, True)
    assert re.search(r"b1 restarted as pid \d+", stages["healed"].evidence.summary)


def test_a_restart_by_a_supervisor_is_a_restart(supervised, tmp_path):
    with run_of(supervised, tmp_path, "fixed-restart") as run:
        active = run.await_stage("active")
    assert active.evidence.proven
    # Whoever of the two was faster: the start command of this cluster leaves it to the supervisor.
    assert re.search(r"pid \d+(, started by something else,)? lives$", active.evidence.summary)
    span, _ = concluded(run)
    assert (span.proven, span.healed) == (True, True)


def test_the_next_fault_hits_what_the_supervisor_started(supervised, tmp_path):
    cluster, _ = supervised
    node = cluster.nodes["b1"]
    before = process.state(node)
    process.kill(node)
    until(lambda: process.state(node).successor, "the supervisor to start it again")
    with run_of(supervised, tmp_path, "fixed-suspend") as run:
        assert run.await_stage("active").evidence.proven
        assert process.state(node).stopped
        assert process.state(node).pid != before.pid
    assert not process.state(node).stopped


def test_a_process_that_crashed_and_was_started_again_did_come_back(supervised, tmp_path):
    cluster, client = supervised
    node, said = cluster.nodes["b1"], []
    (tmp_path / "history").mkdir()
    info = msgspec.structs.replace(run_info(RunLiteral(), "supervised"), promises=Promises(recovers_within_s=30))
    log = EventLog(tmp_path / "history" / "run.events")
    recovery = Recovery(info, cluster, client, tmp_path, log, said.append, 1.0)
    process.kill(node)
    until(lambda: process.state(node).successor, "the supervisor to start it again")
    recovery.look_for_ended()
    recovery.look_for_ended()
    log.close()
    (note,) = [event for event in read_events(tmp_path / "history" / "run.events") if isinstance(event, Note)]
    assert (note.name, note.node) == ("node-restarted", "b1")
    assert len(said) == 1
