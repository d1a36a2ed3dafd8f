"""What servers say of themselves, and what is made of it."""

import asyncio
from itertools import chain, repeat

import pytest
from nacos_server import (
    CONFIG,
    INSTANCE,
    OLD_INSTANCE,
    READY,
    SELF,
    STATE,
    FakeServer,
    member,
    said,
    state,
)
from system_view import view_of

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import DeployError
from chaos.core.events import Claim
from cluster.systems.nacos import probe as probe_module
from cluster.systems.nacos.probe import NacosProbe
from cluster.systems.nacos.servers import Servers
from cluster.systems.nacos.system import Nacos

VIEW = view_of(Nacos())
LOADS_AGAIN = "nacos.core.protocol.distro.data.load.retryDelayMs"
ELECTION = "nacos.core.protocol.raft.data.election_timeout_ms"
FIRST, SECOND = "198.18.0.10:7848", "198.18.0.11:7848"
STARTING = (503, b"<html>")
KEPT = Claim(subject="naming", leader="n3", epoch=9)
NOBODY = Claim(subject="naming", leader=None, epoch=None)


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
    ("body", "alive", "role", "claims"),
    [
        (member(FIRST, 3), True, "leader", (Claim(subject="nacos", leader="n1", epoch=3), KEPT)),
        (member(SECOND, 4), True, "follower", (Claim(subject="nacos", leader="n2", epoch=4), KEPT)),
        (member(None, 4), True, "follower", (Claim(subject="nacos", leader=None, epoch=None), KEPT)),
        (member("10.0.0.1:7848", 4), True, "follower", (Claim(subject="nacos", leader=None, epoch=None), KEPT)),
        (said({"extendInfo": {}}), True, "follower", (Claim(subject="nacos", leader=None, epoch=None), NOBODY)),
        (STARTING, False, "", ()),
        (b"<html>", False, "", ()),
        (StopIteration, False, "", ()),
    ],
    ids=["leads", "follows", "nobody", "a stranger", "no group yet", "starting", "no json", "closed"],
)
def test_a_server_names_the_leaders_of_its_terms(body, alive, role, claims):
    async def ask(probe, _):
        return await probe.observe(VIEW.nodes[0], 5)

    seen = asked([body] * 3, ask)
    assert (seen.alive, seen.role or "", tuple(seen.claims or ())) == (alive, role, claims)


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
        ([member(naming=None)] * 3, False),
    ],
)
def test_a_cluster_is_ready_when_all_know_one_leader(bodies, ready):
    async def ask(probe, _):
        return await probe.readiness()

    assert (asked(bodies, ask) is None) == ready


async def confirmed(probe, _):
    return await probe.confirm()


def test_settings_are_proven_by_every_server():
    proven = asked([member()] * 3, confirmed)
    assert [note.text for note in proven.notes] == ["nacos 3.1.0; 3 settings proven to be in effect on 3 nodes"]
    assert proven.settings == {"cluster.nodes": "3", ELECTION: "5000", LOADS_AGAIN: "1000"}


@pytest.mark.parametrize(
    ("shown", "said_of"),
    [
        (state(election_timeout_ms="6000"), f"not in effect: n2: {ELECTION} is 6000 instead of 5000"),
        (said({}), f"n2 does not say its settings in effect: nothing of {ELECTION}"),
        (STARTING, "n2 does not say its settings in effect: status 503, error 0"),
        (StopIteration, "n2 does not say its settings in effect: "),
    ],
)
def test_a_setting_that_is_not_in_effect_ends_the_deployment(shown, said_of):
    with pytest.raises(DeployError, match=said_of):
        asked_of([FakeServer(), FakeServer({("GET", STATE): shown}), FakeServer()], confirmed)


def test_a_server_of_another_group_ends_the_deployment():
    alone = member().replace(b',"198.18.0.12:7848"]', b"]")
    with pytest.raises(DeployError, match=r"not in effect: n3: cluster\.nodes is 2 instead of 3"):
        asked([member(), member(), alone], confirmed)


def test_only_settings_that_somebody_asked_for_must_be_in_effect():
    async def ask(probe, _):
        return await probe.confirm(frozenset())

    fakes = [FakeServer({("GET", STATE): state(election_timeout_ms=ms)}) for ms in ("6000", "7000", "6000")]
    proven = asked_of(fakes, ask)
    assert (proven.settings, proven.promises.recovers_within_s) == (
        {"cluster.nodes": "3", LOADS_AGAIN: "1000"},
        141.0,
    ), "the longest counts"


