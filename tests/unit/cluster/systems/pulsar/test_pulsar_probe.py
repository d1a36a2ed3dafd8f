"""What the probe makes of what brokers, bookies and servers of the metadata say of themselves."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from pulsar_broker import FakeBroker, FakeWeb
from system_view import view_of
from zookeeper_server import FakeServer, conf, srvr

from chaos.core.errors import DeployError
from cluster.leaders import incomplete, leads_of
from cluster.systems._shared import link
from cluster.systems._shared.routing import route_over
from cluster.systems.pulsar import brokers as brokers_module
from cluster.systems.pulsar import probe as probe_module
from cluster.systems.pulsar.brokers import Way, topic_name
from cluster.systems.pulsar.probe import PulsarProbe, check
from cluster.systems.pulsar.settings import BOOKIE, BROKER, OF_METADATA, lines
from cluster.systems.pulsar.system import Pulsar
from cluster.systems.pulsar.web import Bookie, Web
from cluster.systems.zookeeper import servers

VIEW = view_of(Pulsar())
BROKERS, BOOKIES, SERVERS = ("b1", "b2", "b3"), ("k1", "k2", "k3"), ("z1", "z2", "z3")
RUNTIME, SERVER_CONFIG = "/admin/v2/brokers/configuration/runtime", "/api/v1/config/server_config"


def stats(key):
    return f"/admin/v2/persistent/public/default/{topic_name(VIEW.mark, key)}/internalStats"


def owns(**ledgers):
    """The pages of a broker: by topic its ledgers in order, of which the last is open."""
    own = {
        stats(int(topic[1:])): {"ledgers": [{"ledgerId": one, "entries": 4 * (one != found[-1])} for one in found]}
        for topic, found in ledgers.items()
    }
    return {
        "/admin/v2/brokers/ready": b"OK",
        RUNTIME: {**lines(VIEW.settings, BROKER), "authorizationEnabled": "false"},
        **own,
    }


KEEPS = {"/heartbeat": b"OK\n", SERVER_CONFIG: lines(VIEW.settings, BOOKIE)}
SAID = {
    "b1": owns(t0=[3, 7], t2=[9]),
    "b2": owns(t1=[8], t3=[10]),
    "b3": owns(),
    **dict.fromkeys(BOOKIES, KEEPS),
    "z1": srvr("follower"),
    "z2": srvr("leader", "0x400000000"),
    "z3": srvr("follower"),
}


def run(said, act, *, prepared=True):
    """Let ``act`` have a probe of nodes that say that; None: one that is away."""

    async def scenario():
        async with AsyncExitStack() as stack:
            probe = PulsarProbe(VIEW)
            probe._prepared = prepared
            for names, links, kind in ((BROKERS, probe._webs, Web), (BOOKIES, probe._bookies, Bookie)):
                for name in names:
                    links[name] = (await stack.enter_async_context(FakeWeb(said[name], kind))).link
            for name in SERVERS:
                words = {"srvr": said[name] or "", "conf": conf(maxSessionTimeout="60000")}
                fake = await stack.enter_async_context(FakeServer(words=words))
                probe._metadata[name] = fake.link
            stack.push_async_callback(probe.close)
            return await act(probe)

    return asyncio.run(scenario())


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine may take longer to answer than a probe waits."""
    monkeypatch.setattr(probe_module, "_READY_TIMEOUT_S", 30.0)
    monkeypatch.setattr(brokers_module, "GREETED_S", 30.0)
    for module in (link, servers):
        monkeypatch.setattr(module, "CONNECT_TIMEOUT_S", 30.0)


async def observed(probe):
    return {node.name: await probe.observe(node, 30) for node in VIEW.nodes}


def claims(seen):
    return [(claim.subject, claim.leader, claim.epoch) for claim in seen.claims or ()]


def test_a_broker_claims_the_topics_that_it_has_open_by_their_ledgers():
    seen = run({**SAID, "b3": None}, observed)
    assert claims(seen["b1"]) == [("t0", "b1", 8), ("t2", "b1", 10)]
    assert claims(seen["b2"]) == [("t1", "b2", 9), ("t3", "b2", 11)]
    assert claims(seen["z2"]) == [("metadata", "z2", 4)]
    assert [seen[name].role for name in ("b1", "k1", "z1", "z2")] == ["owner", "bookie", "follower", "leader"]
    assert (seen["b3"].alive, "refused" in seen["b3"].error) == (False, True)
    assert all(seen[name].alive for name in seen if name != "b3")


def test_a_topic_without_a_ledger_is_led_by_nobody():
    seen = run({**SAID, "b3": owns(t1=[])}, observed)
    assert (seen["b3"].role, seen["b3"].claims) == ("broker", None)


def test_an_owner_without_an_open_ledger_leads_in_no_epoch():
    """It gave up ledger 61, which was empty and left the list: that it names ledger 20 then is no step back."""
    closed = {stats(1): {"ledgers": [{"ledgerId": 9, "entries": 3}, {"ledgerId": 20, "entries": 7}]}}
    seen = run({**SAID, "b3": {**owns(), **closed}}, observed)
    assert (claims(seen["b3"]), seen["b3"].role) == ([("t1", "b3", None)], "owner")


