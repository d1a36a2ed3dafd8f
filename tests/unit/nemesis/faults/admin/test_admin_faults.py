"""Administrative actions as faults, on a fake system: proven, undone, and not proven where nothing was done."""

import hashlib
import secrets
from pathlib import Path

import msgspec
import pytest

from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError
from chaos.storage.runinfo import NodeInfo
from chaos.testing import FakeBackend, FakeSystem
from chaos.testing.fake_admin import ACTIONS, FakeAdmin
from cluster.admin import admin_actions_of
from cluster.cluster import Cluster, Node
from cluster.nodes import process
from cluster.relaunch import launch_of
from cluster.system import ClusterView
from nemesis.faults.admin import compact
from nemesis.faults.admin.admin_fault import action_of
from nemesis.faults.fault import Scene
from nemesis.faults.params import read
from nemesis.faults.registry import fault_named, faults
from nemesis.targets.targets import Targets


@pytest.fixture
def injection(tmp_path):
    """Makes a fault on a node of a fake cluster that runs."""
    backend = FakeBackend()
    run_id = f"run-{secrets.token_hex(4)}"  # a backend that goes down ends all processes of its run, wherever they are

    def made(name, kind=FakeAdmin, targets=("f2",), **params):
        system = FakeSystem(leads=True)
        system.operations_done = 100
        hosts = backend.up(run_id, system.topology({}), tmp_path)
        infos = tuple(NodeInfo(name=one, role="node", address=hosts[one].address) for one in system.names)
        view = ClusterView(run_id=run_id, nodes=infos, settings=system.resolve({}), keys=1)
        nodes = {
            one.name: Node(one, hosts[one.name], system.launch(one, hosts[one.name].home, "", view)) for one in infos
        }
        for node in nodes.values():
            process.start(node, run_id)
            process.await_ready(node, Deadline("the fake to serve", 60))
        homes = {one: Path(hosts[one].home) for one in system.names}
        cluster = Cluster(
            run_id,
            nodes,
            dict(system.roles),
            system.subjects({}, 1),
            kind(system, homes),
            lambda node, relaunch: launch_of(system, view, node, relaunch, ""),
        )
        whom = Targets(names=targets, participants=(), grudge={}, description="")
        fault = fault_named(name)
        return fault(Scene(cluster, whom, hosts["client"], serve_within_s=60.0, params=read(fault.Params, params)))

    yield made
    backend.down()


PROVEN = {
    "compact": "f2 refuses reads before revision 90",
    "defragment": "f2 wrote its database anew: inode",
    "snapshot": "f2 sent 132 bytes that fit their checksum",
    "remove-node": "f2 (member 2) is no member any more, 0 files of its data are left",
    "replace-node": "f2 is member 4 instead of 2, its process lives",
    "change-setting": "f2 pid ",
    "change-version": "f2 pid ",
}
UNDONE = {
    "compact": "f2 answers reads",
    "defragment": "f2 answers",
    "snapshot": "f2 left no file",
    "remove-node": "f2 is member 4 instead of 2, has 100 of 100 entries or more",
    "replace-node": "f2 is member 4 instead of 2, has 100 of 100 entries or more",
    "change-setting": "f2 says node.label=usual",
    "change-version": "f2 says version 1.0.0",
}
PARAMS = {
    "compact": {"keep": 10},
    "change-setting": {"setting": "node.label", "to": "other"},
    "change-version": {"to": "1.0.7"},
}
SAYS = {"change-setting": "says node.label=other", "change-version": "says version 1.0.7"}


@pytest.mark.parametrize("name", PROVEN)
def test_it_is_proven_and_undone(name, injection, tmp_path):
    fault = injection(name, **PARAMS.get(name, {}))
    fault.act()
    for look in (fault.verify(), fault.verify_still()):
        assert look.proven
        assert look.summary.startswith(PROVEN[name])
        assert look.summary.endswith(SAYS.get(name, ""))
    for _ in range(2):
        fault.heal()
        healed = fault.verify_healed()
        assert healed.proven
        assert healed.summary.endswith(UNDONE[name])
    assert not list(tmp_path.rglob(".snapshot-*"))


