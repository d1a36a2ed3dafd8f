"""How soon simulated runs find each bug of minimq: writes docs/results/simulated-bugs.md from the stored rows.

    .venv/bin/python benchmarks/simulated_bugs.py run [--bug NAME ...] [--stale] [--store DIR]
    .venv/bin/python benchmarks/simulated_bugs.py render

``run`` makes runs with seeds from 1 on until one fails, under the nemesis that the bug declares and under ``all``, and
appends a row for each of the two to docs/data/simulated-bugs.jsonl. One process makes them, one after the other. Times
are those of its processor, start of the program included, so that other work of the machine changes them little.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from rows import DATA, Code, Row, age_lines, code_and_dates, counted_rows, origin, replace_row, section, stored_rows
from runs import Job, keep_others_out, matches, parser, pending_jobs
from sources import ROOT, deciding_sources

from cluster.systems.minimq.system import MiniMQ

ROWS: Final = DATA / "simulated-bugs.jsonl"
PAGE: Final = ROOT / "docs" / "results" / "simulated-bugs.md"
SEEDS: Final = 30
"""So many are tried at most."""
OWN: Final = "its own"
COMMAND: Final = "chaos run --backend sim --bug {bug}{nemesis} --rate 50 --seed 1 --repeat {seeds} --until-failure"
_RUNS: Final = re.compile(r"^([\d,]+) runs: .*; ([\d,]+) s simulated", re.MULTILINE)
_FAILED: Final = re.compile(r"^FAIL +seed (\d+): (.*)$", re.MULTILINE)


def jobs_of(names: Sequence[str]) -> list[Job]:
    """Two for each of these bugs, or of all."""
    return [
        Job({"bug": name, "under": under}, COMMAND.format(bug=name, nemesis=nemesis, seeds=SEEDS))
        for under, nemesis in ((OWN, ""), ("all", " --nemesis all"))
        for name in names or list(MiniMQ().bugs)
    ]


def try_bug(job: Job, store: Path) -> Row:
    """Run until a find, and say what came of it. ``refused``: why no run could be made, if none could."""
    bug = MiniMQ().bugs[job.key["bug"]]
    nemesis = bug.nemesis if job.key["under"] == OWN else "all"
    row = origin(("simulation", *deciding_sources("minimq", bug.workload, nemesis)), job.command)
    with tempfile.TemporaryDirectory(dir=store) as folder:
        said, cpu_s = _output([*job.command.split()[1:], "--store", folder])
        runs, failed = _RUNS.findall(said), _FAILED.search(said)
        seen = list(_anomalies(Path(folder))) if failed else []
    counts = [int(number.replace(",", "")) for number in runs[-1]] if runs else [0, 0]
    return {
        "name": f"{bug.name}, under {job.key['under']}",
        **job.key,
        **row,
        "workload": bug.workload,
        "nemesis": nemesis,
        "anomaly": bug.anomaly,
        "runs": counts[0],
        "simulated_s": counts[1],
        "cpu_s": round(cpu_s, 1),
        "found": failed is not None,
        "anomalies": seen,
        "sentence": failed[2] if failed else "",
        "refused": "" if runs else said.strip().splitlines()[-1],
    }


def _output(argv: Sequence[str]) -> tuple[str, float]:
    """What ``chaos`` says, and how long the processor worked for it, s."""
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen([sys.executable, "-m", "chaos", *argv], cwd=ROOT, stdout=out, stderr=out)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return out.read(), used.ru_utime + used.ru_stime


def _anomalies(store: Path) -> Iterator[str]:
    """The errors that runs in a store showed."""
    for path in store.glob("minimq-*/*/results.json"):
        results: dict[str, Any] = json.loads(path.read_text())
        if results["valid"] is False:
            yield from (name for name, found in results["anomalies"].items() if not found["allowed"])


def run(wanted: Sequence[Job], store: Path, *, stale: bool, again: str) -> None:
    """Keep a row of each job that has none."""
    with keep_others_out(store):
        for job in pending_jobs(wanted, stored_rows(ROWS), stale=stale, again=again):
            row = try_bug(job, store)
            replace_row(ROWS, row, matches(job.key), again)
            print(f"{row['bug']:28} {row['under']:8} {find_text(row)}", flush=True)


def find_text(row: Row | None) -> str:
    """``4 s, seed 1``: what the runs took until the find, of which seed it was; what it showed, if not what was declared."""
    if row is None:
        return "-"
    if row["refused"] or not row["runs"]:
        return "no such fault here"
    if not row["found"]:
        return f"**not in {row['runs']} runs**, {row['cpu_s']:.0f} s"
    other = "" if row["anomaly"] in row["anomalies"] else f", as {', '.join(row['anomalies'])}"
    return f"{row['cpu_s']:.0f} s, seed {row['runs']}{other}"


def page(all_rows: Sequence[Row], now: Code | None = None) -> str:
    """docs/results/simulated-bugs.md as a pure function of the rows and of the fingerprints of today's code."""
    kept = counted_rows(all_rows)
    lines = [
        "# Bugs of minimq that simulated runs find",
        "",
        (
            "How soon does `--backend sim` find a bug? Each is a switch (`chaos list bugs`). Seeds are tried from 1 on, at"
            f" most {SEEDS}, until a run fails: under the nemesis that the bug declares, and under a mix of all faults that"
            " knows nothing of it. A cell says how long the processor worked until then, and which seed found it; also"
            " what the run showed where that is not the anomaly that the bug declares."
        ),
        "",
        "Generated by `benchmarks/simulated_bugs.py render` from `docs/data/simulated-bugs.jsonl`; rows are added by",
        "`benchmarks/simulated_bugs.py run`, which runs",
        "",
        "```",
        COMMAND.format(bug="BUG", nemesis="", seeds=SEEDS),
        COMMAND.format(bug="BUG", nemesis=" --nemesis all", seeds=SEEDS),
        "```",
        "",
        *age_lines(all_rows, now),
        *(_count(kept, under) for under in (OWN, "all")),
        "",
        "| bug | workload | nemesis | anomaly | under its nemesis | under all | made by |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in sorted({row["bug"] for row in kept}):
        mine = {row["under"]: row for row in kept if row["bug"] == name}
        bug = MiniMQ().bugs[name]
        cells = (
            f"{find_text(mine.get(OWN))} | {find_text(mine.get('all'))} | {code_and_dates(list(mine.values()), now)}"
        )
        lines.append(f"| {name} | {bug.workload} | {bug.nemesis} | {bug.anomaly} | {cells} |")
    lines += section(all_rows, lambda row: f"{row['bug']}, {row['under']}: {find_text(row)}")
    return "\n".join(lines) + "\n"


def _count(kept: Sequence[Row], under: str) -> str:
    own = [row for row in kept if row["under"] == under]
    possible = [row for row in own if not row["refused"]]
    found = sum(row["found"] for row in possible)
    words = "their own nemeses" if under == OWN else "all"
    return f"- Under {words}: {found} of {len(possible)} found; {len(own) - len(possible)} need other faults."


def main() -> None:
    """Parse and act."""
    options = parser(__doc__, "1-1")
    options.add_argument("--bug", action="append", default=[])
    args = options.parse_args()
    if args.what == "run":
        run(jobs_of(args.bug), args.store, stale=args.stale, again=args.again)
    PAGE.write_text(page(stored_rows(ROWS)))


if __name__ == "__main__":
    main()
