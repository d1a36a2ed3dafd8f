"""The main process' view of its workers: phases go out, counts and what was missed come back.

Operations do not come this way: they are in the history.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from chaos.core.clock import NS_PER_S, Deadline, now_ns
from chaos.core.errors import ChaosError, DeadlineError
from chaos.options.experiment import Experiment
from chaos.run.deploy import Deployed, child_environment, python_inside
from chaos.run.watching import Totals
from chaos.worker.messages import End as EndStream
from chaos.worker.messages import Final as AskFinal
from chaos.worker.messages import FinalDone, Load, Stats, Stop, Stopped, WorkerSpec
from chaos.worker.pipe import Inside
from chaos.workload.final import Limits, Part, notes_of

START_S: Final = 60.0
"""The longest that a worker may take to start, on a machine that is busy with other things."""

LEAD_NS: Final = NS_PER_S // 4
"""So long before it begins the load is announced, so that every worker knows in time."""

PART_S: Final = 130.0
"""The longest that a part may go on behind its limit: two questions of a minute each, and some time around them."""


class Workers:
    """All load workers of a run."""

    def __init__(
        self,
        experiment: Experiment,
        deployed: Deployed,
        folder: Path,
        bound: int,
        quiet: tuple[tuple[float, float], ...],
        steps: tuple[tuple[float, float, float], ...],
        longest_s: float,
        changing: frozenset[str],
    ) -> None:
        """``bound``: on operations in flight, of all; ``quiet``, ``steps``: see ``LoadSpec``.

        ``longest_s``: the longest deadline. ``changing``: the words of operations that change the object.
        """
        self._longest_s = longest_s
        self._changing = changing
        self._notes: dict[int, list[Any]] = {}
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
                steps=steps,
            )
            argv = python_inside("chaos.worker.worker")
            self._workers.append(Inside(deployed.backend, f"worker {number}", argv, env, spec))

    def await_start(self, check_asked: Callable[[], None]) -> int:
        """Wait until every worker is ready for the load, or has ended; returns when the load may begin, in ns.

        Args:
            check_asked: raises if somebody wants to leave.

        Raises:
            DeadlineError: one is not.
        """
        deadline = Deadline("the workers to start", START_S)
        while any(worker.latest(Stats) is None for worker in self._alive()):
            check_asked()
            deadline.check()
            Deadline("a moment", 0.01).wait()
        return now_ns() + LEAD_NS

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
        changes: dict[str, int] = {}
        rest: dict[str, int] = {}
        lag_s, ack_s, last_ack_ns, in_flight = 0.0, 0.0, 0, 0
        last_sent: dict[int, int] = {}
        last_acked: dict[int, int] = {}
        for worker in self._workers:
            stats = worker.latest(Stats)
            if stats is None:
                continue
            for f, counts in stats.counts.items():
                into = changes if f in self._changing else rest
                for kind, number in counts.items():
                    into[kind] = into.get(kind, 0) + number
            lag_s, last_ack_ns = max(lag_s, stats.worst_lag_s), max(last_ack_ns, stats.last_ack_ns)
            ack_s = max(ack_s, stats.worst_ack_s)
            in_flight += stats.in_flight
            for newest, own in ((last_sent, stats.last_sent), (last_acked, stats.last_acked)):
                for key, at_ns in own.items():
                    newest[key] = max(newest.get(key, 0), at_ns)
        return Totals(
            changes=changes,
            rest=rest,
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
        for worker in self._alive():
            try:
                until = Deadline("operations in flight to end", self._longest_s * 4 + 20)
                notes = worker.take(Stopped, until).notes
            except ChaosError:
                if not worker.ended:
                    raise
                continue
            for key, note in notes.items():
                self._notes.setdefault(key, []).append(note)
        self.totals()

    def final(
        self, number: int, parts: tuple[Part, ...], limits: Limits, check_insisted: Callable[[], None]
    ) -> dict[Part, str]:
        """Have a final phase of the workload done, by all workers that live; the parts that did not end, and why.

        Args:
            number: the phase's position.
            parts: all it has.
            limits: when to give up.
            check_insisted: raises if somebody wants to leave at once.

        Raises:
            ChaosError: no worker is left, or one did not answer.
        """
        alive = self._alive()
        if not alive:
            raise ChaosError("no worker is left for the final phases; see logs/worker-*.log in the run folder")
        shares = [(worker, parts[position :: len(alive)]) for position, worker in enumerate(alive)]
        for worker, share in shares:
            worker.send(AskFinal(phase=number, parts=share, limits=limits, notes=notes_of(share, self._notes)))
        unended: dict[Part, str] = {}
        limit_s = max(0.0, (limits.until_ns - now_ns()) / NS_PER_S)
        for worker, share in shares:
            deadline = Deadline("a worker to end its part of a final phase", limit_s + PART_S * max(1, len(share)))
            unended |= dict(_taken(worker, deadline, check_insisted).unended)
        return unended

    def end(self) -> None:
        """Let every stream be ended properly and wait for the processes."""
        for worker in self._alive():
            worker.send(EndStream())
        for worker in self._workers:
            worker.close(timeout_s=10.0)

    def kill(self) -> None:
        """Leave without ceremony; streams keep what was recorded."""
        for worker in self._workers:
            worker.close(timeout_s=0.5)


def _taken(worker: Inside, deadline: Deadline, check_insisted: Callable[[], None]) -> FinalDone:
    """A worker's answer, while somebody may want to leave."""
    while True:
        check_insisted()
        try:
            return worker.take(FinalDone, Deadline(deadline.what, min(1.0, max(0.1, deadline.remaining_s()))))
        except DeadlineError:
            deadline.check()
