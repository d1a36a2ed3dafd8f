"""The same run again and again, each with the next seed: for backends that have the whole run in this process.

What passes is removed; what does not is kept with its reports, and its command is printed. With several jobs each has a
process of its own, and which seed it gets makes no difference to what becomes of it. The module does not judge.
"""

import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from chaos.basics.rand import SEEDS
from chaos.core.clock import speed
from chaos.core.errors import UsageError
from chaos.core.verdict import INTERRUPTED, UNKNOWN, Valid
from chaos.options.experiment import Experiment
from chaos.run.interrupts import Interrupts
from chaos.run.store import point
from chaos.run.watching import Quiet
from cluster.host import RunsHere

"""Seeds are below this number; the one after the last is 0."""
TELL_EVERY_S: Final = 10.0
VERDICTS: Final[Mapping[Valid, str]] = {True: "PASS", False: "FAIL", UNKNOWN: "UNKNOWN"}

Say = Callable[[str], None]


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    ``verdict``: PASS, FAIL, UNKNOWN or ``broke``. ``folder``: where it is kept, empty if it passed. ``broken``: what
    did not hold of the system, as its invariants say, whatever the verdict.
    """

    seed: int
    verdict: str
    sentence: str
    code: int
    folder: str
    simulated_s: float
    broken: tuple[str, ...] = ()


class Count(msgspec.Struct):
    """All runs so far. ``broken``: in how many an invariant did not hold; ``worst``: their exit code."""

    runs: int = 0
    simulated_s: float = 0.0
    by_verdict: dict[str, int] = msgspec.field(default_factory=lambda: {"PASS": 0, "FAIL": 0, "UNKNOWN": 0})
    broken: int = 0
    worst: int = 0
    interrupted: bool = False

    def add(self, ended: Ended) -> None:
        """One more."""
        self.runs += 1
        self.simulated_s += ended.simulated_s
        self.broken += bool(ended.broken)
        self.by_verdict[ended.verdict] = self.by_verdict.get(ended.verdict, 0) + 1
        self.interrupted = self.interrupted or ended.code == INTERRUPTED
        if self.worst != 1:  # an anomaly beats all else
            self.worst = ended.code or self.worst

    def line(self, took_s: float) -> str:
        """How it stands."""
        counts = ", ".join(f"{number} {verdict}" for verdict, number in self.by_verdict.items())
        times = f"{self.simulated_s:,.0f} s simulated in {took_s:,.0f} s, {speed(self.simulated_s, took_s)}"
        broken = f"; {self.broken} broke an invariant" if self.broken else ""
        return f"{self.runs:,} runs: {counts}{broken}; {times}"


def check_repeatable(experiment: Experiment, backend: Any) -> None:
    """Refuse what cannot be repeated in this way.

    Raises:
        UsageError: the backend has hosts.
    """
    if not isinstance(backend, RunsHere):
        raise UsageError(f"--repeat: only with --backend sim; chaos matrix repeats runs on {experiment.backend}")


def argv_of_one(argv: Sequence[str]) -> tuple[str, ...]:
    """Pure: the command line of one of the runs that this one asks for."""
    kept: list[str] = []
    words = iter(argv)
    for word in words:
        if word in ("--repeat", "--jobs"):
            next(words, None)
        elif word != "--until-failure" and not word.startswith(("--repeat=", "--jobs=")):
            kept.append(word)
    return tuple(kept)


def run_once(experiment: Experiment, argv: Sequence[str], room: str) -> Ended:
    """One run of its seed, in a folder ``room`` of its own; what did not pass moves into the store."""
    from chaos.backend_choice import choose_backend
    from chaos.run.phases_of_a_run import run
    from reports.reporter import write

    backend, _ = choose_backend(experiment.backend, experiment.backend_options)
    bare = msgspec.structs.replace(experiment, store=room, reports=())
    folder, results, code = run(bare, backend, tuple(argv), Quiet())
    kept = ""
    if code != 0:
        target = Path(experiment.store) / folder.parent.name / folder.name
        target.parent.mkdir(parents=True, exist_ok=True)
        kept = str(shutil.move(folder, target))
        if results is not None:
            write(target, experiment.reports)
    shutil.rmtree(room, ignore_errors=True)
    return Ended(
        seed=experiment.seed,
        verdict="broke" if results is None else VERDICTS[results.answer],
        sentence="it broke before it could be judged" if results is None else results.sentence,
        code=code,
        folder=kept,
        simulated_s=backend.simulated_s,
        broken=tuple(backend.broken),
    )


def lines_of(ended: Ended, argv: Sequence[str]) -> list[str]:
    """What is said of one run: nothing if it passed and no invariant was broken."""
    from reports import words

    if ended.code == INTERRUPTED or (ended.verdict == "PASS" and not ended.broken):
        return []
    lines = [f"{ended.verdict:<7} seed {ended.seed}: {ended.sentence}"]
    if ended.broken:
        lines.append(f"        invariant broken: {ended.broken[0]}")
    return [*lines, f"        {words.run_again(argv, ended.seed)}"]


def repeat(experiment: Experiment, argv: Sequence[str], times: int, jobs: int, say: Say, *, until_failure: bool) -> int:
    """Make ``times`` runs; returns the exit code, which is that of the worst.

    Args:
        experiment: the first of them; the others have the seeds that follow.
        argv: the command line of one of them, without its seed.
        times: how many.
        jobs: how many at the same time.
        say: gets lines for each run that did not pass or broke an invariant, one now and then, and one at the end.
        until_failure: begin nothing more once one has failed.
    """
    began_s = told_s = time.monotonic()
    count = Count()
    Path(experiment.store).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".repeat-", dir=experiment.store) as rooms:
        for ended in _all(experiment, argv, times, jobs, Path(rooms), say):
            count.add(ended)
            for line in lines_of(ended, argv):
                say(line)
            if ended.folder and ended.code != INTERRUPTED:
                point(Path(experiment.store) / "latest", Path(ended.folder))
            if count.interrupted or (until_failure and ended.verdict == "FAIL"):
                break
            if time.monotonic() - told_s > TELL_EVERY_S:
                told_s = time.monotonic()
                say(count.line(told_s - began_s))
    say(count.line(time.monotonic() - began_s))
    return count.worst


def _all(experiment: Experiment, argv: Sequence[str], times: int, jobs: int, rooms: Path, say: Say) -> Iterator[Ended]:
    """The runs as they end; a reader that stops reading stops them."""

    def asked(number: int) -> tuple[Experiment, Sequence[str], str]:
        seed = (experiment.seed + number) % SEEDS
        return msgspec.structs.replace(experiment, seed=seed), argv, str(rooms / str(number))

    if jobs == 1:
        yield from (run_once(*asked(number)) for number in range(times))
        return
    interrupts = Interrupts(say)
    with interrupts.listening(), _pool(jobs) as pool:
        going: set[Future[Ended]] = set()
        number = 0
        while (number < times and not interrupts.asked.is_set()) or going:
            while number < times and len(going) < jobs and not interrupts.asked.is_set():
                going.add(pool.submit(run_once, *asked(number)))
                number += 1
            done, going = wait(going, return_when=FIRST_COMPLETED)
            yield from sorted((each.result() for each in done), key=lambda ended: ended.seed)


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that begin as this one did."""
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
