"""One logical client of queues: a work-queue stream for each, and one durable consumer that all clients pull from.

A client pulls one message, notes it, and acknowledges it by a request that is answered. A stream that is a work queue
removes what was acknowledged. What was not is given again after ``streams.AGAIN_S``.
"""

from chaos.core.client import Received
from chaos.core.op import Invocation
from chaos.models.queues.total_queue import F, Taken
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems._shared.message_values import value_in
from cluster.systems.nats import streams
from cluster.systems.nats.jetstream import JetStream
from cluster.systems.nats.servers import Servers


class QueueClient(RoutedClient[JetStream]):
    """One logical client of NATS."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        links = {node.name: JetStream(node.address) for node in view.nodes}
        groups = [one.nodes for one in streams.subjects(view.settings, view.keys)]
        super().__init__(view, number, clients, seed, links, Servers(view), "the servers", groups)
        self._mark = view.mark

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        server, stream = self._links[node], streams.stream_name(self._mark, op.key)
        if op.f is F.ENQUEUE:
            await server.publish(stream, b"%d" % op.argument.value, deadline_ns)
            return
        pulled = await server.pull(stream, streams.CONSUMER, deadline_ns)
        if pulled is None:
            received.result = Taken()
            return
        received.result = Taken(value=value_in(pulled.body), again=pulled.delivery > 1)
        await server.acknowledge(pulled, deadline_ns)
