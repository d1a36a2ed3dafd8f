"""RocketMQ in every mode: a short run each with the master killed, and observations that the mode is really that."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from run_support import check_run

from chaos.core.events import Event, Note, Observation
from chaos.storage.event_files import read_events
from cluster.systems.rocketmq.config import GROUP

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

TIMEOUT_S = 600
RUN = (sys.executable, "-m", "chaos", "run", "--system", "rocketmq", "--engine", "local")


class Ran(NamedTuple):
    """A finished run: run.json, its events in order of time."""

    info: dict[str, Any]
    events: list[Event]

    def of(self, role: str) -> list[str]:
        return [node["name"] for node in self.info["nodes"] if node["role"] == role]

    @property
    def observations(self) -> list[Observation]:
        return [event for event in self.events if isinstance(event, Observation)]

    def last(self, node: str) -> Observation:
        return [seen for seen in self.observations if seen.node == node and seen.alive][-1]

    @property
    def note(self) -> Note:
        (note,) = (one for one in self.events if isinstance(one, Note) and one.name == "settings-in-effect")
        return note

    def switch(self, key: str) -> dict[str, str]:
        found: dict[str, str] = self.note.data["switches"][key]
        return found


def run(store: Path, *settings: str, nemesis: str = "leader-kill") -> Ran:
    """Run the command as a user types it and hold it against what every run owes; no anomaly is awaited."""
    argv = [*RUN, "--nemesis", nemesis, "--seed", "1"]
    argv += ["--time-limit", "30", "--fault-interval", "10", "--set", "client.routing=follow", "--store", str(store)]
    for setting in settings:
        argv += ["--set", setting]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env={**os.environ})
    assert done.returncode == 0, done.stdout + done.stderr
    info = check_run(store, "netns", done.returncode, done.stdout)
    history = (store / "current").resolve() / "history"
    events = [event for path in history.glob("*.events") for event in read_events(path)]
    return Ran(info, sorted(events, key=lambda event: event.time_ns))


def check_failed_over(ran: Ran) -> None:
    """Two masters one after the other, the second in a later epoch; controllers name it."""
    reigns = [(seen.node, claim.epoch) for seen in ran.observations for claim in seen.led() if claim.subject == GROUP]
    reigns = [(node, epoch) for node, epoch in reigns if epoch]
    masters = dict.fromkeys(reigns)
    assert len({node for node, _ in masters}) > 1
    assert max(epoch for _, epoch in masters) > next(iter(masters))[1]


def check_controllers(ran: Ran, kind: str) -> None:
    controllers = ran.of("controller")
    assert set(ran.switch("controllerType").values()) == {kind}
    assert set(ran.switch("controllerType")) == set(controllers)
    assert set(ran.switch("enableControllerMode").values()) == {"true"}
    roles = sorted(ran.last(name).role or "" for name in controllers)
    assert roles == ["follower"] * (len(controllers) - 1) + ["leader"]
    own, about = next(ran.last(name).claims or () for name in controllers if ran.last(name).role == "leader")
    assert own.epoch is not None
    assert own.epoch >= 1
    assert about.members == tuple(ran.of("broker"))
    assert about.epoch is not None
    assert about.epoch >= 1


def test_controllers_that_agree_by_jraft(tmp_path: Path) -> None:
    ran = run(tmp_path, "cluster.controllerType=jRaft")
    check_controllers(ran, "jRaft")
    check_failed_over(ran)


def test_controllers_inside_name_servers(tmp_path: Path) -> None:
    ran = run(tmp_path, "cluster.controllerIn=namesrv")
    assert (ran.of("namesrv"), ran.of("controller")) == ([], ["c1", "c2", "c3"])
    check_controllers(ran, "DLedger")
    check_failed_over(ran)


def test_five_replicas_and_two_name_servers(tmp_path: Path) -> None:
    ran = run(tmp_path, "cluster.brokers=5", "cluster.namesrvs=2")
    assert (ran.of("namesrv"), len(ran.of("broker"))) == (["n1", "n2"], 5)
    assert set(ran.switch("totalReplicas").values()) == {"5"}
    check_controllers(ran, "DLedger")
    check_failed_over(ran)


def test_one_master_for_ever_and_its_slaves(tmp_path: Path) -> None:
    ran = run(tmp_path, "cluster.mode=master-slave")
    assert ran.of("controller") == []
    assert ran.switch("brokerRole") == {"b1": "SYNC_MASTER", "b2": "SLAVE", "b3": "SLAVE"}
    assert set(ran.switch("inSyncReplicas").values()) == {"2"}
    assert {(seen.node, claim.epoch) for seen in ran.observations for claim in seen.led()} == {("b1", 1)}
    (claim,) = ran.last("b1").claims or ()
    assert claim.members == ("b1", "b2", "b3")
    outages = [seen for seen in ran.observations if seen.node == "b1" and not seen.alive]
    assert outages, "the master was never seen dead"


def test_brokers_whose_log_is_a_raft_log(tmp_path: Path) -> None:
    ran = run(tmp_path, "cluster.mode=dledger")
    assert ran.of("controller") == []
    assert set(ran.switch("enableDLegerCommitLog").values()) == {"true"}
    check_failed_over(ran)
    followed = {claim.leader for name in ran.of("broker") for claim in ran.last(name).claims or ()}
    assert len(followed) == 1
    assert ran.last(followed.pop() or "").role == "master"


def test_a_new_master_that_was_not_asked_for_the_topic_serves_nobody(tmp_path: Path) -> None:
    """The topic is made just after the slaves have asked for all, so the master dies before they hear of it."""
    argv = [*RUN, "--nemesis", "leader-kill", "--seed", "1"]
    argv += ["--set", "cluster.topicOn=master", "--set", "client.routing=follow", "--rto-budget", "15"]
    argv += ["--fault-interval", "3", "--fault-duration", "25", "--time-limit", "28", "--drain-deadline", "120"]
    argv += ["--store", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env={**os.environ})
    assert done.returncode == 1, done.stdout + done.stderr
    results = json.loads(((tmp_path / "current").resolve() / "results.json").read_bytes())
    assert "rto-budget" in results["anomalies"]
    assert "lost-write" not in results["anomalies"], "every message is there, and nobody serves it"
    assert "TOPIC_NOT_EXIST" in done.stdout
