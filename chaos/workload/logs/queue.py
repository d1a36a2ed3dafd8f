"""The workload ``queue``: sends of unique values and three kinds of reads over several queues.

An open loop: operations become due by the clock, whatever became of the earlier ones. ``--rate`` is
the number of sends a second; weak polls, strong reads and slave reads come on top, each in proportion
to it.
"""

from collections.abc import Mapping

from chaos.models.log.checks import CHECKS
from chaos.models.log.words import F
from chaos.workload.base import Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.logs.final_reads_of_logs import read_whole
from chaos.workload.logs.log_clients import LogLoad
from chaos.workload.logs.replica_copies import ReplicaCopies


class QueueWorkload:
    """Sends, weak polls, strong reads and slave reads on several queues, then a full drain."""

    name = "queue"
    help = "sends, weak polls, strong reads and slave reads on several queues, then a full drain"
    model = "log"
    mix: Mapping[F, float] = {F.SEND: 1.0, F.POLL: 0.25, F.READ: 0.08, F.SLAVE_READ: 0.08}
    keys = 4
    needs = frozenset({F.SEND, F.POLL, F.DRAIN})
    checks = CHECKS

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of sends and reads."""
        return LogLoad(spec, self.mix)

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every queue is read whole, then every replica's copy."""
        return read_whole(spec, self.mix), ReplicaCopies(spec)
