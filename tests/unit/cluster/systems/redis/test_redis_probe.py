"""What servers and sentinels say of themselves, and what is made of it: who leads, the route, settings in effect."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from redis_server import FakeServer
from system_view import view_of

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import DeployError
from chaos.core.events import Claim
from cluster.system import Removal
from cluster.systems._shared.routing import Route, Served
from cluster.systems.redis.probe import RedisProbe
from cluster.systems.redis.slots import nodes_file
from cluster.systems.redis.system import Redis

VIEW = view_of(Redis())
ADDRESS = {node.name: node.address for node in VIEW.nodes}


def flat(said):
    return [word for pair in said.items() for word in pair]


def sentinel(master, epoch, replicas="2", others="2", **more):
    """The answers of a sentinel."""
    said = {"ip": "198.18.9.9", "config-epoch": str(epoch), "num-slaves": replicas, "num-other-sentinels": others}
    said |= {"down-after-milliseconds": "1500", "failover-timeout": "6000", **more}
    return lambda command: [ADDRESS.get(master, "?"), "6379"] if command[1].startswith("GET-") else flat(said)


def server(role, master=None, replicas=(), settings=(), keys=()):
    """The answers of a server. ``replicas``: of names and states."""
    lines = [f"role:{role}", *([f"master_host:{ADDRESS[master]}"] if master else []), "master_repl_offset:7"]
    lines += [f"slave{n}:ip={ADDRESS[name]},port=6379,state={state},lag=0" for n, (name, state) in enumerate(replicas)]
    shown = {name: VIEW.settings[name] for name in VIEW.settings if "." not in name} | dict(settings)
    answers = {
        "INFO": "# Replication\r\n" + "\r\n".join(lines),
        "CONFIG": flat(shown),
        "SCAN": ["0", list(keys)],
        "DEL": 1,
    }
    return lambda command: answers[command[0]]


MASTER = server("master", replicas=[("r2", "online"), ("r3", "online")])
REPLICA = server("slave", "r1")
ALL = {"r1": MASTER, "r2": REPLICA, "r3": REPLICA, **{f"s{n}": sentinel("r1", 1) for n in (1, 2, 3)}}


def run(answers, act, view=VIEW):
    """Let ``act`` have a probe of nodes that answer so; None: one that is away."""

    async def scenario():
        async with AsyncExitStack() as stack:
            probe = RedisProbe(view)
            fakes = {}
            for name, answer in answers.items():
                fakes[name] = await stack.enter_async_context(FakeServer(answer))
                if answer is None:
                    fakes[name].away()
                probe._nodes.links[name] = fakes[name].link
            return await act(probe, fakes)

    return asyncio.run(scenario())


async def observed(probe, _):
    seen = {}
    for node in reversed(probe._view.nodes):  # sentinels first
        seen[node.name] = await probe.observe(node, 5)
    return seen


async def ready(probe, _):
    return await probe.readiness()


async def routed(probe, _):
    return await probe._nodes.ask(now_ns() + 5 * NS_PER_S)


async def confirmed(probe, _):
    return await probe.confirm()


def test_everybody_says_who_leads():
    seen = run(ALL, observed)
    assert {name: one.role for name, one in seen.items()} == {
        "r1": "master",
        "r2": "slave",
        "r3": "slave",
        **dict.fromkeys(("s1", "s2", "s3"), "sentinel"),
    }
    assert seen["s1"].claims == (Claim(subject="redis", leader="r1", epoch=1),)
    assert seen["r1"].claims == (Claim(subject="redis", leader="r1", epoch=1, members=("r1", "r2", "r3")),)
    assert seen["r2"].claims == (Claim(subject="redis", leader="r1"),)


def test_a_master_leads_in_the_epoch_in_which_sentinels_named_it():
    answers = {**ALL, "r2": server("master", replicas=[("r3", "wait_bgsave")]), "s3": sentinel("r2", 4)}
    seen = run(answers, observed)
    assert [seen[name].claims[0].epoch for name in ("r1", "r2")] == [1, 4]
    assert seen["r2"].claims[0].members == ("r2",), "a replica that is being filled is not in sync"


def test_one_that_reads_its_file_leads_nothing_yet():
    seen = run({**ALL, "r1": lambda _: "role:master\r\nloading:1"}, observed)
    assert (seen["r1"].alive, seen["r1"].role, seen["r1"].claims) == (True, "loading", ())


def test_one_that_is_away_is_not_alive():
    seen = run({**ALL, "r3": None, "s2": None}, observed)
    assert [(seen[name].alive, seen[name].error) for name in ("r3", "s2")] == [(False, "connect: refused")] * 2


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({}, None),
        ({"r2": None}, "r2 does not answer: connect: refused"),
        ({"r1": server("slave", "r2")}, "nobody leads redis"),
        ({"r2": MASTER}, "2 nodes lead redis instead of one"),
        ({"r1": server("master", replicas=[("r2", "online")])}, "not in sync with redis: r3"),
        ({"s2": sentinel("r1", 1, replicas="1")}, "s2 knows 1 replicas and 2 other sentinels"),
        ({"s3": sentinel("r1", 1, others="0")}, "s3 knows 2 replicas and 0 other sentinels"),
    ],
)
def test_what_is_missing_before_it_serves(changed, missing):
    assert run({**ALL, **changed}, ready) == missing


@pytest.mark.parametrize(
    ("sentinels", "leader"),
    [
        ([sentinel("r1", 1)] * 3, "r1"),
        ([sentinel("r1", 1), sentinel("r3", 2), None], "r3"),
        ([sentinel("?", 2)] * 3, None),
    ],
)
def test_the_route_is_what_the_newest_epoch_says(sentinels, leader):
    route = run(dict(zip(("s1", "s2", "s3"), sentinels, strict=True)), routed)
    followers = tuple(name for name in ("r1", "r2", "r3") if name != leader)
    assert route == Route((Served(leader, followers),))


def test_without_a_sentinel_there_is_no_route():
    assert run(dict.fromkeys(("s1", "s2", "s3")), routed) is None


def test_settings_are_proven_on_every_node():
    done = run(ALL, confirmed)
    assert done.notes[0].text == "redis; 7 settings proven to be in effect on 6 nodes"
    assert done.settings["appendfsync"] == "always"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"r2": server("slave", "r1", settings={"appendonly": "no"})}, "r2: appendonly is no instead of yes"),
        ({"s1": sentinel("r1", 1, **{"failover-timeout": "9"})}, "s1: failover-timeout is 9 instead of 6000"),
        ({"r3": None}, "r3 does not say its settings in effect: connect: refused"),
    ],
)
def test_a_setting_that_is_not_in_effect_ends_the_deployment(changed, said):
    with pytest.raises(DeployError, match=said):
        run({**ALL, **changed}, confirmed)


def test_of_somebody_elses_cluster_settings_are_learned():
    async def learned(probe, _):
        return await probe.confirm(frozenset({"appendonly"}))

    slow = {name: sentinel("r1", 1, **{"down-after-milliseconds": "30000"}) for name in ("s1", "s2", "s3")}
    done = run({**ALL, **slow}, learned)
    assert done.settings["down-after-milliseconds"] == "30000"
    assert done.promises.fails_over_after_s == 42.0


CLUSTER = view_of(Redis(), cluster__mode="cluster")


def member(name, role, replicas=(), change=lambda text: text, state="ok"):
    text = change(nodes_file(CLUSTER.mark, CLUSTER.nodes, name).rpartition("vars")[0])
    addresses = {node.name: node.address for node in CLUSTER.nodes}
    lines = [f"role:{role}"] + [f"slave{n}:ip={addresses[one]},state=online" for n, one in enumerate(replicas)]
    answers = {"NODES": text, "INFO": f"cluster_state:{state}\r\ncluster_size:3", "replication": "\r\n".join(lines)}
    return lambda command: answers[command[1]]


SHARDS = {f"r{n}": member(f"r{n}", "master", [f"r{n + 3}"]) for n in (1, 2, 3)}
SHARDS |= {f"r{n}": member(f"r{n}", "slave") for n in (4, 5, 6)}


def test_each_shard_of_a_cluster_has_its_leader():
    seen = run(SHARDS, observed, CLUSTER)
    assert seen["r2"].claims == (Claim(subject="shard2", leader="r2", epoch=2, members=("r2", "r5")),)
    assert seen["r5"].claims == (Claim(subject="shard2", leader="r2", epoch=2),)
    assert run(SHARDS, ready, CLUSTER) is None
    waiting = {**SHARDS, "r6": member("r6", "slave", state="fail")}
    assert run(waiting, ready, CLUSTER) == "r6 says that the cluster is down"
    assert [one.leader for one in run(SHARDS, routed, CLUSTER).subjects] == ["r1", "r2", "r3"]


def test_a_master_that_lost_its_slots_leads_nothing():
    def taken(text):
        """r4 leads shard 1 in epoch 9, and r1 has not heard that it follows."""
        first, *rest = text.splitlines()
        rest[2] = rest[2].replace("slave", "master").replace("0 0 1 connected", "0 0 9 connected 0-5460")
        return "\n".join([first.removesuffix(" 0-5460"), *rest])

    answers = {**SHARDS, "r1": member("r1", "master", [], taken), "r4": member("r4", "master", [], taken)}
    seen = run(answers, observed, CLUSTER)
    assert seen["r1"].claims[0].leader is None
    assert seen["r4"].claims[0].leader == "r4"
    assert seen["r4"].claims[0].epoch == 9
    assert [one.leader for one in run(answers, routed, CLUSTER).subjects] == ["r4", "r2", "r3"]


def test_the_runs_keys_are_deleted_from_masters():
    async def removed(probe, fakes):
        done = await probe.remove()
        return done, [words for request in fakes["r1"].asked for words in request if words[0] == "DEL"]

    mark = VIEW.mark
    refused = lambda command: ValueError("READONLY x") if command[0] == "DEL" else ["0", ["k"]]  # noqa: E731
    answers = {"r1": server("master", keys=["a", "b"]), "r2": refused, "r3": refused}
    assert run(answers, removed) == (Removal(removed=(f"keys {mark}/*",)), [("DEL", "a"), ("DEL", "b")])
    left, _ = run({**answers, "r1": lambda _: ["x"]}, removed)
    assert left.left[0].startswith(f"keys {mark}/* on r1: malformed answer: ")
