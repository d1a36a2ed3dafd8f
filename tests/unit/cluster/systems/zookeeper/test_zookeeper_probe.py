"""What servers say of themselves, and what is made of it: who leads, the route, settings in effect."""

import asyncio
import re
from contextlib import AsyncExitStack

import pytest
from system_view import view_of
from zookeeper_server import NOT_SERVING, FakeServer, conf, names, srvr

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import DeployError
from chaos.core.events import Claim
from cluster.system import Removal
from cluster.systems._shared.routing import Route, Served
from cluster.systems.zookeeper import servers
from cluster.systems.zookeeper.probe import ZooKeeperProbe, levels
from cluster.systems.zookeeper.settings import NOT_TOLD, promises
from cluster.systems.zookeeper.system import ZooKeeper

VIEW = view_of(ZooKeeper(), cluster__observers="1")
MARK = VIEW.mark


def says(mode, zxid="0x100000012", **shown):
    """The words of a server."""
    return {"srvr": srvr(mode, zxid), "conf": conf(**shown)}


LOOKING = {"srvr": NOT_SERVING, "conf": NOT_SERVING}
ALL = {"z1": says("follower"), "z2": says("leader"), "z3": says("follower"), "o1": says("observer")}


def run(words, act, answer=lambda *_: 0, view=VIEW):
    """Let ``act`` have a probe of servers that say so; None: one that is away."""

    async def scenario():
        async with AsyncExitStack() as stack:
            probe = ZooKeeperProbe(view)
            fakes = {}
            for name, said in words.items():
                fakes[name] = await stack.enter_async_context(FakeServer(answer, said or ()))
                if said is None:
                    fakes[name].stop()
                probe._ensemble.servers[name] = fakes[name].link
            done = await act(probe, fakes)
            await probe.close()
            return done

    return asyncio.run(scenario())


async def observed(probe, _):
    seen = {}
    for _ in range(2):  # followers name the leader that was heard before them
        for node in probe._view.nodes:
            seen[node.name] = await probe.observe(node, 5)
    return seen


async def ready(probe, _):
    return await probe.readiness()


async def routed(probe, _):
    return await probe._ensemble.ask(now_ns() + 5 * NS_PER_S)


async def confirmed(probe, _):
    return await probe.confirm()


def claim(leader, epoch=1):
    return (Claim(subject="zookeeper", leader=leader, epoch=epoch),)


def test_everybody_says_who_leads():
    seen = run(ALL, observed)
    assert {name: one.role for name, one in seen.items()} == {
        "z1": "follower",
        "z2": "leader",
        "z3": "follower",
        "o1": "observer",
    }
    assert {one.claims for one in seen.values()} == {claim("z2")}


def test_each_leader_leads_in_its_own_epoch():
    words = {**ALL, "z1": says("leader", "0x200000000"), "z3": says("follower", "0x200000003")}
    seen = run(words, observed)
    assert [seen[name].claims for name in ("z1", "z2", "z3")] == [claim("z1", 2), claim("z2"), claim("z1", 2)]
    assert run(words, routed).leader(0) == "z1"


def test_a_follower_that_lags_behind_names_nobody_of_another_epoch():
    seen = run({**ALL, "z3": says("follower", "0x0")}, observed)
    assert seen["z3"].claims == claim(None, 0)


def test_one_that_led_and_follows_with_nothing_newer_names_nobody():
    async def deposed(probe, fakes):
        await observed(probe, fakes)
        fakes["z2"].words = says("follower")
        return (await observed(probe, fakes))["z2"]

    assert run(ALL, deposed).claims == claim(None)


GARBAGE = [
    ("", "malformed answer: 'Zxid'"),
    ("Mode: leader\n", "malformed answer: 'Zxid'"),
    ("Zxid: 0x1\n", "malformed answer: 'Mode'"),
    ("Mode: leader\nZxid: 0xx\n", "malformed answer: invalid literal for int() with base 16: '0xx'"),
    ("\x00\xff=:::\n", "malformed answer: 'Zxid'"),
    ("srvr is not executed because it is not in the whitelist.\n", "malformed answer: 'Zxid'"),
    (NOT_SERVING, "not serving"),
]


