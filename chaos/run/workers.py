"""The main process' view of its workers: phases go out, counts and what was missed come back.

Operations do not come this way: they are in the history.
"""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

import msgspec

from chaos.core import waiting
from chaos.core.clock import NS_PER_S, Deadline, now_ns
from chaos.core.errors import ChaosError, DeadlineError
from chaos.core.model import Model
from chaos.options.experiment import Experiment
from chaos.run.deploy import Deployed, child_environment, python_inside
from chaos.run.watching import Totals
from chaos.storage.cut_off_streams import Sealed, seal
from chaos.worker.messages import End as EndStream
from chaos.worker.messages import Final as AskFinal
from chaos.worker.messages import FinalDone, Load, Reconnect, Stats, Stop, Stopped, WorkerSpec
from chaos.worker.pipe import Inside
from chaos.workload.base import NUMBERS_OF_OP, Earlier
from chaos.workload.final import Limits, Part, notes_of

START_S: Final = 60.0
"""The longest that a worker may take to start, on a machine that is busy with other things."""

END_S: Final = 10.0
"""The longest that it may take until a worker that was killed is seen to be gone."""

LEAD_NS: Final = NS_PER_S // 4
"""So long before it begins the load is announced, so that every worker knows in time."""

PART_S: Final = 130.0
"""The longest that a part may go on behind its limit: two questions of a minute each, and some time around them."""


class _Post:
    """One worker of the run. Its process may be killed; another process then goes on in its place.

    ``expected``: it is no news that the process ends. ``past``: the last counts of those that were killed.
    """

    def __init__(self, start: Callable[[WorkerSpec], Inside], spec: WorkerSpec) -> None:
        self._start = start
        self.spec = spec
        self.inside = start(spec)
        self.expected = False
        self.past: list[Stats] = []

    def start_successor(self, sealed: Sealed) -> None:
        """Start another process where one was killed; it goes on behind what that one did."""
        spec, before = self.spec, self.spec.earlier
        clients = len(range(spec.worker, spec.clients, spec.workers))
        numbers = before.numbers + NUMBERS_OF_OP * sealed.operations + clients
        earlier = Earlier(numbers=numbers, unknown=before.unknown + sealed.unknown)
        if (last := self.inside.latest(Stats)) is not None:
            self.past.append(msgspec.structs.replace(last, in_flight=0))
        self.spec = msgspec.structs.replace(spec, stream=spec.stream + spec.workers, earlier=earlier)
        self.inside = self._start(self.spec)

    def stats(self) -> list[Stats]:
        """The newest counts of each process that has been here."""
        last = self.inside.latest(Stats)
        return [*self.past, *([last] if last is not None else [])]


class Workers:
    """All load workers of a run. Implements ``nemesis.faults.fault.LoadProcesses``."""

    def __init__(
        self,
        experiment: Experiment,
        deployed: Deployed,
        folder: Path,
        bound: int,
        quiet: tuple[tuple[float, float], ...],
        steps: tuple[tuple[float, float, float], ...],
        longest_s: float,
        model: Model,
    ) -> None:
        """``bound``: on operations in flight, of all; ``quiet``, ``steps``: see ``LoadSpec``.

        ``longest_s``: the longest deadline. ``model``: whose operations these are.
        """
        self._longest_s = longest_s
        self._changing = frozenset(f.word for f, function in model.functions.items() if function.mutates)
        self._model = model
        self._history = folder / "history"
        self._origin_ns = 0
        self._notes: dict[int, list[Any]] = {}
        env, argv = child_environment(deployed.view.run_id), python_inside("chaos.worker.worker")

        def start(spec: WorkerSpec) -> Inside:
            return Inside(deployed.backend, f"worker {spec.worker}", argv, env, spec)

        self._posts: list[_Post] = []
        for number in range(experiment.workers):
            own = len(range(number, experiment.clients, experiment.workers))
            spec = WorkerSpec(
                folder=str(folder),
                worker=number,
                stream=number,
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
            self._posts.append(_Post(start, spec))

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
        self._origin_ns = origin_ns
        for worker in self._alive():
            worker.send(Load(origin_ns=origin_ns))

    def _alive(self) -> list[Inside]:
        return [post.inside for post in self._posts if not post.inside.ended]

    def dead(self) -> list[str]:
        """The workers that have ended by themselves."""
        return [post.inside.name for post in self._posts if post.inside.ended and not post.expected]

    def pids(self) -> dict[str, int]:
        """See ``LoadProcesses``."""
        told = {post.inside.name: post.inside.latest(Stats) for post in self._posts if not post.inside.ended}
        return {name: stats.pid for name, stats in told.items() if stats is not None}

    def expect_end(self, names: Collection[str]) -> None:
        """See ``LoadProcesses``."""
        for post in self._posts:
            post.expected = post.expected or post.inside.name in names

    def start_again(self) -> dict[str, str]:
        """See ``LoadProcesses``. What was due meanwhile is left out."""
        killed = [post for post in self._posts if post.expected]
        return {post.inside.name: self._start_again(post) for post in killed}

    def _start_again(self, post: _Post) -> str:
        ended = Deadline(f"{post.inside.name} to be gone", END_S)
        while not post.inside.ended:
            ended.check()
            waiting.sleep(0.01)
        post.inside.close()
        sealed = seal(self._history, post.spec.stream, self._model)
        post.start_successor(sealed)
        post.expected = False
        ready = Deadline(f"{post.inside.name} to start again", START_S)
        while post.inside.latest(Stats) is None:
            if post.inside.ended:
                raise ChaosError(f"{post.inside.name} ended while it was started again; its log is in logs/")
            ready.check()
            waiting.sleep(0.01)
        post.inside.send(Load(origin_ns=self._origin_ns, from_ns=now_ns()))
        return f"{sealed.operations:,} operations of it are kept, of {sealed.unknown:,} nobody knows the outcome"

    def reconnect(self, share: float) -> None:
        """See ``LoadProcesses``."""
        for worker in self._alive():
            worker.send(Reconnect(share=share))

    def totals(self) -> Totals:
        """The newest counts of every worker, added up."""
        changes: dict[str, int] = {}
        rest: dict[str, int] = {}
        lag_s, ack_s, last_ack_ns, in_flight = 0.0, 0.0, 0, 0
        last_sent: dict[int, int] = {}
        last_acked: dict[int, int] = {}
        for stats in (stats for post in self._posts for stats in post.stats()):
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
        for post in self._posts:
            post.inside.close(timeout_s=10.0)

    def kill(self) -> None:
        """Leave without ceremony; streams keep what was recorded."""
        for post in self._posts:
            post.inside.close(timeout_s=0.5)


def _taken(worker: Inside, deadline: Deadline, check_insisted: Callable[[], None]) -> FinalDone:
    """A worker's answer, while somebody may want to leave."""
    while True:
        check_insisted()
        try:
            return worker.take(FinalDone, Deadline(deadline.what, min(1.0, max(0.1, deadline.remaining_s()))))
        except DeadlineError:
            deadline.check()
