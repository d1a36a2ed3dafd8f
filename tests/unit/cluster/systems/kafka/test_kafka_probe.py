"""What brokers and controllers say, and what is made of it: who leads, the route, settings in effect."""

import asyncio
import re

import pytest
from kafka_broker import (
    CONFIGS,
    COORDINATOR,
    CREATE,
    DELETE,
    DELETE_GROUP,
    METADATA,
    OFFSETS,
    QUORUM,
    FakeBroker,
    configs,
    coordinator,
    metadata,
    named,
    offset,
    quorum,
)
from system_view import view_of

from chaos.core.errors import DeployError
from chaos.core.events import Claim
from cluster.system import Removal
from cluster.systems._shared.routing import Route, Served
from cluster.systems.kafka import settings as settings_of
from cluster.systems.kafka import settings_proof
from cluster.systems.kafka.probe import KafkaProbe
from cluster.systems.kafka.requests import Partition
from cluster.systems.kafka.servers import route
from cluster.systems.kafka.system import Kafka

VIEW = view_of(Kafka(), cluster__mode="combined")
LED = {0: (1, 4, (1, 2, 3), (1, 2, 3)), 1: (2, 3, (2, 3, 1), (3, 2))}
SHOWN = {key.replace(".", "__"): value for key, value in settings_of.lines(VIEW.settings).items()}


def run(answers, act, view=VIEW):
    """Let ``act`` have a probe of brokers that all answer so; the requests as well."""

    async def scenario():
        def answer(api, reader):
            return answers[api](reader) if callable(answers.get(api)) else answers.get(api)

        async with FakeBroker(answer) as fake:
            probe = KafkaProbe(view)
            probe._source.brokers = dict.fromkeys(probe._source.brokers, fake.link)
            probe._controllers = dict.fromkeys(probe._controllers, fake.link)
            done = await act(probe)
            await probe.close()
            await probe.close()
            return done, fake.asked

    return asyncio.run(scenario())


def seen(answers, name="b1"):
    node = next(node for node in VIEW.nodes if node.name == name)
    return run(answers, lambda probe: probe.observe(node, 0.5))[0]


def test_a_broker_claims_what_it_leads_and_passes_on_the_rest():
    found = seen({METADATA: metadata(LED), OFFSETS: offset(12, key=0), QUORUM: quorum(leader=1, epoch=5)})
    assert found.alive
    assert found.claims == (
        Claim(subject="p0", leader="b1", epoch=5, members=("b1", "b2", "b3")),
        Claim(subject="p1", leader="b2", epoch=4, members=("b2", "b3")),
        Claim(subject="controllers", leader="b1", epoch=5),
    )
    assert found.max_offsets == {"0": 12}
    assert found.role == "leader"


def test_a_controller_that_does_not_lead_claims_nothing():
    for said in (quorum(error=6, leader=2), quorum(leader=2)):
        found = seen({METADATA: metadata(LED), OFFSETS: offset(12, key=0), QUORUM: said})
        assert [claim.subject for claim in found.claims] == ["p0", "p1"]
        assert found.role == "leader"


def test_a_partition_without_a_leader():
    found = seen({METADATA: metadata({0: (-1, 4, (1, 2, 3), (3,))}), QUORUM: quorum(leader=2)})
    assert found.claims == (Claim(subject="p0", leader=None, epoch=5, members=("b3",)),)


def test_a_silent_broker_is_not_alive_and_a_leader_without_offsets_is():
    assert not seen({}).alive
    found = seen({METADATA: metadata(LED), OFFSETS: b"", QUORUM: quorum()})
    assert found.alive
    assert found.error == "last offsets: an answer that ends too soon"


def test_the_route_has_the_newest_leader_of_each_partition():
    old, new = Partition(1, 4, (1, 2, 3), (1, 2, 3)), Partition(2, 5, (1, 2, 3), (2, 3))
    names = {1: "b1", 2: "b2", 3: "b3"}
    assert route([{0: old}, {0: new}, {0: old}], 1, names) == Route((Served("b2", ("b1", "b3")),))
    assert route([{0: old}, {}], 2, names) is None, "nobody knows the second"
    assert route([], 1, names) is None
    away = Partition(None, 6, (1, 2, 3), (1,))
    assert route([{0: new}, {0: away}], 1, names) == Route((Served(None, ("b1", "b2", "b3")),))


