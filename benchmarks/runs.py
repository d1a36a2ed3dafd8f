"""Runs of the command as rows, and series of such runs: made again where the code has changed, cut off and taken up.

A row holds what run.json and results.json said. Nothing here judges.
"""

import argparse
import fcntl
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from typing import Any, NamedTuple

from rows import Row, changed_sources, clean_commit, counted_rows, origin, replace_row, stored_rows
from sources import ROOT, deciding_sources, hashes_of_today

from nemesis.plan.sequence import SEQUENCE

DEADLINE_S = 900


class Job(NamedTuple):
    """A run that a series asks for. ``key``: the members of its row that no other counted row of the file has."""

    key: dict[str, Any]
    command: str
    system: str = "minimq"


def perform(command: str, store: Path) -> tuple[Path, int]:
    """Run ``chaos …`` to its end; returns its folder and its exit code.

    Raises:
        SystemExit: it ended before it had made a folder; what it said is printed.
    """
    current = store / "current"
    before = current.resolve() if current.exists() else None
    out = subprocess.run(
        [sys.executable, "-m", "chaos", *command.split()[1:], "--store", str(store)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    folder = current.resolve()
    if folder == before or not folder.exists():
        raise SystemExit(f"no run was made, exit {out.returncode}: {command}\n{out.stdout[-3000:]}{out.stderr[-3000:]}")
    if out.returncode not in (0, 1, 2) or not (folder / "results.json").exists():
        print(out.stdout[-3000:], out.stderr[-3000:], sep="\n", flush=True)
    return folder, out.returncode


def nemeses_of(folder: Path, info: dict[str, Any]) -> list[str]:
    """The nemeses of a run as on the command line; of a sequence those of its plan."""
    if info["nemesis"] != SEQUENCE:
        return [info["nemesis"]]
    plan = (folder / "plan.jsonl").read_text().splitlines()
    return sorted({json.loads(line)["name"] for line in plan})


def row_of(folder: Path, command: str, code: int, system: str = "minimq") -> Row:
    """One run as a row.

    Raises:
        SystemExit: the tree has changes that no commit holds.
    """
    info = json.loads((folder / "run.json").read_text())
    return {
        **origin(deciding_sources(system, info["workload"], *nemeses_of(folder, info)), command),
        "run": folder.name,
        "began": info["origin_utc"],
        "seed": info["seed"],
        "timings_s": info["timings_s"],
        **judgement(folder, code, info),
    }


def judgement(folder: Path, code: int, info: dict[str, Any]) -> Row:
    """What the verdict on a run said. ``code``: its exit code. ``info``: the run's run.json."""
    path = folder / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    return {
        "exit": code,
        "valid": results.get("valid"),
        "reason": results.get("reason", "") or info.get("error") or "",
        "sentence": results.get("sentence", ""),
        "engine": results.get("engine"),
        "counts": results.get("counts", {}),
        "checks": {check["name"]: check["valid"] for check in results.get("checks", [])},
        "anomalies": {name: found["count"] for name, found in results.get("anomalies", {}).items()},
        "allowed": [name for name, found in results.get("anomalies", {}).items() if found["allowed"]],
        "faults": [
            {
                "name": fault["name"],
                "targets": fault["targets"],
                "proven": fault["proven"],
                "healed": fault["healed"],
                "skipped": fault["skipped"],
                "lost": fault["lost"],
                "heal_ns": fault["heal_ns"],
                "rto": [rto for rto in fault["rto"] if rto["key"] == -1],
            }
            for fault in results.get("faults", [])
        ],
    }


def matches(key: dict[str, Any]) -> Callable[[Row], bool]:
    """Whether a row is of this key."""
    return lambda row: all(row.get(name) == value for name, value in key.items())


def pending_jobs(jobs: Iterable[Job], rows: Sequence[Row], *, stale: bool, again: str) -> list[Job]:
    """The jobs that have no counted row; with ``stale`` also those whose row other code made; or all ``again``."""
    kept = counted_rows(rows)

    def done(job: Job) -> bool:
        found = [row for row in kept if matches(job.key)(row)]
        return any(not stale or changed_sources(row) == [] for row in found)

    return [job for job in jobs if again or not done(job)]


Told = Callable[[Path, Row], Row]
Perform = Callable[[Job, Path], tuple[Path, int]]


def run_command(job: Job, store: Path) -> tuple[Path, int]:
    """The run of a job whose command needs nothing around it."""
    return perform(job.command, store)


def run_series(
    path: Path, jobs: Iterable[Job], args: argparse.Namespace, more: Told | None = None, act: Perform = run_command
) -> None:
    """Run what is to be run, ``args.jobs`` clusters at a time; each row is kept as soon as its run has ended.

    ``more`` adds to a row what the page needs beside it. A row takes the place of the counted one of its key.

    Raises:
        SystemExit: the tree has changes, at the beginning or when a run has ended; another series runs in this store.
    """
    with keep_others_out(args.store):
        _run_series(path, jobs, args, more, act)


@contextmanager
def keep_others_out(store: Path) -> Iterator[None]:
    """Keep other series out of a store: each takes the newest run of a folder there for its own.

    Raises:
        SystemExit: another one is there.
    """
    store.mkdir(parents=True, exist_ok=True)
    with (store / "series.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"{store}: another series runs there; give this one a --store of its own") from None
        yield


def _run_series(path: Path, jobs: Iterable[Job], args: argparse.Namespace, more: Told | None, act: Perform) -> None:
    commit, _ = clean_commit(), hashes_of_today()
    wanted = pending_jobs(jobs, stored_rows(path), stale=args.stale, again=args.again)
    todo = wanted[: args.most]
    print(f"{len(todo)} runs now, {len(wanted) - len(todo)} later", flush=True)
    stores: SimpleQueue[Path] = SimpleQueue()
    for number in range(args.jobs):
        stores.put(args.store / f"series-{number}")
    keeping = threading.Lock()

    def one(job: Job) -> None:
        store = stores.get()
        try:
            began = time.monotonic()
            folder, code = act(job, store)
            took_s = round(time.monotonic() - began, 1)
            row = {**job.key, "took_s": took_s, **row_of(folder, job.command, code, job.system)}
            if row["commit"] != commit:
                raise SystemExit(f"{row['run']} began at {commit}, and this is {row['commit']} now; no row is kept")
            row |= more(folder, row) if more is not None else {}
            with keeping:
                replace_row(path, row, matches(job.key), args.again)
            said = row["sentence"] or row["reason"]
            print(f"{' '.join(map(str, job.key.values())):<34} exit {code}  {row['took_s']:4.0f} s  {said}", flush=True)
        finally:
            stores.put(store)

    with ThreadPoolExecutor(args.jobs) as pool:
        runs = [pool.submit(one, job) for job in todo]
        for run in runs:
            try:
                run.result()
            except BaseException:
                for later in runs:
                    later.cancel()
                raise


def seeds_of(text: str) -> list[int]:
    """The seeds of ``FIRST-LAST``."""
    first, last = map(int, text.split("-"))
    return list(range(first, last + 1))


def seconds(rto: dict[str, Any]) -> float | None:
    """An RTO as a number: None for no outage, infinity for one that did not end."""
    if rto["seconds"] is None:
        return None
    return float(rto["seconds"]) if rto["recovered"] else float("inf")


def outage_cells(faults: list[dict[str, Any]], words: Collection[str] = ("send",)) -> tuple[int, str, str]:
    """How many faults stopped none of these words, and the median and the longest outage of the others as shown."""
    found = [seconds(rto) for fault in faults for rto in fault["rto"] if rto["f"] in words]
    outages = [rto for rto in found if rto is not None]
    if not outages:
        return len(found), "-", "-"
    return len(found) - len(outages), f"{median(outages):.1f} s", f"{max(outages):.1f} s"


def parser(description: str | None, seeds: str, *, judges: bool = False) -> argparse.ArgumentParser:
    """What every series of runs is told: run or render, which seeds, what again, where run folders go.

    ``judges``: it can also judge its runs again.
    """
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("what", choices=["run", *(["judge"] if judges else []), "render"])
    made.add_argument("--seeds", default=seeds, type=seeds_of, metavar="FIRST-LAST", help=f"[default: {seeds}]")
    made.add_argument("--stale", action="store_true", help="also run what other code than today's made")
    made.add_argument("--again", default="", metavar="WHY", help="run all of it again, for this reason")
    made.add_argument(
        "--most", type=int, metavar="N", help="make N runs and leave the others to the same command later"
    )
    made.add_argument("--jobs", type=int, default=1, help="clusters at a time [default: 1]")
    made.add_argument("--store", type=Path, default=ROOT / "store")
    return made