@pytest.mark.parametrize(
    ("said", "claimed"),
    [
        ("http://198.18.0.11:8080/admin/v2/x?authoritative=false", [("t1", "b2", None)]),
        ("http://198.18.0.12:8080/x", []),
        ("http://198.18.9.9:8080/x", []),
        ("http://[", []),
        ("nowhere", []),
        (404, []),
    ],
    ids=["another", "itself", "not ours", "no address", "no host", "nobody"],
)
def test_a_broker_that_does_not_own_a_topic_names_who_does(said, claimed):
    seen = run({**SAID, "b3": {**owns(), stats(1): said}}, observed)
    assert ([*seen["b3"].led()], claims(seen["b3"]), seen["b3"].role) == ([], claimed, "broker")


def test_brokers_that_name_the_owner_are_with_it():
    """So a run does not wait for followers that no topic has."""
    pages = {name: dict(SAID[name]) for name in BROKERS}
    owners = {"b1": (0, 2), "b2": (1, 3)}
    for name in BROKERS:
        for other, keys in owners.items():
            if other != name:
                address = next(node.address for node in VIEW.nodes if node.name == other)
                pages[name] |= {stats(key): f"http://{address}:8080/x" for key in keys}
    seen = run({**SAID, **pages}, observed)
    subjects = Pulsar().subjects(VIEW.settings, VIEW.keys)
    leads = leads_of(seen, subjects)
    assert [leads[f"t{key}"].leader for key in range(4)] == ["b1", "b2", "b1", "b2"]
    assert incomplete(leads, subjects) is None


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({}, None),
        ({"b3": None}, "b3 does not answer"),
        ({"b3": {"/admin/v2/brokers/ready": 503}}, "b3 does not answer: status 503"),
        ({"k2": {"/heartbeat": 500}}, "k2 does not answer: status 500"),
        ({"z3": None}, "z3 does not answer"),
        ({"z2": srvr("follower")}, "no nodes lead metadata instead of one"),
        ({"b2": owns(t1=[8])}, "no nodes lead t3 instead of one"),
        ({"b3": owns(t1=[8])}, "2 nodes lead t1 instead of one"),
    ],
)
def test_a_cluster_is_ready_once_each_topic_has_one_owner(changed, missing):
    found = run({**SAID, **changed}, lambda probe: probe.readiness())
    assert found is None if missing is None else missing in found


def test_before_there_are_topics_the_nodes_alone_must_answer():
    nobody = {name: {"/admin/v2/brokers/ready": b"OK"} for name in BROKERS}
    assert run({**SAID, **nobody}, lambda probe: probe.readiness(), prepared=False) is None


def test_topics_are_made_by_their_owners(monkeypatch):
    """The owner gets a producer of each topic."""

    async def act(probe):
        async with FakeBroker() as broker:
            monkeypatch.setattr(probe_module, "Way", lambda _, topic: Way("127.0.0.1", broker.port, topic))

            class Known:
                async def ask(self, deadline_ns):
                    return route_over([("b2", BROKERS)] * VIEW.keys)

                def close(self):
                    pass

            probe._brokers = Known()
            await probe.prepare()
            return broker.asked.count("producer")

    described = "LedgerMetadata{formatVersion=3, ensembleSize=2, writeQuorumSize=2, ackQuorumSize=%d, state=OPEN}"

    def saying(quorum):
        ledgers = [{"ledgerId": 2, "metadata": ""}, {"ledgerId": 3, "metadata": described % quorum}]
        return {f"{stats(key)}?metadata=true": {"ledgers": ledgers} for key in range(4)}

    assert run({**SAID, "b1": {**SAID["b1"], **saying(2)}}, act, prepared=False) == VIEW.keys
    with pytest.raises(DeployError, match=f"the ledger of {topic_name(VIEW.mark, 0)}: ackQuorumSize is 1 instead of 2"):
        run({**SAID, "b2": {**SAID["b2"], **saying(1)}}, act, prepared=False)
    with pytest.raises(DeployError, match="ensembleSize is unknown instead of 2"):
        run(SAID, act, prepared=False)


def test_settings_are_proven_to_be_in_effect():
    confirmed = run(SAID, lambda probe: probe.confirm())
    count = len(lines(VIEW.settings, BROKER)) + len(lines(VIEW.settings, BOOKIE)) + len(OF_METADATA)
    assert confirmed.notes[0].text == f"{count} settings proven to be in effect on 9 nodes"


@pytest.mark.parametrize(
    ("name", "pages", "why"),
    [
        ("b2", {RUNTIME: {**lines(VIEW.settings, BROKER), "numIOThreads": "9"}}, "b2: numIOThreads is 9 instead of 2"),
        ("k3", {SERVER_CONFIG: {}}, "k3: .* is unknown instead of"),
        ("k1", {}, "k1 does not say its settings in effect: status 404"),
        ("b1", {RUNTIME: b"none"}, "b1 does not say its settings in effect: malformed answer"),
    ],
)
def test_a_setting_that_is_not_in_effect_ends_the_deployment(name, pages, why):
    with pytest.raises(DeployError, match=why):
        run({**SAID, name: pages}, lambda probe: probe.confirm())


def test_a_node_may_say_numbers_and_truths_as_such():
    check("k1", {"a": 2, "b": True, "c": "x"}, {"a": "2", "b": "true", "c": "x"})
