"""What servers say of themselves, and what is made of it."""

import asyncio

import pytest
from nacos_server import SELF, FakeServer, member, said
from system_view import view_of

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import DeployError
from chaos.core.events import Claim
from cluster.systems.nacos.probe import NacosProbe
from cluster.systems.nacos.servers import Servers
from cluster.systems.nacos.system import Nacos

VIEW = view_of(Nacos())
FIRST, SECOND = "198.18.0.10:7848", "198.18.0.11:7848"
STARTING = (503, b"<html>")


def asked(bodies, ask):
    """What ``ask`` makes of a probe and a source of routes whose servers n1, n2 and n3 say these things."""

    async def scenario():
        fakes = [FakeServer({("GET", SELF): body}) for body in bodies]
        for fake in fakes:
            await fake.__aenter__()
        probe, servers = NacosProbe(VIEW), Servers(VIEW)
        probe._servers.links = servers.links = {
            node.name: fake.link for node, fake in zip(VIEW.nodes, fakes, strict=True)
        }
        try:
            return await ask(probe, servers)
        finally:
            await probe.close()
            for fake in fakes:
                await fake.__aexit__()

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("body", "alive", "role", "claim"),
    [
        (member(FIRST, 3), True, "leader", Claim(subject="nacos", leader="n1", epoch=3)),
        (member(SECOND, 4), True, "follower", Claim(subject="nacos", leader="n2", epoch=4)),
        (member(None, 4), True, "follower", Claim(subject="nacos", leader=None, epoch=None)),
        (member("10.0.0.1:7848", 4), True, "follower", Claim(subject="nacos", leader=None, epoch=None)),
        (said({"extendInfo": {}}), True, "follower", Claim(subject="nacos", leader=None, epoch=None)),
        (STARTING, False, "", None),
        (b"<html>", False, "", None),
        (StopIteration, False, "", None),
    ],
    ids=["leads", "follows", "nobody", "a stranger", "no group yet", "starting", "no json", "closed"],
)
def test_a_server_names_the_leader_of_its_term(body, alive, role, claim):
    async def ask(probe, _):
        return await probe.observe(VIEW.nodes[0], 5)

    seen = asked([body] * 3, ask)
    assert (seen.alive, seen.role or "", seen.claims or ()) == (alive, role, (claim,) if claim else ())


@pytest.mark.parametrize(
    ("bodies", "leader"),
    [
        ([member(FIRST, 3), member(SECOND, 4), STARTING], "n2"),
        ([member(FIRST, 3), member(None, 4), STARTING], "n1"),
        ([member(None, 4), STARTING, STARTING], None),
    ],
)
def test_the_route_is_the_leader_of_the_newest_term(bodies, leader):
    async def ask(_, servers):
        return (await servers.ask(now_ns() + 5 * NS_PER_S)).leader(0)

    assert asked(bodies, ask) == leader


def test_without_an_answer_there_is_no_route():
    async def ask(_, servers):
        return await servers.ask(now_ns() + 5 * NS_PER_S)

    assert asked([STARTING] * 3, ask) is None


@pytest.mark.parametrize(
    ("bodies", "ready"),
    [
        ([member(FIRST, 3)] * 3, True),
        ([member(FIRST, 3), member(FIRST, 3), STARTING], False),
        ([member(None, 3)] * 3, False),
    ],
)
def test_a_cluster_is_ready_when_all_know_one_leader(bodies, ready):
    async def ask(probe, _):
        return await probe.readiness()

    assert (asked(bodies, ask) is None) == ready


def test_the_version_is_told_and_no_setting():
    async def ask(probe, _):
        return await probe.confirm()

    confirmed = asked([member()] * 3, ask)
    assert [note.text for note in confirmed.notes] == ["nacos 3.1.0 on 3 nodes; servers tell no settings"]
    with pytest.raises(DeployError, match="n3 does not say its version: status 503, error 0"):
        asked([member(), member(), STARTING], ask)