@pytest.mark.parametrize(("said", "error"), GARBAGE, ids=range(len(GARBAGE)))
def test_one_that_says_nothing_of_use_is_not_alive(said, error):
    one = run({**ALL, "z3": {"srvr": said}}, observed)["z3"]
    assert (one.alive, one.error, one.claims) == (False, error, None)


def test_one_that_is_away_is_not_alive():
    one = run({**ALL, "z3": None}, observed)["z3"]
    assert (one.alive, one.error) == (False, "connect: refused")


def silent(act):
    """Let ``act`` have a probe whose z1 takes connections and says nothing, or talks without an end."""

    async def scenario(talks):
        async def serve(reader, writer):
            try:
                while talks:
                    writer.write(b"x: y\n" * 1000)
                    await writer.drain()
                await reader.read()
            except ConnectionError:
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        probe = ZooKeeperProbe(VIEW)
        probe._ensemble.servers["z1"] = servers.Server("127.0.0.1", server.sockets[0].getsockname()[1])
        done = await act(probe)
        server.close()
        return done

    return [asyncio.run(scenario(talks)) for talks in (False, True)]


def test_one_that_never_ends_its_answer_is_given_up():
    async def seen(probe):
        return await probe.observe(VIEW.nodes[0], 0.3)

    quiet, talkative = silent(seen)
    assert (quiet.alive, quiet.error) == (False, "no answer before the deadline")
    assert talkative.alive is False


def test_lines_of_an_answer():
    said = servers.fields(conf(tickTime="700") + "\nZookeeper version: 3.9.5-x, built on 2026-01-01 00:00 UTC\nnone\n")
    assert (said["tickTime"], said["membership"]) == ("700", "")
    assert said["Zookeeper version"] == "3.9.5-x, built on 2026-01-01 00:00 UTC"
    assert said["server.1"] == "198.18.0.10:2888:3888:participant;0.0.0.0:2181"
    assert "none" not in said


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({}, None),
        ({"z3": None}, "z3 does not answer: connect: refused"),
        ({"z3": LOOKING}, "z3 does not answer: not serving"),
        ({"z2": says("follower")}, "nobody leads zookeeper"),
        ({"z1": says("leader")}, "2 nodes lead zookeeper instead of one"),
        ({"o1": says("read-only")}, "o1 says that it is read-only"),
    ],
)
def test_what_is_missing_before_it_serves(changed, missing):
    assert run({**ALL, **changed}, ready) == missing


@pytest.mark.parametrize(
    ("changed", "leader"),
    [
        ({}, "z2"),
        ({"z1": LOOKING, "z3": None}, "z2"),
        ({"z2": says("follower")}, None),
        ({"z3": says("leader", "0x300000000")}, "z3"),
        ({"z1": says("leader", "0x0ffffffff")}, "z2"),
    ],
)
def test_the_route_is_the_leader_of_the_newest_epoch(changed, leader):
    followers = tuple(node.name for node in VIEW.nodes if node.name != leader)
    assert run({**ALL, **changed}, routed) == Route((Served(leader, followers),))


def test_without_an_answer_there_is_no_route():
    assert run({"z1": LOOKING, "z2": None, "z3": None, "o1": LOOKING}, routed) is None


