"""The main process' view of its workers: phases go out, counts and drains come back.

The module refuses to see operations: those are in the history.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError
from chaos.models.log.words import SENDS
from chaos.options.experiment import Experiment
from chaos.run.deploy import Deployed, child_environment, python_inside
from chaos.worker.messages import (
    CopiesRead,
    Drained,
    DrainPass,
    End,
    LastPops,
    Load,
    Popped,
    ReadCopies,
    Stats,
    Stop,
    Stopped,
    WorkerSpec,
)
from chaos.worker.pipe import Inside
from chaos.workload.unread_values import Named, together

DRAIN_PASS_TIMEOUT_S = 60.0
COPY_TIMEOUT_S = 30.0
_SENDS = {f.word for f in SENDS}


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over all workers. ``sends`` and ``reads``: type word → number; the others as in ``messages.Stats``."""

    sends: dict[str, int]
    reads: dict[str, int]
    worst_lag_s: float
    worst_ack_s: float
    last_ack_ns: int
    in_flight: int
    last_sent: dict[int, int]
    last_acked: dict[int, int]


class Workers:
    """All load workers of a run."""

    def __init__(
        self,
        experiment: Experiment,
        deployed: Deployed,
        folder: Path,
        bound: int,
        quiet: tuple[tuple[float, float], ...],
        longest_s: float,
    ) -> None:
        """``bound``: on operations in flight, of all; ``quiet``: see ``LoadSpec``; ``longest_s``: longest deadline."""
        self._experiment = experiment
        self._longest_s = longest_s
        self._highest: dict[int, int] = {}
        self._owed: Named = {}
        env = child_environment(deployed.view.run_id)
        self._workers: list[Inside] = []
        for number in range(experiment.workers):
            own = len(range(number, experiment.clients, experiment.workers))
            spec = WorkerSpec(
                folder=str(folder),
                worker=number,
                workers=experiment.workers,
                system=experiment.system,
                workload=experiment.workload,
                view=deployed.view,
                clients=experiment.clients,
                rate=experiment.rate * own / experiment.clients,
                seed=experiment.seed,
                op_timeout_s=experiment.op_timeout_s,
                max_in_flight=max(1, bound // experiment.workers),
                body_bytes=experiment.body_bytes,
                quiet=quiet,
            )
            argv = python_inside("chaos.worker.worker")
            self._workers.append(Inside(deployed.backend, f"worker {number}", argv, env, spec))

    def load(self, origin_ns: int) -> None:
        """Begin the load at ``origin_ns``."""
        for worker in self._alive():
            worker.send(Load(origin_ns=origin_ns))

    def _alive(self) -> list[Inside]:
        return [worker for worker in self._workers if not worker.ended]

    def dead(self) -> list[str]:
        """The workers that have ended by themselves."""
        return [worker.name for worker in self._workers if worker.ended]

    def totals(self) -> Totals:
        """The newest counts of every worker, added up."""
        sends: dict[str, int] = {}
        reads: dict[str, int] = {}
        lag_s, ack_s, last_ack_ns, in_flight = 0.0, 0.0, 0, 0
        last_sent: dict[int, int] = {}
        last_acked: dict[int, int] = {}
        for worker in self._workers:
            stats = worker.latest(Stats)
            if stats is None:
                continue
            for f, counts in stats.counts.items():
                into = sends if f in _SENDS else reads
                for kind, number in counts.items():
                    into[kind] = into.get(kind, 0) + number
            lag_s, last_ack_ns = max(lag_s, stats.worst_lag_s), max(last_ack_ns, stats.last_ack_ns)
            ack_s = max(ack_s, stats.worst_ack_s)
            in_flight += stats.in_flight
            for newest, own in ((last_sent, stats.last_sent), (last_acked, stats.last_acked)):
                for key, at_ns in own.items():
                    newest[key] = max(newest.get(key, 0), at_ns)
            for key, offset in stats.highest_acked.items():
                self._highest[key] = max(self._highest.get(key, -1), offset)
        return Totals(
            sends=sends,
            reads=reads,
            worst_lag_s=lag_s,
            worst_ack_s=ack_s,
            last_ack_ns=last_ack_ns,
            in_flight=in_flight,
            last_sent=last_sent,
            last_acked=last_acked,
        )

    def stop(self) -> None:
        """Start no further operation and wait until all in flight have ended or run out."""
        for worker in self._alive():
            worker.send(Stop())
        owed = []
        for worker in self._alive():
            try:
                until = Deadline("operations in flight to end", self._longest_s * 4 + 20)
                owed.append(worker.take(Stopped, until).owed)
            except ChaosError:
                if not worker.ended:
                    raise
        self._owed = together(owed)
        self.totals()

    def last_pops(self, timeout_s: float) -> dict[int, str]:
        """Pop every queue to its end; returns the queues whose end was not reached in time, and why.

        Raises:
            ChaosError: no worker is left, or one did not answer.
        """
        shares = self._shares()
        for worker, share in shares:
            worker.send(LastPops(keys=share, timeout_s=timeout_s))
        unended: dict[int, str] = {}
        deadline = Deadline("the last pops", timeout_s + 30)
        for worker, _ in shares:
            unended |= worker.take(Popped, deadline).unended
        return unended

    def _shares(self) -> list[tuple[Inside, tuple[int, ...]]]:
        """The workers that live, each with its queues.

        Raises:
            ChaosError: no worker is left.
        """
        alive = self._alive()
        if not alive:
            raise ChaosError("no worker is left to read the queues with; see logs/worker-*.log in the run folder")
        keys = range(self._experiment.queues)
        return [(worker, tuple(keys[position :: len(alive)])) for position, worker in enumerate(alive)]

    def drain_pass(self, number: int, timeout_s: float = DRAIN_PASS_TIMEOUT_S) -> dict[int, Drained]:
        """One pass over all queues, spread over the workers that live; ``timeout_s`` for each queue.

        Raises:
            ChaosError: no worker is left, or one did not answer.
        """
        shares = self._shares()
        for worker, share in shares:
            owed = {key: values for key, values in self._owed.items() if key in share}
            worker.send(DrainPass(number=number, keys=share, timeout_s=timeout_s, owed=owed))
        drained: dict[int, Drained] = {}
        for worker, share in shares:
            deadline = Deadline(f"the final read of queues {share}", (timeout_s + 5) * max(1, len(share)))
            for _ in share:
                answer = worker.take(Drained, deadline)
                drained[answer.key] = answer
        return drained

    def copies(self, nodes: Sequence[int], timeout_s: float = COPY_TIMEOUT_S) -> tuple[int, int]:
        """Have the named nodes' own copies of all queues read; returns how many could be and how many there are.

        ``timeout_s``: for one node's copy of one queue.

        Raises:
            ChaosError: no worker is left, or one did not answer.
        """
        alive = self._alive()
        if not alive:
            raise ChaosError("no worker is left to read the replicas with; see logs/worker-*.log in the run folder")
        every = [(node, key) for node in nodes for key in range(self._experiment.queues)]
        shares = [tuple(every[position :: len(alive)]) for position in range(len(alive))]
        for worker, share in zip(alive, shares, strict=True):
            worker.send(ReadCopies(copies=share, timeout_s=timeout_s))
        read = 0
        for worker, share in zip(alive, shares, strict=True):
            deadline = Deadline("the replicas' copies to be read", (timeout_s + 5) * max(1, len(share)))
            read += worker.take(CopiesRead, deadline).ok
        return read, len(every)

    def differ(self, first: dict[int, Drained], second: dict[int, Drained]) -> str | None:
        """None if both passes read every queue to its maximum alike; else the first thing that is not so."""
        for key in range(self._experiment.queues):
            a, b = first.get(key), second.get(key)
            if a is None or b is None or not a.ok or not b.ok:
                failed = b if b is not None and not b.ok else a
                return f"queue {key}: {failed.error if failed is not None else 'not read'}"
            if a.digest != b.digest:
                return f"queue {key}: two passes read different content"
            if b.next_offset != b.max_offset:
                return f"queue {key}: read to {b.next_offset} of {b.max_offset}"
        return None

    def short(self, drained: dict[int, Drained]) -> str | None:
        """The first queue that lacks what was acknowledged: it ends below an offset or has not a value; else None."""
        for key, one in sorted(drained.items()):
            acked = self._highest.get(key, -1)
            if (one.next_offset or 0) <= acked:
                return f"queue {key}: it ends at {one.next_offset}, acknowledged up to {acked}"
            if one.missing:
                return f"queue {key}: {one.missing} acknowledged without an offset and not there"
        return None

    def end(self) -> None:
        """Let every stream be ended properly and wait for the processes."""
        for worker in self._alive():
            worker.send(End())
        for worker in self._workers:
            worker.close(timeout_s=10.0)

    def kill(self) -> None:
        """Leave without ceremony; streams keep what was recorded."""
        for worker in self._workers:
            worker.close(timeout_s=0.5)
