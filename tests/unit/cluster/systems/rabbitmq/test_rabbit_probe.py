"""What the probe makes of what nodes say of themselves."""

import asyncio

import msgspec
import pytest
from system_view import view_of

from chaos.core.errors import DeployError
from cluster.systems._shared.link import Malformed
from cluster.systems.rabbitmq.probe import RabbitProbe, claims_of, settings_shown
from cluster.systems.rabbitmq.servers import Heard, Lines, Queue, Servers, Shown, State, leader_of
from cluster.systems.rabbitmq.system import RabbitMQ

KNOWN = {f"rabbit@198.18.0.1{position}": f"n{position + 1}" for position in range(3)}
N1, N2, N3 = KNOWN


def quorum(name, leader, term=4):
    return Queue(name=name, type="quorum", leader=leader, term=term, members=[N1, N2, N3])


def classic(name, *members):
    return Queue(name=name, type="classic", leader=members[0], members=list(members))


def state(*queues, running=(N1, N2, N3)):
    return State(version="3.10.8", serves=True, running=list(running), queues=list(queues))


def test_only_a_leader_knows_its_own_term():
    said = state(quorum("a", N1), quorum("b", N2), quorum("other", N1), quorum("c", "none", 0))
    assert [
        (one.subject, one.leader, one.epoch, one.members) for one in claims_of("n1", said, ("a", "b", "c", "d"), KNOWN)
    ] == [("queue0", "n1", 4, None), ("queue1", "n2", None, None), ("queue2", None, None, None)]


def test_a_classic_queue_has_no_term_and_its_mirrors():
    said = state(classic("a", N2, N3), classic("b", N1))
    assert [(one.leader, one.epoch, one.members) for one in claims_of("n2", said, ("a", "b"), KNOWN)] == [
        ("n2", None, ("n2", "n3")),
        ("n1", None, None),
    ]


def test_the_leader_is_whom_most_name():
    heard = [Heard(f"n{n}", state(quorum("a", leader))) for n, leader in ((1, N1), (2, N3), (3, N3))]
    assert leader_of(heard, "a") == N3
    assert leader_of(heard, "b") is None
    assert leader_of([Heard("n1", state(quorum("a", "none")))], "a") is None


@pytest.mark.parametrize(
    ("queues", "kind"),
    [((quorum("a", N1),), "quorum"), ((classic("a", N1),), "classic"), ((classic("a", N1, N2),), "mirrored")],
)
def test_what_a_node_shows_are_settings(queues, kind):
    shown = Shown(lines={"heartbeat": "20"}, values={"heartbeat": "20", "channel_max": "9"}, ticktime=5)
    assert settings_shown(state(*queues, quorum("other", N1)), shown, ("a",)) == {
        "heartbeat": "20",
        "cluster.netTicktime": "5",
        "cluster.nodes": "3",
        "cluster.queueType": kind,
    }


def confirmed(shown):
    view = view_of(RabbitMQ(), heartbeat="20")
    probe = RabbitProbe(view)

    class Fixed:
        async def ask(self, request, kind, deadline_ns):
            return state(quorum(probe._servers.queues[0], N1)) if kind is State else shown

    probe._servers.observers = dict.fromkeys(probe._servers.observers, Fixed())
    return asyncio.run(probe.confirm())


LINES = {
    "heartbeat": "20",
    "cluster_partition_handling": "pause_minority",
    "vm_memory_high_watermark.absolute": "400MB",
    "disk_free_limit.absolute": "50MB",
}


def test_settings_are_proven():
    done = confirmed(Shown(lines=LINES, values={"heartbeat": "20"}, ticktime=5))
    assert done.settings == {
        **LINES,
        "cluster.netTicktime": "5",
        "cluster.nodes": "3",
        "cluster.queueType": "quorum",
    }


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (Shown(lines=LINES, ticktime=60), "cluster.netTicktime is 60 instead of 5"),
        (Shown(lines=LINES, values={"heartbeat": "60"}, ticktime=5), "heartbeat is 60 instead of 20"),
        (Shown(lines={"heartbeat": "20"}, ticktime=5), "n1 does not know cluster_partition_handling"),
        (Shown(error="no"), "n1 does not say its settings in effect: no"),
    ],
)
def test_what_is_not_in_effect_ends_the_run(shown, said):
    with pytest.raises(DeployError, match=said):
        confirmed(shown)


def test_a_line_comes_in_pieces():
    lines = Lines()
    assert lines.encode(7, "state") == b"state\n"
    assert lines.feed(b'{"serves"') == []
    ((number, answer),) = lines.feed(b":true}\n")
    assert (number, msgspec.json.decode(answer, type=State).serves) == (7, True)
    with pytest.raises(Malformed):
        lines.feed(b"x" * (1 << 21))


def test_the_route_has_a_place_for_each_queue():
    servers = Servers(view_of(RabbitMQ(), cluster__queueType="classic"))

    class Fixed:
        async def ask(self, request, kind, deadline_ns):
            return state(*(classic(name, N1) for name in servers.queues))

        def close(self):
            pass

    servers.observers = dict.fromkeys(servers.observers, Fixed())
    route = asyncio.run(servers.ask(0))
    assert [(one.leader, one.followers) for one in route.subjects] == [
        ("n1", ()),
        ("n1", ("n2",)),
        ("n1", ("n3",)),
        ("n1", ()),
    ]
