"""One logical client: it publishes with a confirm, and takes one message at a time, which it acknowledges."""

from chaos.core.client import Received
from chaos.core.op import Invocation
from chaos.models.queues.total_queue import F, Taken
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems._shared.message_values import value_in
from cluster.systems.rabbitmq import queues
from cluster.systems.rabbitmq.amqp import Confirmed, Delivered, Done, Empty, Publish
from cluster.systems.rabbitmq.channels import Channels
from cluster.systems.rabbitmq.outcomes import of_dequeue, of_enqueue
from cluster.systems.rabbitmq.servers import Servers


class RabbitClient(RoutedClient[Channels]):
    """One logical client of RabbitMQ."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        links = {node.name: Channels(node.address) for node in view.nodes}
        super().__init__(view, number, clients, seed, links, Servers(view), "the nodes")
        self._mark = view.mark

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        channels, queue = self._links[node], queues.name_of(self._mark, op.key)
        if op.f is F.ENQUEUE:
            answer = await channels.ask(Publish(queue, b"%d" % op.argument.value), deadline_ns)
            if answer != Confirmed(taken=True):
                raise of_enqueue(answer)
            return

        def hear(message: Delivered) -> None:
            received.result = Taken(value=value_in(message.body), again=message.again)

        answer = await channels.take(queue, deadline_ns, hear)
        if isinstance(answer, Empty):
            received.result = Taken()
        elif not isinstance(answer, Done):
            raise of_dequeue(answer, given=received.result is not None)