DOWN = (503, said(None, 30000).replace(b"success", b"naming not in readiness"))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (STARTING, "status 503: no answer of Nacos"),
        (DOWN, "status 503: naming not in readiness"),
        (said(None, 30000).replace(b"success", b"server is DOWN now"), "status 200: server is DOWN now"),
        (StopIteration, "connection "),
    ],
    ids=["starting", "down", "down, told with 200", "closed"],
)
def test_a_cluster_is_not_ready_while_a_server_does_not_serve(answer, why):
    """It waits for a peer, say: the one line names it, and gives its own words."""

    async def ask(probe, _):
        return await probe.readiness()

    fakes = [FakeServer(), FakeServer({("GET", READY): answer}), FakeServer()]
    said_of = asked_of(fakes, ask)
    assert said_of.startswith(f"n2 does not serve: {why}")
    assert "\n" not in said_of


DONE = {(method, CONFIG): said(True) for method in ("POST", "DELETE")}


def heard(many=24):
    """A server that has heard of so many instances."""
    return {
        **{(method, OLD_INSTANCE): b"ok" for method in ("POST", "DELETE")},
        ("GET", f"{INSTANCE}/list"): said([{"ip": f"10.0.0.{number}", "port": 1} for number in range(many)]),
    }


async def prepared(probe, _):
    await probe.prepare()


async def removed(probe, _):
    return await probe.remove()


def registers():
    return [{"dataId": f"{VIEW.mark}.{key}", "groupName": "chaos", "namespaceId": "chaos"} for key in range(VIEW.keys)]


def test_every_register_holds_something_before_the_load():
    fakes = [FakeServer(DONE | heard()) for _ in range(3)]
    asked_of(fakes, prepared)
    made = [one for one in fakes[0].asked if one[2].get("serviceName") != f"{VIEW.mark}.first"]
    assert made == [("POST", CONFIG, {**config, "content": "-", "type": "text"}) for config in registers()]


def test_every_server_hears_of_first_instances_before_the_load():
    fakes = [FakeServer(DONE | heard()) for _ in range(3)]
    asked_of(fakes, prepared)
    first = [one for fake in fakes for one in fake.asked if one[2].get("serviceName") == f"{VIEW.mark}.first"]
    told, gone = ({one[2]["ip"] for one in first if one[0] == method} for method in ("POST", "DELETE"))
    assert told == gone == {f"10.0.0.{number}" for number in range(24)}
    assert {one[2]["port"] for one in first if one[0] != "GET"} == {"65"}, "no lease of a run has such a number"
    assert [sum(one[0] == "GET" for one in fake.asked) for fake in fakes] == [1, 1, 1]


def test_a_server_that_hears_of_no_instances_ends_the_deployment(monkeypatch):
    monkeypatch.setattr(probe_module, "_HEARS_WITHIN_S", 1.0)
    fakes = [FakeServer(DONE | heard(24)), FakeServer(DONE | heard(16)), FakeServer(DONE | heard(24))]
    with pytest.raises(DeployError, match="n2 does not hear of instances that came to other servers"):
        asked_of(fakes, prepared)


def test_servers_that_cannot_be_told_of_instances_end_the_deployment():
    refused = {("POST", OLD_INSTANCE): (500, b"caused: no")}
    with pytest.raises(DeployError, match="servers cannot be told of instances: status 500, error 0"):
        asked_of([FakeServer(DONE | heard() | refused) for _ in range(3)], prepared)


def test_what_a_run_made_is_removed_at_the_end():
    fakes = [FakeServer(DONE) for _ in range(3)]
    assert asked_of(fakes, removed).removed == (f"configurations {VIEW.mark}.*",)
    assert fakes[0].asked == [("DELETE", CONFIG, config) for config in registers()]


def test_what_cannot_be_made_is_told(monkeypatch):
    monkeypatch.setattr(probe_module, "_MADE_WITHIN_S", 0.0)
    refused = (500, said("no leader", 30000))
    with pytest.raises(DeployError, match="the configuration of register 0 cannot be made: server error"):
        asked_of([FakeServer({**DONE, ("POST", CONFIG): refused}) for _ in range(3)], prepared)


def test_what_was_refused_at_first_is_no_obstacle(monkeypatch):
    monkeypatch.setattr(probe_module, "_AGAIN_S", 0.0)
    step = ("POST", CONFIG)
    answers = chain([(500, said("no leader", 30000))], repeat(DONE[step]))
    asked_of(
        [FakeServer(DONE | heard() | {step: lambda: next(answers)}), *(FakeServer(DONE | heard()) for _ in range(2))],
        prepared,
    )


def test_what_no_server_removes_is_left():
    refused = (500, said("no leader", 30000))
    left = asked_of([FakeServer({**DONE, ("DELETE", CONFIG): refused}) for _ in range(3)], removed).left
    assert left == (f"configurations {VIEW.mark}.*: server error",)
