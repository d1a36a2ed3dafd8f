"""What the stories of brokers start from and ask."""

from minimq_world import BROKERS, TOPIC, World

from cluster.systems.minimq.protocol.broker_messages import Produce
from cluster.systems.minimq.replication.replica_state import BrokerSettings


def produce(body, queue=0, **fields):
    return Produce(topic=TOPIC, queue=queue, body=body, **fields)


def ready(**fields):
    """b1 is master in epoch 1, all are in sync."""
    world = World(BrokerSettings(**fields))
    world.calm(40)
    assert world.controller.group.master == "b1"
    assert set(world.controller.group.sync_state_set) == set(BROKERS)
    return world


def answer_to(world, name, body, rounds=4):
    request_id = world.ask(name, body)
    world.calm(rounds)
    return answer_of(world, request_id)


def answer_of(world, request_id):
    return next((answer for each, _, answer in world.answers if each == request_id), None)


def role_of(world, name):
    return world.nodes[name].core.role
