"""Runs of Kafka's client against scripted brokers."""

import asyncio

import msgspec
from kafka_broker import (
    METADATA,
    FakeBroker,
    metadata,
)
from system_view import view_of

from chaos.basics.rand import run_hash
from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.log import payload
from chaos.models.log.operations import ReadCopy, ReadFrom, Send
from chaos.models.log.words import F, Value
from cluster.systems.kafka.client import KafkaClient
from cluster.systems.kafka.records import batch
from cluster.systems.kafka.system import Kafka

VIEW = view_of(Kafka())
RUN = run_hash(VIEW.run_id)
VALUE = Value(1, 5)
CLOSED = {"connection closed by the server", "connection reset"}


def op(f, argument=None, key=3):
    return Invocation(process=17, client=0, f=f, key=key, deadline_ns=0, argument=argument)


SEND = op(F.SEND, Send(value=VALUE))
POLL = op(F.POLL, ReadFrom(offset=4))
READ = op(F.READ, ReadFrom(offset=4))
DRAIN, COPY = op(F.DRAIN), op(F.REPLICA, ReadCopy(node=1))


def at(place, value=VALUE, key=3):
    return place.to_bytes(8, "big") + batch(payload.encode(value, key, RUN), 1)[8:]


def run(ops, answers, within_s=5.0, number=-1, **settings):
    """What each operation was given or raised, and the requests other than for the route."""

    async def scenario():
        def answer(api, reader):
            if api == METADATA:
                return metadata(dict.fromkeys(range(4), (1, 4, (1, 2, 3), (1, 2, 3))))
            return answers[api](reader) if callable(answers.get(api)) else answers.get(api)

        async with FakeBroker(answer) as broker:
            client = KafkaClient(view_of(Kafka(), **settings), number, 8, seed=1)
            client._links = dict.fromkeys(client._links, broker.link)
            client._route._source.brokers = {"b1": broker.link}
            out = []
            for one in ops:
                received = Received()
                try:
                    deadline_ns = now_ns() + int(within_s * NS_PER_S)
                    await client.invoke(msgspec.structs.replace(one, deadline_ns=deadline_ns), received)
                    out.append((received.node, received.result))
                except (Definite, Indefinite) as error:
                    out.append((type(error), "closed" if str(error) in CLOSED else str(error)))
            await client.close()
            await client.close()
            return out, [api for api in broker.asked if api != METADATA]

    return asyncio.run(scenario())
