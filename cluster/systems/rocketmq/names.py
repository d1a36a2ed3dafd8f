"""What a run calls its topics and groups in RocketMQ: every name begins with the run's mark.

Two runs on one cluster therefore never meet each other's messages, offsets or half messages.
"""

from typing import NamedTuple

from cluster.system import ClusterView


class Names(NamedTuple):
    """The names of one run; ``topic`` holds its messages, and all other names begin with it."""

    topic: str

    @property
    def group(self) -> str:
        """The group that all members of the workload ``group`` are of."""
        return f"{self.topic}-group"

    @property
    def transactions(self) -> str:
        """The group of the producers of transactions."""
        return f"{self.topic}-transactions"

    @property
    def before(self) -> str:
        """A topic that is made before the others, to see when slaves ask their master for all topics."""
        return f"{self.topic}-before"

    def producer(self, client: int) -> str:
        """The group of the producer of plain messages that a client is."""
        return f"{self.topic}-{client}"

    def pop_group(self, key: int) -> str:
        """The group that pops a queue. Each queue has one, since a group is given again what lapsed in any queue."""
        return f"{self.topic}-pop-{key}"

    def retry_topic(self, key: int) -> str:
        """Where a broker puts what is to be given to that group again."""
        return f"%RETRY%{self.pop_group(key)}_{self.topic}"

    def topics(self, popped: range) -> tuple[str, ...]:
        """Every topic that a run may have made, the one of its messages last. ``popped``: queues with a pop group."""
        return (*map(self.retry_topic, popped), self.before, self.topic)

    def groups(self, popped: range) -> tuple[str, ...]:
        """Every consumer group that a run has made."""
        return (self.group, *map(self.pop_group, popped))


def names_of(view: ClusterView) -> Names:
    """The names of the run that this view is of."""
    return Names(view.mark)
