"""The kept plans of a corpus as a regression suite: each is run once."""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from chaos.core.errors import UsageError
from chaos.hunt.candidate import Candidate
from chaos.hunt.corpus import kept_in, read_kept
from chaos.hunt.hunt import perform_in_worker
from chaos.hunt.trial import Trial, check_store, keep
from chaos.options.experiment import Experiment


def replay(
    folder: Path,
    store: Path,
    pairs: tuple[str, ...],
    budget_s: float,
    say: Callable[[str], None],
    perform: Callable[[Experiment, Candidate, Path], Trial] = perform_in_worker,
) -> int:
    """Run the plans that a corpus keeps.

    Args:
        folder: of the corpus.
        store: where the folders of runs that fail go.
        pairs: settings, ``key=value``, that win over those of a plan's file.
        budget_s: begin no run that would probably end later.
        say: gets a line for each plan.
        perform: makes one run.

    Returns:
        1 if one failed, else 2 if one could not be judged or there was no time for it, else 0.

    Raises:
        UsageError: it keeps no plan, or a file in it is none.
    """
    kept = kept_in(folder)
    if not kept:
        raise UsageError(f"--replay {folder}: it keeps no plan; name the folder of a hunt that found something")
    check_store(store)
    ends_s, longest_s, verdicts = time.monotonic() + budget_s, 0.0, list[str]()
    with tempfile.TemporaryDirectory(prefix=".replay-", dir=store, ignore_cleanup_errors=True) as rooms:
        for place in kept:
            if time.monotonic() + longest_s > ends_s:
                break
            experiment, candidate = read_kept(place, store=str(store), pairs=pairs)
            trial = perform(experiment, candidate, Path(rooms) / place.name)
            longest_s = max(longest_s, trial.took_s)
            if trial.interrupted:
                break
            verdicts.append(trial.verdict)
            say(f"{trial.verdict:<8} {place.name}: {trial.sentence}")
            if trial.verdict == "FAIL" and trial.folder is not None:
                say(f"page     {keep(trial, experiment, candidate) / 'report.html'}")
            elif trial.folder is not None:
                shutil.rmtree(trial.folder, ignore_errors=True)
    left = len(kept) - len(verdicts)
    say(f"{len(kept)} plans: {verdicts.count('FAIL')} fail{f', {left} not run' if left else ''}")
    return 1 if "FAIL" in verdicts else 2 if left or set(verdicts) - {"PASS"} else 0
