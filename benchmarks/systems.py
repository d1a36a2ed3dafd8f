"""Every system by what it is tried with and by fault: runs them and writes docs/results/systems.md.

    .venv/bin/python benchmarks/systems.py run [--system NAME ...] [--main] [--seeds 1-5] [--store DIR]
    .venv/bin/python benchmarks/systems.py render

A system's package says what it is tried with (``trials``), so a new system needs no line here. ``run`` appends a row a run
to docs/data/systems.jsonl and leaves out what is there already under the same system, trial, fault and seed, so it can be
cut off and resumed. ``render`` is a pure function of that file. Rows hold what results.json said.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import rows as kept_rows
from rows import DATA, ROOT, Code, Row, age_lines, code_and_dates, counted_rows, stored_rows
from runs import Job, outage_cells, parser, run_series

from chaos.core.model import numbers_where
from chaos.models.registry import model_named
from chaos.plugins import load, names
from cluster.trial import Trial, trials_of

ROWS = DATA / "systems.jsonl"
PAGE = ROOT / "docs" / "results" / "systems.md"
NEMESES = ("leader-kill", "random-partition", "major-suspend", "random-loss")
VERDICTS = {0: "PASS", 1: "FAIL", 2: "UNKNOWN"}
"""By exit code; another one says that the run broke off."""


class Cell(NamedTuple):
    """A line of the page."""

    system: str
    trial: Trial
    nemesis: str

    @property
    def key(self) -> dict[str, str]:
        """The members that the rows of this line have in common."""
        return {"system": self.system, "trial": self.trial.name, "nemesis": self.nemesis}


def cells(*, only_main: bool = False) -> list[Cell]:
    """Every system of chaos with each of its trials under each fault."""
    return [
        Cell(system, trial, nemesis)
        for system in names("systems")
        for trial in trials_of(load("systems", system)())
        if trial.main or not only_main
        for nemesis in NEMESES
    ]


def command_of(cell: Cell, seed: int) -> str:
    """The command of one run."""
    more = "".join(f" --set {key}={value}" for key, value in cell.trial.settings.items())
    return (
        f"chaos run --system {cell.system} --workload {cell.trial.workload} --nemesis {cell.nemesis}"
        f"{more} --time-limit 60 --seed {seed}"
    )


def jobs_of(asked: Iterable[Cell], seeds: Sequence[int]) -> list[Job]:
    """The runs of some lines, seed by seed."""
    asked = list(asked)
    return [Job({**cell.key, "seed": seed}, command_of(cell, seed), cell.system) for seed in seeds for cell in asked]


def changing(workload: str) -> Collection[str]:
    """The words of a workload that change its objects."""
    model = model_named(load("workloads", workload).model)
    numbers = numbers_where(model, lambda function: function.mutates)
    return [word.word for word in model.words if int(word) in numbers]


def line(cell: Cell, rows: Sequence[Row], now: Code | None) -> str:
    """A line of the table, of its rows."""
    mine = sorted(rows, key=lambda row: int(row["seed"]))
    faults = [fault for row in mine for fault in row["faults"] if not fault["skipped"]]
    proven = sum(fault["proven"] and fault["healed"] for fault in faults)
    words = changing(cell.trial.workload)
    _, middle, worst = outage_cells(faults, words)
    passed = sum(row["exit"] == 0 for row in mine)
    others = "".join(f", seed {row['seed']} {VERDICTS.get(row['exit'], 'broke off')}" for row in mine if row["exit"])
    changes = sum(row["counts"].get(f"{word} ok", 0) for row in mine for word in words)
    settings = ", ".join(f"{key}={value}" for key, value in cell.trial.settings.items())
    return (
        f"| {cell.trial.name} | {settings or '-'} | {cell.nemesis} | {passed} of {len(mine)} PASS{others} |"
        f" {proven} of {len(faults)} | {changes:,} | {middle} | {worst} | {code_and_dates(mine, now)} |"
    )


def table(system: str, every: Sequence[Cell], rows: Sequence[Row], now: Code | None) -> list[str]:
    """The part of the page on one system; nothing if it has no rows."""
    mine = [cell for cell in every if cell.system == system]
    of = {id(cell): [row for row in rows if cell.key.items() <= row.items()] for cell in mine}
    lines = [line(cell, of[id(cell)], now) for cell in mine if of[id(cell)]]
    if not lines:
        return []
    runs = sum(map(len, of.values()))
    return [
        f"## {system}",
        "",
        f"{load('systems', system).__doc__.splitlines()[0]} How it is used: [{system}.md](../systems/{system}.md).",
        f"Runs: {runs}; {len(mine) - len(lines)} of {len(mine)} lines have none yet.",
        "",
        (
            "| trial | settings | nemesis | verdicts | faults proven and healed | changes acknowledged | RTO median |"
            " RTO worst | made by |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
        *lines,
        "",
    ]


def page(all_rows: Sequence[Row], now: Code | None = None) -> str:
    """docs/results/systems.md as a pure function of the rows and of the fingerprints of today's code."""
    rows, every = counted_rows(all_rows), cells()
    tables = {system: table(system, every, rows, now) for system in dict.fromkeys(cell.system for cell in every)}
    missing = [system for system, lines in tables.items() if not lines]
    told = [row for row in rows if row["exit"] != 0]
    lines = [
        "# Systems by fault: verdicts and recovery",
        "",
        "What does each system come to under each fault with settings that promise that nothing is lost, and how long",
        "does it take to recover? RTO ([semantics.md](../semantics.md), rule 18) is the longest outage of acknowledged",
        "changes over all keys that overlaps the fault. All nodes and the load share one machine with two cores.",
        "What gives safety up, and is found, is in [findings.md](findings.md).",
        "",
        "Generated by `benchmarks/systems.py render` from `docs/data/systems.jsonl`; rows are added by",
        "`benchmarks/systems.py run`. It runs each line of the tables with each seed, such as",
        "",
        "```",
        command_of(next(cell for cell in every if cell.trial.settings), 1),
        "```",
        "",
        *age_lines(all_rows, now),
        *(line for lines in tables.values() for line in lines),
        *([f"No rows yet: {', '.join(missing)}.", ""] if missing else []),
        "## Runs that did not pass",
        "",
        *(
            f"- {row['system']}, {row['trial']}, {row['nemesis']}, seed {row['seed']},"
            f" {VERDICTS.get(row['exit'], 'broke off')}: {row['sentence'] or row['reason']}"
            for row in told
        ),
        *(["None."] if not told else []),
        *kept_rows.section(
            all_rows,
            lambda row: f"{row['system']}, {row['trial']}, {row['nemesis']}, seed {row['seed']}, exit {row['exit']}",
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse and act."""
    options = parser(__doc__, "1-5")
    options.add_argument("--system", action="append", choices=names("systems"), metavar="NAME", help="this one alone")
    options.add_argument("--main", action="store_true", help="the trials alone that a system is used for most")
    args = options.parse_args()
    if args.what == "run":
        asked = [cell for cell in cells(only_main=args.main) if not args.system or cell.system in args.system]
        run_series(ROWS, jobs_of(asked, args.seeds), args)
    PAGE.write_text(page(stored_rows(ROWS)))


if __name__ == "__main__":
    main()
