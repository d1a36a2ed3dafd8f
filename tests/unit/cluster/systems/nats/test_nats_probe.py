"""What servers show of themselves, and what is made of it: who leads, the route, settings in effect, buckets made."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from nats_server import NOBODY, FakeMonitor, FakeNats, info, refused
from system_view import view_of

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import DeployError
from chaos.core.events import Claim
from cluster.systems._shared.routing import Route, Served
from cluster.systems.nats import probe as probe_module
from cluster.systems.nats.probe import NatsProbe, is_same_value
from cluster.systems.nats.servers import Group, Heard, Stream, leader_of
from cluster.systems.nats.system import Nats

NAMES = ("n1", "n2", "n3")
MARK = view_of(Nats()).mark
STREAMS = tuple(f"KV_{MARK}-{number}" for number in (1, 2, 3))
CONFIG = {"num_replicas": 3, "allow_direct": False, "max_msgs_per_subject": 1}
META = {"leader": "n3", "cluster_size": 3}


def stream(name, own, leader, behind=(), config=CONFIG):
    """What a server shows of a stream: the leader lists the others, and who of them lacks something."""
    others = [
        {"name": other, "current": other not in behind, "offline": other in behind, "active": 5, "lag": 0}
        for other in NAMES
        if other != own
    ]
    return {"name": name, "cluster": {"name": MARK, "leader": leader, "replicas": others}, "config": config}


def showing(own, leaders, behind=(), meta=META, version="2.9.10", config=CONFIG, jetstream=(), names=STREAMS):
    """What a server shows. ``leaders``: of each stream as it knows them, None: it does not keep it."""
    kept = [stream(name, own, one, behind, config) for name, one in zip(names, leaders, strict=True) if one is not None]
    accounts = [{"name": "$G", "stream_detail": kept}] if kept else []
    jsz = {"config": dict(jetstream), "meta_cluster": meta, "account_details": accounts}
    return {"varz": {"version": version}, "jsz": jsz}


LEADERS = ("n1", "n2", "n1")
ALL = {name: showing(name, LEADERS) for name in NAMES}


def run(shown, act, answer=lambda *_: info(0), **settings):
    """Let ``act`` have a probe of servers that show that; None: one that is away."""

    async def scenario():
        async with AsyncExitStack() as stack:
            probe = NatsProbe(view_of(Nats(), **settings))
            servers = {}
            for name in NAMES:
                probe._servers.monitors[name] = (await stack.enter_async_context(FakeMonitor(shown[name]))).monitor
                servers[name] = await stack.enter_async_context(FakeNats(answer))
                probe._links[name] = servers[name].link
            return await act(probe, servers)

    return asyncio.run(scenario())


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer to answer than a probe waits."""
    monkeypatch.setattr(probe_module, "_READY_TIMEOUT_S", 30.0)


async def observed(probe, _):
    return {node.name: await probe.observe(node, 5) for node in probe._view.nodes}


async def ready(probe, _):
    await probe.prepare()
    return await probe.readiness()


async def confirmed(probe, _):
    return await probe.confirm()


def test_each_server_says_who_leads_the_buckets_and_the_leader_who_keeps_up():
    seen = run({**ALL, "n1": showing("n1", LEADERS, behind=("n3",))}, observed)
    assert seen["n1"].claims == (
        Claim(subject="kv1", leader="n1", members=("n1", "n2")),
        Claim(subject="kv2", leader="n2"),
        Claim(subject="kv3", leader="n1", members=("n1", "n2")),
    )
    assert [(one.role, len(one.led())) for one in seen.values()] == [("leader", 2), ("leader", 1), ("follower", 0)]


def test_a_bucket_may_have_no_leader_and_one_that_a_server_does_not_keep_is_not_told_of():
    seen = run({**ALL, "n2": showing("n2", ("", None, "n1"))}, observed)
    assert seen["n2"].claims == (Claim(subject="kv1"), Claim(subject="kv3", leader="n1"))


def test_one_that_is_away_is_not_alive():
    seen = run({**ALL, "n3": None, "n2": {}}, observed)
    assert (seen["n3"].alive, seen["n3"].error) == (False, "connect: refused")
    assert (seen["n2"].alive, seen["n2"].error) == (False, '/jsz?streams=true&config=true: status 404: "none"')


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({}, None),
        ({"n2": None}, "n2 does not answer: connect: refused"),
        ({"n1": showing("n1", LEADERS, meta={})}, "n1 knows no leader of all 3 servers"),
        ({"n3": showing("n3", LEADERS, meta={**META, "cluster_size": 2})}, "n3 knows no leader of all 3 servers"),
        ({"n2": showing("n2", ("n1", "", "n1"))}, "nobody leads kv2"),
        ({"n2": showing("n2", ("n2", "n2", "n1"))}, "2 nodes lead kv1 instead of one"),
        ({"n1": showing("n1", LEADERS, behind=("n3",))}, "not in sync with kv1: n3"),
    ],
)
def test_what_is_missing_before_it_serves(changed, missing):
    assert run({**ALL, **changed}, ready) == missing


