"""Whom brokers of Pulsar name as the owner of a topic, and how a lookup goes on."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from pulsar_broker import FakeBroker, command
from system_view import view_of

from chaos.core.clock import NS_PER_S, now_ns
from cluster.systems._shared import link
from cluster.systems._shared.routing import Route, Served
from cluster.systems.pulsar import brokers as brokers_module
from cluster.systems.pulsar import wire
from cluster.systems.pulsar.brokers import Brokers, Way, owner
from cluster.systems.pulsar.protobuf import number_in, text_in
from cluster.systems.pulsar.system import Pulsar

VIEW = view_of(Pulsar())


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A busy machine may take longer than a client waits."""
    monkeypatch.setattr(brokers_module, "GREETED_S", 30.0)
    monkeypatch.setattr(link, "CONNECT_TIMEOUT_S", 30.0)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ([("b1", "b2"), ("b2", "b2"), ("b3", "b2")], "b2"),
        ([("b1", "b2"), ("b3", "b3")], "b3"),
        ([("b1", "b1"), ("b2", "b3"), ("b3", "b3")], "b3"),
        ([("b1", "b2")], "b2"),
        ([], None),
    ],
)
def test_an_owner_is_whom_most_name(said, found):
    assert owner(said) == found


def test_the_route_is_asked_of_all_brokers():
    async def scenario():
        async with FakeBroker() as one, FakeBroker(lambda *_: StopIteration) as other:
            brokers = Brokers(VIEW)
            brokers.ways = {"b1": Way("127.0.0.1", one.port), "b2": Way("127.0.0.1", other.port)}
            found = await brokers.ask(now_ns() + 30 * NS_PER_S)
            brokers.ways = {"b2": Way("127.0.0.1", other.port)}
            nobody = await brokers.ask(now_ns() + 30 * NS_PER_S)
            brokers.close()
            return found, nobody, one.commands

    found, nobody, commands = asyncio.run(scenario())
    assert (found, nobody) == (Route((Served("b2", ("b1",)),) * 4), None)
    topics = {text_in(asked.fields, 1) for asked in commands if asked.kind == wire.LOOKUP}
    assert topics == {f"persistent://public/default/{VIEW.mark}-{key}" for key in range(4)}


def found(number, address, kind, authoritative=0):
    """What a broker says of who owns a topic; ``kind``: 0 to be asked next, 1 the owner, 2 nobody."""
    fields = (1, f"pulsar://{address}:6650"), (3, kind), (4, number), (5, authoritative)
    return command(wire.LOOKUP_RESPONSE, *fields)


@pytest.mark.parametrize(
    ("says", "owner_is"),
    [
        ({"b1": ("b2", 0, 0), "b2": ("b3", 0, 1), "b3": ("b3", 1, 1)}, "b3"),
        ({"b1": ("b2", 1, 1)}, "b2"),
        ({"b1": ("b2", 0, 0), "b2": ("b2", 2, 0)}, None),
        ({"b1": ("b2", 0, 0), "b2": ("b1", 0, 0)}, None),
        ({"b1": ("b9", 1, 1)}, None),
    ],
    ids=["decided elsewhere", "known", "nobody", "in a circle", "not ours"],
)
def test_a_lookup_goes_on_where_a_broker_says(says, owner_is):
    """As clients of Pulsar do: the broker that was chosen takes a topic only when it is asked as the chosen one."""
    addresses = {node.name: node.address for node in VIEW.nodes}
    heard = []

    async def scenario():
        async with AsyncExitStack() as stack:
            brokers = Brokers(VIEW)
            brokers.ways = {}
            for name in ("b1", "b2", "b3"):

                def answer(word, number, name=name):
                    if word != "lookup":
                        return None
                    heard.append((name, number_in(fakes[name].commands[-1].fields, 3)))
                    whom, kind, authoritative = says[name]
                    return found(number, addresses.get(whom, "198.18.9.9"), kind, authoritative)

                fakes[name] = await stack.enter_async_context(FakeBroker(answer))
                brokers.ways[name] = Way("127.0.0.1", fakes[name].port)
            named = await brokers._owner("b1", 0, now_ns() + 30 * NS_PER_S)
            brokers.close()
            return named

    fakes = {}
    assert asyncio.run(scenario()) == owner_is
    if "b3" in says:
        assert heard == [("b1", 0), ("b2", 0), ("b3", 1)]
