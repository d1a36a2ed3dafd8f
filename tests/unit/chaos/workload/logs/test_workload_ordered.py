"""Every shard has its queue, numbers of its own and one send under way."""

import pytest
from log_ops import gave, placed

from chaos.core.op import Completion, Type
from chaos.models.log.words import F, Value
from chaos.workload.base import Arrival, LoadSpec
from chaos.workload.logs.ordered import SHARDS, OrderedWorkload


def workload(seed=1, clients=3, keys=4):
    return OrderedWorkload().generator(
        LoadSpec(keys=keys, clients=clients, seed=seed, body_bytes=64, op_timeout_s=3, operations=frozenset(F))
    )


def test_one_send_of_a_shard_is_under_way_and_a_client_without_a_free_one_waits():
    it = workload()
    ops = [it.invocation(Arrival(0, F.SEND, 1, 0), n, 0) for n in range(SHARDS)]
    assert {op.argument.value for op in ops} == {Value(shard, 0) for shard in it.shards(1)}
    assert it.invocation(Arrival(0, F.SEND, 1, 0), 99, 0) is None
    assert it.invocation(Arrival(0, F.SEND, 2, 0), 99, 0) is not None
    it.learn(ops[5], placed(3))
    again = it.invocation(Arrival(0, F.SEND, 1, 0), 99, 0)
    assert again.argument.value == Value(ops[5].argument.value.writer, 1)
    assert again.key == ops[5].key


@pytest.mark.parametrize("outcome", [Type.OK, Type.FAIL, Type.INFO, Type.NOT_SENT])
def test_whatever_becomes_of_a_send_its_shard_goes_on_with_the_next_number(outcome):
    it = workload(clients=1)
    for _ in range(3 * SHARDS):
        op = it.invocation(Arrival(0, F.SEND, 0, 0), 1, 0)
        it.learn(op, Completion(type=outcome))
    assert sum(it._log._sequence.values()) == 3 * SHARDS
    assert sorted(it._free[0]) == list(it.shards(0))


def test_a_shard_keeps_its_queue_and_workers_agree_on_it():
    one, other = workload(), workload()
    queues = {shard: one.queue_of(shard) for client in range(3) for shard in one.shards(client)}
    assert queues == {shard: other.queue_of(shard) for shard in queues}
    assert set(queues.values()) == {0, 1, 2, 3}
    for n in range(40):
        op = one.invocation(Arrival(0, F.SEND, 0, 0), n, 0)
        assert op.key == queues[op.argument.value.writer]
        one.learn(op, placed(n))


def test_reads_are_those_of_the_workload_queue():
    it = workload()
    poll = it.invocation(Arrival(0, F.POLL, 1, 2), 4, 0)
    assert (poll.f, poll.key, poll.argument.offset, poll.process) == (F.POLL, 2, 0, 4)
    it.learn(poll, gave(next_offset=9))
    assert it.invocation(Arrival(0, F.POLL, 1, 2), 4, 0).argument.offset == 9