def test_settings_are_proven_on_every_server():
    done = run(ALL, confirmed)
    assert done.notes[0].text == "zookeeper 3.9.5; 3 settings proven to be in effect on 4 nodes"
    assert done.settings == {"tickTime": "500", "initLimit": "10", "syncLimit": "6"}
    assert done.promises is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"z3": says("follower", tickTime="2000")}, "z3: tickTime is 2000 instead of 500"),
        ({"o1": says("observer", syncLimit=None)}, "o1: syncLimit is unknown instead of 6"),
        ({"z3": LOOKING}, "z3 does not say its settings in effect: not serving"),
        ({"z1": None}, "z1 does not say its settings in effect: connect: refused"),
    ],
)
def test_a_setting_that_is_not_in_effect_ends_the_deployment(changed, said):
    with pytest.raises(DeployError, match=re.escape(said)):
        run({**ALL, **changed}, confirmed)


def of_others(changed, asked=frozenset()):
    """What is learned of somebody else's ensemble."""

    async def learned(probe, _):
        return await probe.confirm(asked)

    return run({**ALL, **changed}, learned)


def test_of_somebody_elses_ensemble_settings_are_learned():
    done = of_others({name: says("follower", tickTime="2000") for name in ("z1", "z3")})
    assert done.settings == {"initLimit": "10", "syncLimit": "6"}
    assert done.promises == promises({**NOT_TOLD, "tickTime": "2000", "initLimit": "10", "syncLimit": "6"})
    with pytest.raises(DeployError, match="z1: tickTime is 2000 instead of 500"):
        of_others({"z1": says("follower", tickTime="2000")}, frozenset({"tickTime", "client.sync"}))


def test_where_the_word_conf_is_not_allowed_nothing_is_promised_in_time():
    refused = {**says("follower"), "conf": "conf is not executed because it is not in the whitelist.\n"}
    done = of_others({"z1": refused})
    assert (done.settings, done.promises.recovers_within_s) == ({}, 0)
    assert done.promises.not_taken == ("to serve again in time (not every server answers the word conf)",)


async def prepared(probe, fakes):
    await probe.prepare()
    return fakes["z1"].asked


def test_nodes_are_made_from_the_top():
    asked = run(ALL, prepared)
    top, kinds, keys = levels(VIEW)
    assert asked == [("create", path, "") for path in [*top, *kinds, *keys]]
    assert (top, len(kinds), len(keys)) == ([f"/{MARK}"], 14, 52)


def test_nodes_that_are_there_are_taken_as_they_are():
    assert len(run(ALL, prepared, lambda *_: -110)) == 67


@pytest.mark.parametrize(("answer", "why"), [(-102, "NoAuth"), (-999, "error -999"), (StopIteration, "connection ")])
def test_nodes_that_cannot_be_made_end_the_deployment(answer, why):
    with pytest.raises(DeployError, match=f"nodes below / cannot be made: {why}"):
        run(ALL, prepared, lambda *_: answer)


def test_the_runs_nodes_are_removed_from_the_bottom():
    async def removed(probe, fakes):
        return await probe.remove(), [request[:2] for request in fakes["z1"].asked if request[0] == "delete"]

    below = {f"/{MARK}/sets/0": names("7", "8"), f"/{MARK}/sets/1": -101}
    done, deleted = run(
        ALL,
        removed,
        lambda kind, path, *_: below.get(path, names()) if kind == "children" else -101 * (path[-1] == "8"),
    )
    assert done == Removal(removed=(f"nodes /{MARK}",))
    top, kinds, keys = levels(VIEW)
    paths = [f"/{MARK}/sets/0/7", f"/{MARK}/sets/0/8", *keys, *kinds, *top]
    assert deleted == [("delete", path) for path in paths]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda kind, *_: names() if kind == "children" else -111, "NotEmpty"),
        (lambda kind, *_: b"" if kind == "children" else 0, "children without a number"),
        (lambda *_: -102, "NoAuth"),
    ],
)
def test_what_cannot_be_removed_is_told(answer, why):
    async def removed(probe, fakes):
        return await probe.remove(), [bool(fake.asked) for fake in fakes.values()]

    done, asked = run(ALL, removed, answer)
    assert done == Removal(left=(f"nodes /{MARK}: {why}",))
    assert asked == [True] * 4, "every server was asked"
