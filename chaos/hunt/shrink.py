"""Make a run that fails smaller as long as it fails in the same way; every run is bounded, and so is the whole."""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from chaos.basics.rand import SEEDS
from chaos.core.errors import UsageError
from chaos.hunt.candidate import Candidate
from chaos.hunt.reductions import reduce_run
from chaos.hunt.trial import Trial, attempt, check_store, keep
from chaos.options.experiment import Experiment
from chaos.run.interrupts import Interrupts
from nemesis.targets.topology import Topology

Say = Callable[[str], None]
_SEARCH_SHARE: Final = 0.8
"""The rest of the budget is for telling how often the smallest fails."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What counts and for how long to look.

    ``anomaly``: a run fails if it has this one. ``times``: how often a smaller run is repeated; ``least``: it is taken
    if so many of these fail. ``new_seeds``: each repetition has the next seed, because with the same one nothing would
    change. ``budget_s``: begin no run that would probably end later. ``rate_of``: how often the smallest is repeated.
    """

    anomaly: str
    times: int
    least: int
    new_seeds: bool
    budget_s: float
    rate_of: int


def least_of(times: int, asked: int | None, *, new_seeds: bool) -> int:
    """How many of so many repetitions must fail: as asked, else one with new seeds, else more than half.

    Raises:
        UsageError: more than there are.
    """
    least = asked if asked is not None else 1 if new_seeds else times // 2 + 1
    if least > times:
        raise UsageError(f"--at-least {least}: it cannot fail more often than --confirm {times}")
    return least


class Shrunk(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest run that failed. ``failed`` of ``repeated`` more runs of it did; ``runs``: all that were made.

    ``needed``: whether each part of it was shown to be needed; else the budget was used up or somebody said stop.
    """

    candidate: Candidate
    folder: Path
    sentence: str
    failed: int
    repeated: int
    runs: int
    needed: bool


class _Over(Exception):  # noqa: N818 - an end, no error
    """The budget is used up, or somebody said stop."""


class Shrinker:
    """Runs candidates and remembers which of them failed."""

    def __init__(
        self,
        base: Experiment,
        wanted: Wanted,
        rooms: Path,
        say: Say,
        perform: Callable[[Experiment, Candidate, Path, Callable[[], int]], Trial] = attempt,
    ) -> None:
        self._base, self._wanted, self._rooms, self._say, self._perform = base, wanted, rooms, say, perform
        self._interrupts = Interrupts(say)
        began_s = time.monotonic()
        self._ends_s = began_s + wanted.budget_s * _SEARCH_SHARE
        self._all_ends_s = began_s + wanted.budget_s
        self._longest_s = 0.0
        self._passed: set[bytes] = set()
        self.runs = 0
        self.best: tuple[Candidate, Trial] | None = None

    def shrink(self, start: Candidate, topology: Topology) -> bool:
        """Look for the smallest; whether each part of it is needed. ``best`` has it, None if ``start`` did not fail."""
        with self._interrupts.listening():
            try:
                first = self._failing(start)
                if first is None:
                    return False
                search = reduce_run(first, topology)
                wanted = next(search)
                while True:
                    wanted = search.send(self._failing(wanted))
            except StopIteration:
                return True
            except _Over:
                return False

    def repeat(self) -> tuple[int, int]:
        """How many of how many more runs of the smallest fail."""
        assert self.best is not None
        candidate, failed, done = self.best[0], 0, 0
        self._ends_s = self._all_ends_s
        with self._interrupts.listening():
            try:
                for number in range(self._wanted.rate_of):
                    seed = candidate.seed + 1 + number if self._wanted.new_seeds else candidate.seed
                    trial = self._run(candidate.with_seed(seed % SEEDS))
                    failed, done = failed + (self._wanted.anomaly in trial.anomalies), done + 1
                    self._drop(trial)
            except _Over:
                pass
        return failed, done

    def _failing(self, candidate: Candidate) -> Candidate | None:
        """The candidate with the seed with which it failed as often as is wanted; None if it did not."""
        key = msgspec.json.encode(candidate.with_seed(0))
        if key in self._passed:
            return None
        if self.best is not None and key == msgspec.json.encode(self.best[0].with_seed(0)):
            return self.best[0]
        failed = 0
        for number in range(self._wanted.times):
            one = candidate.with_seed((candidate.seed + number) % SEEDS) if self._wanted.new_seeds else candidate
            trial = self._run(one)
            if self._wanted.anomaly in trial.anomalies:
                failed += 1
            if failed < self._wanted.least or self._wanted.anomaly not in trial.anomalies:
                self._drop(trial)
            else:
                self._take(one, trial)
                return one
            if failed + self._wanted.times - number - 1 < self._wanted.least:
                break
        self._passed.add(key)
        return None

    def _run(self, candidate: Candidate) -> Trial:
        if self._interrupts.asked.is_set() or time.monotonic() + self._longest_s > self._ends_s:
            raise _Over
        trial = self._perform(self._base, candidate, self._rooms / str(self.runs), lambda: self._interrupts.times)
        self.runs += 1
        self._longest_s = max(self._longest_s, trial.took_s)
        if trial.interrupted:
            self._drop(trial)
            raise _Over
        return trial

    def _take(self, candidate: Candidate, trial: Trial) -> None:
        if self.best is not None:
            self._drop(self.best[1])
        self.best = candidate, trial
        self._say(f"run {self.runs:<5} fails    {candidate.words}, seed {candidate.seed}")

    def _drop(self, trial: Trial) -> None:
        if trial.folder is not None:
            shutil.rmtree(trial.folder, ignore_errors=True)


def shrink(base: Experiment, start: Candidate, topology: Topology, wanted: Wanted, say: Say) -> Shrunk | None:
    """The smallest run that fails like ``start``, kept in the store; None if ``start`` did not fail again.

    Raises:
        UsageError: the store cannot be written.
    """
    store = Path(base.store)
    check_store(store)
    with tempfile.TemporaryDirectory(prefix=".shrink-", dir=store, ignore_cleanup_errors=True) as rooms:
        shrinker = Shrinker(base, wanted, Path(rooms), say)
        needed = shrinker.shrink(start, topology)
        if shrinker.best is None:
            return None
        failed, repeated = shrinker.repeat()
        candidate, trial = shrinker.best
        return Shrunk(
            candidate=candidate,
            folder=keep(trial, base, candidate),
            sentence=trial.sentence,
            failed=failed,
            repeated=repeated,
            runs=shrinker.runs,
            needed=needed,
        )