def test_before_there_are_buckets_all_servers_must_be_one_group():
    async def asked(probe, _):
        return await probe.readiness()

    none = {name: showing(name, (None, None, None)) for name in NAMES}
    assert run(none, asked) is None


def test_of_a_bucket_with_one_replica_its_server_leads():
    alone = {
        name: showing(name, [name if at == number else None for at in range(3)]) for number, name in enumerate(NAMES)
    }
    seen = run(alone, observed, cluster__replicas="1")
    assert [(claim.subject, claim.leader) for one in seen.values() for claim in one.claims] == [
        ("kv1", "n1"),
        ("kv2", "n2"),
        ("kv3", "n3"),
    ]


def heard(**named):
    return [
        Heard(node, {"s": Stream("s", Group(leader))} if leader is not None else {}) for node, leader in named.items()
    ]


@pytest.mark.parametrize(
    ("said", "leader"),
    [
        ({"n1": "n1", "n2": "n1", "n3": "n1"}, "n1"),
        ({"n1": "n1", "n2": "n2", "n3": "n2"}, "n2"),
        ({"n1": "", "n2": "", "n3": "n3"}, "n3"),
        ({"n1": "n2", "n2": None, "n3": "n3"}, "n3"),
        ({"n1": "", "n2": ""}, None),
        ({"n1": None}, None),
    ],
)
def test_the_leader_is_whom_most_name(said, leader):
    assert leader_of(heard(**said), "s") == leader


def test_the_route_has_each_buckets_leader():
    async def routed(probe, _):
        return await probe._servers.ask(now_ns() + 5 * NS_PER_S)

    assert run({**ALL, "n3": None}, routed) == Route(
        (Served("n1", ("n2", "n3")), Served("n2", ("n1", "n3")), Served("n1", ("n2", "n3")))
    )
    assert run(dict.fromkeys(NAMES), routed) is None


def test_settings_are_proven_on_every_server():
    done = run(ALL, confirmed)
    assert done.notes[0].text == "nats 2.9.10; 4 settings proven to be in effect on 3 nodes"
    assert done.settings == {
        "cluster.replicas": "3",
        "cluster.maxAge": "none",
        "client.directGet": "false",
        "server.syncInterval": "2m",
    }


EXPIRING = {"cluster__streams": "expiring", "cluster__maxAge": "4s"}


def test_how_old_keys_become_is_proven_too():
    shown = {name: showing(name, LEADERS, config={**CONFIG, "max_age": 4 * NS_PER_S}) for name in NAMES}
    assert run(shown, confirmed, **EXPIRING).settings["cluster.maxAge"] == "4s"
    with pytest.raises(DeployError, match=r"n1: cluster\.maxAge is none instead of 4s"):
        run(ALL, confirmed, **EXPIRING)
    with pytest.raises(DeployError, match=r"n1: cluster\.maxAge is 4000ms instead of none"):
        run(shown, confirmed)


LATER = {"version": "2.12.1", "jetstream": {"sync_interval": 120_000_000_000}}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"config": {**CONFIG, "num_replicas": 1}}, "n2: cluster.replicas is 1 instead of 3"),
        ({"config": {**CONFIG, "allow_direct": True}}, "n2: client.directGet is true instead of false"),
        ({**LATER, "jetstream": {"sync_interval": 10**10}}, "n2: server.syncInterval is 10000ms instead of 2m"),
        ({**LATER, "jetstream": {"sync_always": True}}, "n2: server.syncInterval is always instead of 2m"),
    ],
)
def test_a_setting_that_is_not_in_effect_ends_the_deployment(changed, said):
    with pytest.raises(DeployError, match=said):
        run({**ALL, "n2": showing("n2", LEADERS, **changed)}, confirmed)


def test_a_server_that_shows_nothing_ends_the_deployment():
    with pytest.raises(DeployError, match="n3 does not say its settings in effect: connect: refused"):
        run({**ALL, "n3": None}, confirmed)


def test_later_versions_show_how_often_they_sync():
    assert (
        run({name: showing(name, LEADERS, **LATER) for name in NAMES}, confirmed).settings["server.syncInterval"]
        == "2m"
    )


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [("120000ms", "2m", True), ("always", "always", True), ("always", "2m", False), ("0ms", "always", False)],
)
def test_times_are_alike_however_they_are_written(found, wanted, same):
    assert is_same_value("server.syncInterval", found, wanted) is same