class Idle(FakeAdmin):
    """Says that it did, and does nothing."""

    def compact(self, revision):
        pass

    def defragment(self, node):
        pass

    def save_snapshot(self, node, file):
        Path(file).write_bytes(b"half of it" + hashlib.sha256(b"all of it").digest())

    def remove_member(self, node):
        pass


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("compact", "NOT: f2 still answers reads at revision 89"),
        ("defragment", "NOT: f2 has its database in the same file as before"),
        ("snapshot", "NOT: f2 sent nothing whole"),
        ("remove-node", "NOT: f2 is still a member, says f1 f3"),
        ("replace-node", "NOT: f2 was member 2 and is now 2"),
    ],
)
def test_what_was_not_done_is_not_proven(name, said, injection, monkeypatch):
    monkeypatch.setattr(compact, "_APPLIED_WITHIN_S", 0.0)
    fault = injection(name, Idle, **PARAMS.get(name, {}))
    fault.act()
    seen = fault.verify()
    assert not seen.proven
    assert seen.summary.startswith(said)


def test_a_removed_node_that_nobody_adds_is_not_healed(injection, monkeypatch):
    fault = injection("remove-node")
    fault.act()
    fault._serve_within_s = 0.0
    monkeypatch.setattr(FakeAdmin, "add_member", lambda *_: None)
    fault.heal()
    seen = fault.verify_healed()
    assert not seen.proven
    assert "of 3 members are 2 there: f1 1, f3 3" in seen.summary


def test_a_node_whose_data_nobody_knows_stays_a_member(injection):
    """As on a cluster that was there before the run."""
    fault = injection("remove-node")
    fault._nodes = {
        name: msgspec.structs.replace(node, launch=msgspec.structs.replace(node.launch, data=()))
        for name, node in fault._nodes.items()
    }
    with pytest.raises(ChaosError, match="f2: nobody says where the data is, so nothing was removed"):
        fault.act()
    assert fault.cluster.admin.members("f1") == {"f1": "1", "f2": "2", "f3": "3"}
    fault.heal()
    assert fault.verify_healed().proven


def test_there_is_nothing_to_compact_at_the_beginning(injection):
    fault = injection("compact", keep=1000)
    with pytest.raises(ChaosError, match="nothing to forget before the last 1000 revisions"):
        fault.act()
    assert fault.verify_healed().proven


def test_a_fake_offers_every_action_that_a_fault_needs():
    needed = {action for fault in faults().values() if (action := action_of(fault))}
    assert set(admin_actions_of(FakeSystem(leads=True), {})) == needed == set(ACTIONS)
    assert admin_actions_of(FakeSystem(), {}) == {}


def test_nodes_are_changed_one_after_the_other_and_go_back(injection):
    fault = injection("change-setting", targets=("f1", "f2", "f3"), pause_s=0.0, **PARAMS["change-setting"])
    fault.act()
    assert fault.verify().proven, "the first is changed, and the others are to follow"
    fault._round.until(lambda: False, 60.0)
    seen = fault.verify_still()
    assert seen.proven, seen.summary
    assert seen.summary.count("says node.label=other") == 3
    pids = {name: process.state(node).pid for name, node in fault.nodes.items()}
    fault.heal()
    assert fault.verify_healed().proven
    assert all(process.state(node).pid != pids[name] for name, node in fault.nodes.items())


def test_what_the_end_overtakes_is_not_proven_and_was_never_touched(injection):
    fault = injection("change-version", targets=("f1", "f2", "f3"), pause_s=60.0, **PARAMS["change-version"])
    fault.act()
    seen = fault.verify_still()
    assert not seen.proven
    assert "f2 was not restarted before the fault's end" in seen.summary
    pid = process.state(fault.nodes["f3"]).pid
    fault.heal()
    healed = fault.verify_healed()
    assert healed.proven, healed.summary
    assert process.state(fault.nodes["f3"]).pid == pid
    assert {fault.cluster.admin.version_of(name) for name in fault.nodes} == {"1.0.0"}


def test_a_node_that_keeps_its_setting_is_not_proven(injection):
    fault = injection("change-setting", **PARAMS["change-setting"])
    fault.cluster = msgspec.structs.replace(fault.cluster, launch_again=lambda node, _relaunch: node.launch)
    fault.act()
    seen = fault.verify()
    assert not seen.proven
    assert seen.summary.endswith("says node.label=usual, not node.label=other")
    fault.heal()
    assert fault.verify_healed().proven


def test_a_cluster_that_somebody_else_started_is_left_alone(injection):
    fault = injection("change-setting", **PARAMS["change-setting"])
    fault.cluster = msgspec.structs.replace(fault.cluster, launch_again=None)
    with pytest.raises(ChaosError, match="only their user knows how these nodes are started"):
        fault.act()
    fault.heal()
    assert fault.verify_healed().proven
