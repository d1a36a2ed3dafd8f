"""What servers say of themselves, and what is made of it."""

import asyncio

import pytest
from nacos_server import CONFIG, READY, SELF, FakeServer, member, said
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
    """What ``ask`` makes of a probe and a source of routes whose servers n1, n2 and n3 say these of themselves."""
    return asked_of([FakeServer({("GET", SELF): body}) for body in bodies], ask)


def asked_of(fakes, ask):
    """What ``ask`` makes of a probe and a source of routes of these servers."""

    async def scenario():
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


@pytest.mark.parametrize("answer", [STARTING, StopIteration], ids=["starting", "closed"])
def test_a_cluster_is_not_ready_while_a_server_does_not_serve(answer):
    async def ask(probe, _):
        return await probe.readiness()

    fakes = [FakeServer(), FakeServer({("GET", READY): answer}), FakeServer()]
    assert asked_of(fakes, ask).startswith("n2 does not serve: ")


def test_every_register_holds_something_before_the_load_and_is_removed_at_the_end():
    async def ask(probe, _):
        await probe.prepare()
        return await probe.remove()

    fakes = [FakeServer({("POST", CONFIG): said(True), ("DELETE", CONFIG): said(True)}) for _ in range(3)]
    assert asked_of(fakes, ask).removed == (f"configurations {VIEW.mark}.*",)
    registers = [{"dataId": f"{VIEW.mark}.{key}", "groupName": "chaos"} for key in range(VIEW.keys)]
    made = [("POST", CONFIG, {**one, "content": "-", "type": "text"}) for one in registers]
    assert fakes[0].asked == [*made, *(("DELETE", CONFIG, one) for one in registers)]
    assert fakes[1].asked == fakes[2].asked == []


def test_a_register_that_cannot_be_made_is_told():
    async def ask(probe, _):
        await probe.prepare()

    refused = (500, said("no leader", 30000))
    with pytest.raises(DeployError, match="register 0 cannot be made: server error"):
        asked_of([FakeServer({("POST", CONFIG): refused}) for _ in range(3)], ask)


def test_what_no_server_removes_is_left():
    async def ask(probe, _):
        return await probe.remove()

    refused = (500, said("no leader", 30000))
    left = asked_of([FakeServer({("DELETE", CONFIG): refused}) for _ in range(3)], ask).left
    assert left == (f"configurations {VIEW.mark}.*: server error",)