def test_of_somebody_elses_cluster_settings_are_learned():
    async def learned(probe, _):
        return await probe.confirm(frozenset({"cluster.replicas"}))

    done = run(
        {name: showing(name, LEADERS, **{**LATER, "jetstream": {"sync_always": True}}) for name in NAMES}, learned
    )
    assert done.settings["server.syncInterval"] == "always"
    assert done.promises.fails_over_after_s == 27.0


def test_buckets_are_made_as_clients_of_nats_make_them():
    async def made(probe, servers):
        await probe.prepare()
        return servers["n1"].asked

    asked = run(ALL, made)
    assert [subject for subject, *_ in asked] == [f"$JS.API.STREAM.CREATE.{name}" for name in STREAMS]
    assert f'"subjects":["$KV.{MARK}-1.>"]'.encode() in asked[0][1]
    assert b'"max_msgs_per_subject":1,"num_replicas":3,' in asked[0][1]
    assert b"placement" not in asked[0][1]
    alone = run(ALL, made, cluster__replicas="1", client__directGet="true")
    assert b'"placement":{"tags":["server:n2"]}' in alone[1][1]
    assert b'"allow_direct":true' in alone[1][1]


def test_what_locks_guard_is_beside_the_buckets_that_expire():
    async def made(probe, servers):
        await probe.prepare()
        asked = servers["n1"].asked[:]
        gone = await probe.remove()
        return asked, gone.removed

    def answer(subject, *_):
        return {"success": True} if "DELETE" in subject else info(0)

    asked, removed = run(ALL, made, answer, **EXPIRING)
    guarded = f"KV_{MARK}-guarded"
    assert [subject.rpartition(".")[2] for subject, *_ in asked] == [*STREAMS, guarded]
    assert b'"max_age":4000000000' in asked[0][1]
    assert b'"duplicate_window":4000000000' in asked[0][1], "NATS takes no longer one"
    assert b'"max_age":0' in asked[3][1]
    assert removed[-1] == f"stream {guarded}"


def test_a_bucket_that_is_refused_ends_the_deployment():
    async def made(probe, servers):
        with pytest.raises(DeployError, match=f"STREAM.CREATE.{STREAMS[0]}: 10005 no suitable peers for placement"):
            await probe.prepare()
        return [len(server.asked) for server in servers.values()]

    assert run(ALL, made, lambda *_: refused(10005, "no suitable peers for placement")) == [2, 2, 2]


def test_the_runs_buckets_are_deleted():
    async def removed(probe, _):
        return await probe.remove()

    gone = run(ALL, removed, lambda *_: {"success": True})
    assert (gone.removed, gone.left) == (tuple(f"stream {name}" for name in STREAMS), ())
    assert run(ALL, removed, lambda *_: refused(10059, "stream not found")).left == (), "it is not there already"
    left = run(ALL, removed, lambda *_: NOBODY).left
    assert left[0] == f"STREAM.DELETE.{STREAMS[0]}: no responders"


LOGS = tuple(f"{MARK}-q{key}" for key in range(4))
LOG_CONFIG = {"num_replicas": 3, "allow_direct": True, "max_msgs_per_subject": -1}


def test_each_queue_is_a_stream_with_a_leader_of_its_own():
    async def looked(probe, servers):
        await probe.prepare()
        seen, sure = await observed(probe, servers), await probe.confirm()
        return seen, sure, await probe._servers.ask(now_ns() + 5 * NS_PER_S), servers["n1"].asked

    leaders = ("n1", "n2", "n1", "n3")
    shown = {name: showing(name, leaders, config=LOG_CONFIG, names=LOGS) for name in NAMES}
    seen, sure, route, asked = run(shown, looked, cluster__streams="log")
    assert seen["n2"].claims[1] == Claim(subject="q1", leader="n2", members=("n1", "n2", "n3"))
    assert [claim.subject for claim in seen["n1"].claims] == ["q0", "q1", "q2", "q3"]
    assert sure.settings == {"cluster.replicas": "3", "server.syncInterval": "2m"}
    assert [route.leader(key) for key in range(4)] == [*leaders]
    assert [subject for subject, *_ in asked] == [f"$JS.API.STREAM.CREATE.{name}" for name in LOGS]
    assert f'"subjects":["{LOGS[0]}"]'.encode() in asked[0][1]
    assert b'"max_msgs_per_subject":-1,"num_replicas":3,' in asked[0][1]
    assert b'"allow_direct":true' in asked[0][1], "any server that keeps it may be asked for its copy"
