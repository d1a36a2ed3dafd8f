"""Which nodes can be started again otherwise, and how."""

import pytest
from system_view import view_of

from chaos.core.errors import UsageError
from chaos.testing import FakeSystem
from cluster.cluster import Node, Relaunch
from cluster.relaunch import check_relaunch, launch_of, program_of
from cluster.systems.etcd.system import Etcd
from cluster.systems.minimq.system import MiniMQ
from cluster.systems.redis.system import Redis

ETCD = Etcd("3.5.4")
SETTINGS = ETCD.resolve({})


@pytest.mark.parametrize(
    ("system", "relaunch", "role", "said"),
    [
        (ETCD, Relaunch("snapshot-cont", "5"), "member", "setting snapshot-cont: .*; did you mean snapshot-count"),
        (ETCD, Relaunch("cluster.members", "5"), "member", "a member can be started again with another heartbeat"),
        (ETCD, Relaunch("snapshot-count", "10"), "learner", "no learner can be"),
        (ETCD, Relaunch("snapshot-count", "100000"), "member", "to 100000: snapshot-count is that already"),
        (ETCD, Relaunch("snapshot-count", "many"), "member", "--set snapshot-count=many: a whole number above 0"),
        (ETCD, Relaunch("election-timeout", "100"), "member", "--set election-timeout=100: from 500"),
        (ETCD, Relaunch(version="3.5.4"), "member", "the run is of that version already"),
        (ETCD, Relaunch(version="3.6.1"), "member", "from a patch release only; give one beside 3.5.4"),
        (ETCD, Relaunch(version="new"), "member", "write it like"),
        (MiniMQ(), Relaunch("lagMax", "3"), "broker", "did you mean broker.lagMax"),
        (MiniMQ(), Relaunch("broker.lagMax", "3"), "controller", "a controller can be started again with another"),
        (MiniMQ(), Relaunch("bug", "forget-vote"), "broker", "setting bug: a broker can be started again with"),
        (MiniMQ(), Relaunch(version="0.2.0"), "broker", "minimq can be had in 0.1.0 only"),
        (Redis(), Relaunch("appendonly", "no"), "replica", "no replica can be"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(system, relaunch, role, said) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        check_relaunch(system, system.resolve({}), relaunch, [role])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("system", "relaunch", "role"),
    [
        (ETCD, Relaunch("snapshot-count", "10"), "member"),
        (ETCD, Relaunch(version="3.5.9"), "member"),
        (MiniMQ(), Relaunch("broker.flush", "async"), "broker"),
        (MiniMQ(), Relaunch("controller.electionTimeout", "2"), "controller"),
        (FakeSystem(leads=True), Relaunch(version="1.0.7"), "node"),
    ],
)
def test_what_can_be_is_let_through(system, relaunch, role) -> None:
    check_relaunch(system, system.resolve({}), relaunch, [role])


def test_a_setting_changes_nothing_else_of_a_launch() -> None:
    view = view_of(ETCD)
    usual = ETCD.launch(view.nodes[0], "/home", "/made", view)
    node = Node(view.nodes[0], Here(), usual)
    other = launch_of(ETCD, view, node, Relaunch("snapshot-count", "10"), "/made")
    assert set(other.argv) ^ set(usual.argv) == {"--snapshot-count=100000", "--snapshot-count=10"}
    assert (other.env, other.files, other.data) == (usual.env, usual.files, usual.data)


def test_another_version_is_another_program_with_the_same_settings() -> None:
    view = view_of(ETCD)
    node = Node(view.nodes[0], Here(), ETCD.launch(view.nodes[0], "/home", "/made", view))
    other = launch_of(ETCD, view, node, Relaunch(version="3.5.9"), "/other")
    assert (other.argv[0], other.argv[1:]) == ("/other/etcd", node.launch.argv[1:])
    assert program_of(ETCD, view.settings, Relaunch(version="3.5.9")).system.version == "3.5.9"


class Here:
    """A host, as far as a launch asks."""

    home = "/home"