def test_the_topic_is_created_with_a_first_broker_that_differs_by_partition():
    wanted = []

    def create(reader):
        def assignment():
            return reader.int32(), tuple(reader.array(reader.int32))

        def topic():
            out = reader.text(), reader.int32(), reader.int16(), dict(reader.array(assignment))
            return (*out, dict(reader.array(lambda: (reader.text(), reader.text()))))

        wanted.extend(reader.array(topic))
        return named(0)

    async def prepare(probe):
        async def ready():
            return None

        probe.readiness = ready
        await probe.prepare()

    run({CREATE: create}, prepare)
    (name, partitions, factor, replicas, lines), (barrier, _, _, one, _) = wanted
    assert (name, partitions, factor) == (VIEW.mark, -1, -1)
    assert replicas == {0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2), 3: (1, 2, 3)}
    assert lines == {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}
    assert (barrier, one) == (f"{VIEW.mark}-barrier", {0: (1, 2, 3)})


def test_settings_that_are_in_effect_are_proven():
    confirmed, _ = run({CONFIGS: configs(**SHOWN)}, lambda probe: probe.confirm())
    (note,) = confirmed.notes
    assert note.text == f"{len(SHOWN)} settings proven to be in effect on 3 brokers"
    assert confirmed.settings["broker.min.insync.replicas"] == "2"
    assert confirmed.promises is None
    learned, _ = run({CONFIGS: configs(**SHOWN)}, lambda probe: probe.confirm(frozenset()))
    assert learned.promises == Kafka().promises(VIEW.settings)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (configs(**{**SHOWN, "min__insync__replicas": "1"}), "b1: broker.min.insync.replicas was set to 2 and is 1"),
        (configs(**{**SHOWN, "min__insync__replicas": None}), "was set to 2 and is not known to it"),
        (configs(error=87, message="no"), "b1 does not say its settings in effect: INVALID_RECORD: no"),
        (StopIteration, "b1 does not say its settings in effect: connection"),
    ],
)
def test_a_setting_that_is_not_in_effect_ends_the_deployment(shown, said):
    with pytest.raises(DeployError, match=re.escape(said)):
        run({CONFIGS: shown}, lambda probe: probe.confirm())


def test_the_topic_must_have_its_settings_too():
    async def prepared(probe):
        probe._prepared = True
        return await probe.confirm()

    def answer(reader):
        reader.int32()
        kind = reader.int8()
        topic = {"min__insync__replicas": "1", "unclean__leader__election__enable": "false"}
        return configs(**(topic if kind == settings_proof.OF_TOPIC else SHOWN))

    with pytest.raises(DeployError, match=re.escape("b1: topic.min.insync.replicas was set to 2 and is 1")):
        run({CONFIGS: answer}, prepared)


def test_the_runs_topics_and_group_are_removed():
    def answered(error):
        return b"\0\0\0\0\0\0\0\1\0\1t" + error.to_bytes(2, "big")

    what, gone = f"topics and group {VIEW.mark}*", {COORDINATOR: coordinator(2), DELETE_GROUP: answered(69)}
    for error in (0, 3):
        removed, asked = run({**gone, DELETE: answered(error)}, lambda probe: probe.remove())
        assert (removed, asked) == (Removal(removed=(what,)), [DELETE, DELETE, COORDINATOR, DELETE_GROUP])
    left, asked = run({**gone, DELETE: answered(41)}, lambda probe: probe.remove())
    assert left.left == (f"{what}: b3: NOT_CONTROLLER; b3: NOT_CONTROLLER",)
    assert asked.count(DELETE) == 6, "each broker is asked"
    left, _ = run({**gone, DELETE: answered(0), DELETE_GROUP: answered(68)}, lambda probe: probe.remove())
    assert left.left == (f"{what}: group: error 68",)
