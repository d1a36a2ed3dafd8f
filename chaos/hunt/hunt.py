"""Many drawn runs until one fails; that one is confirmed and made smaller. Every run and the whole are bounded."""

import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any, Final

import msgspec

from chaos.hunt.candidate import Candidate, candidate_of
from chaos.hunt.corpus import Corpus, Record
from chaos.hunt.features import features_of, of_invariants
from chaos.hunt.trial import Trial, attempt, keep
from chaos.options.experiment import Experiment
from chaos.run.interrupts import Interrupts

Say = Callable[[str], None]
TELL_EVERY_S: Final = 30.0


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """How far a hunt goes. ``runs``: so many at most; ``jobs``: at the same time; ``stop``: with the first find."""

    budget_s: float
    runs: int
    jobs: int
    stop: bool


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a hunt that has ended."""

    number: int
    base: Experiment
    candidate: Candidate
    trial: Trial


Drawing = Callable[[int], tuple[Experiment, Candidate]]
"""The run of a number."""

Finding = Callable[[Made, Path], None]
"""Told of each find with the folder of its run in the store."""

Learning = Callable[[int, Experiment, Candidate, Sequence[str]], tuple[str, ...]]
"""Told of each run what it has shown; returns what is new of that."""


def perform_in_worker(base: Experiment, candidate: Candidate, room: Path) -> Trial:
    """``attempt`` in a process of its own, which hears interrupts itself."""
    interrupts = Interrupts(lambda _: None)
    with interrupts.listening():
        trial = attempt(base, candidate, room, lambda: interrupts.times)
    if trial.folder is None:
        return trial
    features = (*of_invariants(trial.broken), *features_of(trial.folder))
    return msgspec.structs.replace(trial, features=features)


class Hunt:
    """Makes the runs that a corpus does not have yet.

    Args:
        draw: the run of a number.
        corpus: gets a record of each run.
        store: where runs that failed are kept.
        asked: how far it goes.
        say: gets lines for people.
        found: told of each find.
        perform: makes one run.
        keeping: moves the folder of a run into the store.
        learn: told of each run what it has shown.
    """

    def __init__(
        self,
        draw: Drawing,
        corpus: Corpus,
        store: Path,
        asked: Asked,
        say: Say,
        found: Finding,
        perform: Callable[[Experiment, Candidate, Path], Trial] = perform_in_worker,
        keeping: Callable[[Trial, Experiment, Candidate], Path] = keep,
        *,
        learn: Learning = lambda *_: (),
    ) -> None:
        self._draw, self._corpus, self._store, self._asked = draw, corpus, store, asked
        self._say, self._found, self._perform, self._keep = say, found, perform, keeping
        self._learn = learn
        self._interrupts = Interrupts(say)
        self._longest_s = 0.0
        self._ends_s = 0.0
        self.finds = 0
        self.interrupted = False

    def go(self) -> int:
        """Hunt; how many runs were made."""
        began_s = told_s = time.monotonic()
        self._ends_s, made = began_s + self._asked.budget_s, 0
        with tempfile.TemporaryDirectory(prefix=".hunt-", dir=self._store, ignore_cleanup_errors=True) as rooms:
            ended = self._ended(Path(rooms))
            for one in ended:
                made += 1
                self._take(one)
                if self.interrupted or (self.finds and self._asked.stop) or self._corpus.full():
                    break
                if time.monotonic() - told_s > TELL_EVERY_S:
                    told_s = time.monotonic()
                    self._say(self.line(told_s - began_s))
            ended.close()
        self._say(self.line(time.monotonic() - began_s))
        return made

    def line(self, took_s: float) -> str:
        """How it stands."""
        counts: dict[str, int] = {"PASS": 0, "FAIL": 0, "UNKNOWN": 0}
        for record in self._corpus.records:
            counts[record.verdict] = counts.get(record.verdict, 0) + 1
        told = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        return f"{len(self._corpus.records):,} runs: {told}; {took_s:,.0f} s"

    def _take(self, one: Made) -> None:
        trial = one.trial
        self._longest_s = max(self._longest_s, trial.took_s)
        if trial.interrupted:
            self.interrupted = True
            return
        folder = self._keep(trial, one.base, one.candidate) if trial.anomalies and trial.folder is not None else None
        self._corpus.add(
            Record(
                number=one.number,
                seed=one.candidate.seed,
                workload=one.base.workload,
                faults=tuple(dict.fromkeys(row.name for row in one.candidate.rows)),
                verdict=trial.verdict,
                took_s=round(trial.took_s, 1),
                anomalies=trial.anomalies,
                sentence=trial.sentence if trial.verdict != "PASS" else "",
                store=str(folder or ""),
                broken=trial.broken,
                features=self._learn(one.number, one.base, one.candidate, trial.features),
            )
        )
        if folder is not None:
            self.finds += 1
            self._say(f"FAIL     run {one.number}: {trial.sentence}")
            self._found(one, folder)
            return
        if trial.broken:
            self._say(f"broken   run {one.number}, {trial.verdict}: {trial.broken[0]}")
        if trial.folder is not None:
            shutil.rmtree(trial.folder, ignore_errors=True)

    def _numbers(self) -> Iterator[int]:
        """The numbers that are not done, as long as runs may begin."""
        done, number = self._corpus.done(), 0
        for _ in range(self._asked.runs):
            while number in done:
                number += 1
            if self._interrupts.asked.is_set() or time.monotonic() + self._longest_s > self._ends_s:
                return
            yield number
            number += 1

    def _ended(self, rooms: Path) -> Generator[Made]:
        """The runs as they end."""
        numbers = self._numbers()
        if self._asked.jobs == 1:
            for number in numbers:
                base, candidate = self._draw(number)
                trial = self._perform(base, candidate, rooms / str(number))
                yield Made(number=number, base=base, candidate=candidate, trial=trial)
            return
        pool = ProcessPoolExecutor(self._asked.jobs, mp_context=multiprocessing.get_context("spawn"))
        try:
            with self._interrupts.listening():
                yield from self._together(pool, numbers, rooms)
        finally:
            pool.shutdown(cancel_futures=True)

    def _together(self, pool: ProcessPoolExecutor, numbers: Iterator[int], rooms: Path) -> Iterator[Made]:
        going: dict[Future[Trial], tuple[int, Experiment, Candidate]] = {}
        while True:
            while len(going) < self._asked.jobs and (number := next(numbers, None)) is not None:
                base, candidate = self._draw(number)
                going[pool.submit(self._perform, base, candidate, rooms / str(number))] = number, base, candidate
            if not going:
                return
            for done in sorted(wait(going, return_when=FIRST_COMPLETED).done, key=lambda one: going[one][0]):
                number, base, candidate = going.pop(done)
                yield Made(number=number, base=base, candidate=candidate, trial=done.result())


def planned_candidate(experiment: Experiment, system: Any, backend: Any) -> Candidate:
    """The run of an experiment with the plan that it draws.

    Raises:
        UsageError: it cannot begin.
    """
    from chaos.options.planning import plan_of

    return candidate_of(experiment, plan_of(experiment, system, backend, lambda _: None))
