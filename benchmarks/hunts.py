"""How long a hunt in simulation takes to find each bug of minimq: writes docs/results/hunt.md from the stored rows.

    .venv/bin/python benchmarks/hunts.py run [--bug NAME ...] [--share 1 0.1] [--guide on off] [--seeds 1-1] [--jobs 2]
    .venv/bin/python benchmarks/hunts.py render

``run`` hunts for each bug, and for its hard variant, which deviates in a tenth of its decisions, and appends a row to
docs/data/hunt.jsonl for each that has none of today's code. A hunt ends with its first find or its budget; with a find
counts what its runs took until then. ``render`` is a pure function of that file and of the code's fingerprints.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import rows
from rows import DATA, ROOT, Code, Row, age_lines, changed_sources, code_and_dates, counted_rows, stored_rows
from runs import seeds_of

from chaos.hunt.corpus import read_records
from cluster.systems.minimq.system import MiniMQ

ROWS = DATA / "hunt.jsonl"
PAGE = ROOT / "docs" / "results" / "hunt.md"
BUDGET_S = 600
SHARES = ("1", "0.1")
GUIDES = ("on", "off")
COMMAND = (
    "chaos hunt --backend sim --bug {bug} --set bugShare={share} --guide {guide} --seed {seed} --budget {budget}s"
    " --confirm 1 --measure 0 --shrink-budget 1s"
)
WORKLOADS = ("queue", "group", "idempotent", "ordered")
OF_WORKLOAD = tuple(f"{what} {one}" for one in WORKLOADS for what in ("workload", "checks of"))
SOURCES = ("minimq", "nemesis", "faults of all", *OF_WORKLOAD)


class Hunted(NamedTuple):
    """Which hunt: the bug, in which share of its decisions it deviates, guided or not, the seed."""

    bug: str
    share: str
    guide: str
    seed: int

    @property
    def name(self) -> str:
        """What tells it from all others."""
        return " ".join(map(str, self))

    @property
    def command(self) -> str:
        """As somebody would type it."""
        return COMMAND.format(**self._asdict(), budget=BUDGET_S)

    def is_of(self, row: Row) -> bool:
        """Whether a row is of this hunt."""
        return bool(row["name"] == self.name)


def hunts(bugs: Sequence[str], shares: Sequence[str], guides: Sequence[str], seeds: Sequence[int]) -> list[Hunted]:
    """All of these; each bug in turn, so that a series that is cut off has something of every one."""
    names = bugs or tuple(MiniMQ().bugs)
    return [Hunted(name, share, guide, seed) for seed, share, guide, name in product(seeds, shares, guides, names)]


def corpus_summary(corpus: Path) -> dict[str, Any]:
    """What a corpus says: how many runs there were, what was found, and what all runs took until then, s."""
    records = sorted(read_records(corpus / "runs.jsonl"), key=lambda one: one.number)
    find = next((at for at, one in enumerate(records) if one.verdict == "FAIL"), None)
    until = records if find is None else records[: find + 1]
    return {
        "runs": len(until),
        "took_s": round(sum(one.took_s for one in until), 1),
        "anomalies": list(records[find].anomalies) if find is not None else [],
        "sentence": records[find].sentence if find is not None else "",
    }


def perform_hunt(one: Hunted) -> Row:
    """Hunt, and say what came of it.

    Raises:
        SystemExit: the hunt could not be made.
    """
    origin = rows.origin(SOURCES, one.command)
    with tempfile.TemporaryDirectory(prefix="chaos-hunt-") as folder:
        argv = [sys.executable, "-m", *one.command.split(), "--store", folder]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=3 * BUDGET_S, cwd=ROOT)
        corpus = Path(folder, f"hunt-minimq-{one.bug}")
        if done.returncode not in (0, 1) or not corpus.is_dir():
            raise SystemExit(f"{one.command}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
        return {"name": one.name, **one._asdict(), **origin, **corpus_summary(corpus)}


def time_to_find(found: Sequence[Row]) -> str:
    """``12 s (3 runs)``, of several the median and how many found it; a dash for none."""
    if not found:
        return "-"
    good = [row for row in found if row["anomalies"]]
    if len(found) == 1:
        spent = f"{found[0]['took_s']:.0f} s"
        return f"{spent if good else f'**not in {spent}**'}, {found[0]['runs']} runs"
    median = f", median {statistics.median(row['took_s'] for row in good):.0f} s" if good else ""
    return f"{len(good)} of {len(found)}{median}"


def page(all_rows: Sequence[Row], now: Code | None = None) -> str:
    """docs/results/hunt.md as a pure function of the rows and of the fingerprints of today's code."""
    kept = counted_rows(all_rows)
    lines = [
        "# Bugs that a hunt finds in simulation",
        "",
        (
            "Does a hunt find a bug of which it knows nothing? Each hunt is for one bug of minimq (`chaos list bugs`); it"
            " is not told which faults or which workload would show it. In its hard variant the bug deviates in a tenth"
            " of its decisions. Times are what the runs took until the first that failed, one at a time."
        ),
        "",
        "Generated by `benchmarks/hunts.py render` from `docs/data/hunt.jsonl`; rows are added by",
        "`benchmarks/hunts.py run`, which runs",
        "",
        "```",
        COMMAND.format(bug="BUG", share="SHARE", guide="on", seed="SEED", budget=BUDGET_S),
        "```",
        "",
        *age_lines(all_rows, now),
        "",
    ]
    guided = [row for row in kept if row["guide"] == "on"]
    for share in SHARES:
        own = [row for row in guided if row["share"] == share]
        found = [row["took_s"] for row in own if row["anomalies"]]
        if own:
            name = "as it is" if share == "1" else "in its hard variant"
            lines.append(
                f"{name.capitalize()}: {len(found)} of {len(own)} hunts found it"
                + (f", median {statistics.median(found):.0f} s, longest {max(found):.0f} s." if found else ".")
            )
    lines += ["", "| bug | as it is | hard variant | first found as | made by |", "|---|---|---|---|---|"]
    for bug in sorted({row["bug"] for row in guided}):
        own = [row for row in guided if row["bug"] == bug]
        plain, hard = ([row for row in own if row["share"] == share] for share in SHARES)
        anomaly = next((row["anomalies"][0] for row in plain if row["anomalies"]), "-")
        lines.append(
            f"| {bug} | {time_to_find(plain)} | {time_to_find(hard)} | {anomaly} | {code_and_dates(own, now)} |"
        )
    lines += _guidance(kept)
    lines += rows.section(all_rows, lambda row: f"{row['name']}: {time_to_find([row])}")
    return "\n".join(lines) + "\n"


def _guidance(kept: Sequence[Row]) -> list[str]:
    """Guided hunts beside drawn ones, for what has rows of both with the same seeds."""
    lines = []
    for bug, share in sorted({(row["bug"], row["share"]) for row in kept if row["guide"] == "off"}):
        own = [row for row in kept if (row["bug"], row["share"]) == (bug, share)]
        pair = {guide: {row["seed"]: row for row in own if row["guide"] == guide} for guide in GUIDES}
        both = sorted(pair["on"].keys() & pair["off"].keys())
        if both:
            cells = " | ".join(time_to_find([pair[guide][seed] for seed in both]) for guide in GUIDES)
            lines.append(f"| {bug} | {share} | {len(both)} | {cells} |")
    head = ["", "## Guided beside drawn", "", "| bug | share | seeds | guided | drawn |", "|---|---|---|---|---|"]
    return [*head, *lines] if lines else []


def run(wanted: Sequence[Hunted], jobs: int) -> None:
    """Hunt for what has no row of today's code, so many at a time."""
    there = [row for row in counted_rows(stored_rows(ROWS)) if changed_sources(row) == []]
    left = [one for one in wanted if not any(one.is_of(row) for row in there)]
    with ThreadPoolExecutor(jobs) as pool:
        for one, row in zip(left, pool.map(perform_hunt, left), strict=True):
            rows.replace_row(ROWS, row, one.is_of)
            print(f"{one.name:40} {time_to_find([row])}", flush=True)


def main() -> None:
    """Parse and act."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["run", "render"])
    options.add_argument("--bug", action="append", default=[], metavar="NAME")
    options.add_argument("--share", nargs="+", default=list(SHARES))
    options.add_argument("--guide", nargs="+", default=["on"], choices=GUIDES)
    options.add_argument("--seeds", default="1-1", metavar="FIRST-LAST")
    options.add_argument("--jobs", type=int, default=2, help="hunts at a time [default: 2]")
    args = options.parse_args()
    if args.what == "run":
        run(hunts(args.bug, args.share, args.guide, seeds_of(args.seeds)), args.jobs)
    PAGE.write_text(page(stored_rows(ROWS)))


if __name__ == "__main__":
    main()
