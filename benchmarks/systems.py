"""Systems by workload and fault, and what their unsafe settings lose: runs them and writes docs/results/SYSTEM.md.

    .venv/bin/python benchmarks/systems.py run [--system NAME ...] [--only NAME ...] [--seeds 1-5] [--store DIR]
    .venv/bin/python benchmarks/systems.py render

NAME of ``--only`` is that of a row of the page, such as ``register leader-kill netns``. ``run`` appends one row a run to
docs/data/SYSTEM.jsonl and leaves out what is there already under the same name and seed, so it can be cut off and
resumed. ``render`` is a pure function of these files. Rows hold what results.json said.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import rows as kept_rows
from rows import DATA, ROOT, Code, Row, age_lines, code_and_dates, counted_rows, stored_rows
from runs import Job, outage_cells, parser, run_series

from chaos.core.model import numbers_where
from chaos.models.registry import model_named
from chaos.plugins import load


class Cell(NamedTuple):
    """A line of a page. ``wrong``: every run must come out invalid, since the settings give safety up."""

    workload: str
    nemesis: str
    backend: str = "netns"
    settings: str = ""
    wrong: bool = False

    @property
    def name(self) -> str:
        """What the line is called, in rows too."""
        return " ".join(filter(None, (self.workload, self.nemesis, self.backend, self.settings)))


class Page(NamedTuple):
    """A system's series. ``about``: its configuration, a sentence."""

    about: str
    cells: tuple[Cell, ...]


FAULTS = ("leader-kill", "random-partition", "major-suspend", "random-loss", "random-delay")
ETCD = Page(
    about="etcd 3.4 of Debian 12, three members, its own defaults; clients keep to every member or follow the leader.",
    cells=(
        *(Cell(workload, nemesis) for workload in ("register", "set", "counter") for nemesis in FAULTS),
        *(Cell(workload, nemesis, "docker") for workload in ("register", "set", "counter") for nemesis in FAULTS),
        *(
            Cell("register", "random-partition", settings=f"client.serializable={old}", wrong=old == "true")
            for old in ("true", "false")
        ),
    ),
)
_CONFIRMED = "client.wait=2"
REDIS = Page(
    about="Redis 7.0 of Debian 12; a master, two replicas and three sentinels unless a line says otherwise.",
    cells=(
        *(
            Cell(workload, nemesis, settings=_CONFIRMED)
            for workload in ("register", "set", "counter")
            for nemesis in ("leader-kill", "random-partition", "major-suspend", "random-loss")
        ),
        Cell("set", "leader-kill", wrong=True),
        Cell("set", "leader-partition", wrong=True),
        Cell("set", "leader-kill", settings="cluster.mode=cluster", wrong=True),
        Cell("set", "leader-kill", settings="cluster.mode=cluster client.wait=1"),
        Cell("set", "all-kill", settings="cluster.mode=single"),
        Cell("set", "all-kill", settings="cluster.mode=single appendonly=no", wrong=True),
        Cell("set", "leader-kill", "docker", settings=_CONFIRMED),
    ),
)
_OLD = "client.sync=false"
ZOOKEEPER = Page(
    about="ZooKeeper 3.9, three voters unless a line says otherwise; clients sync before each read unless a line says not.",
    cells=(
        *(Cell(workload, nemesis) for workload in ("register", "set", "counter") for nemesis in FAULTS),
        Cell("register", "leader-partition"),
        Cell("register", "leader-partition", settings=_OLD, wrong=True),
        Cell("register", "random-kill", settings="cluster.voters=5 cluster.observers=2"),
        Cell("set", "random-partition", settings="cluster.observers=2"),
        Cell("set", "leader-kill", "docker"),
    ),
)
_CONFIRMED_READS = "client.confirmReads=true"
NATS = Page(
    about="NATS 2.9 of Debian 12; three servers and three buckets with three replicas each unless a line says otherwise.",
    cells=(
        *(Cell("register", nemesis) for nemesis in FAULTS[:-1]),
        *(
            Cell(workload, nemesis, settings=_CONFIRMED_READS)
            for workload in ("set", "counter")
            for nemesis in FAULTS[:-1]
        ),
        *(Cell("register", nemesis, settings="cluster.replicas=1") for nemesis in FAULTS[:-1]),
        Cell("set", "leader-partition", wrong=True),
        Cell("register", "noop", settings="client.directGet=true", wrong=True),
        Cell("set", "leader-kill", "docker", settings=_CONFIRMED_READS),
    ),
)
PAGES = {"etcd": ETCD, "redis": REDIS, "nats": NATS, "zookeeper": ZOOKEEPER}
FIRST_SEED_ONLY = "docker"
"""A line on this backend has one run: it shows that the system comes up and is disturbed there too."""


def command_of(system: str, cell: Cell, seed: int) -> str:
    """The command of one run."""
    more = "".join(f" --set {one}" for one in cell.settings.split())
    return (
        f"chaos run --system {system} --workload {cell.workload} --nemesis {cell.nemesis} --backend {cell.backend}"
        f"{more} --time-limit 60 --seed {seed}"
    )


def jobs_of(system: str, only: Collection[str], seeds: Sequence[int]) -> list[Job]:
    """The runs of a system, seed by seed."""
    return [
        Job({"name": cell.name, "seed": seed}, command_of(system, cell, seed), system)
        for seed in seeds
        for cell in PAGES[system].cells
        if (not only or cell.name in only) and (seed == seeds[0] or cell.backend != FIRST_SEED_ONLY)
    ]


def changing(workload: str) -> tuple[str, ...]:
    """The words of a workload that change its objects."""
    model = model_named(load("workloads", workload).model)
    numbers = numbers_where(model, lambda function: function.mutates)
    return tuple(word.word for word in model.words if int(word) in numbers)


def line(cell: Cell, rows: Sequence[Row], now: Code | None) -> str:
    """A line of the table, of the rows of one cell."""
    mine = sorted((row for row in rows if row["name"] == cell.name), key=lambda row: row["seed"])
    faults = [fault for row in mine for fault in row["faults"] if not fault["skipped"]]
    proven = sum(fault["proven"] and fault["healed"] for fault in faults)
    words = changing(cell.workload)
    _, middle, worst = outage_cells(faults, words)
    codes = " ".join(f"{row['seed']}:{row['exit']}" for row in mine)
    changes = sum(row["counts"].get(f"{word} ok", 0) for row in mine for word in words)
    where = f"{cell.backend}, {cell.settings}" if cell.settings else cell.backend
    return (
        f"| {cell.workload} | {cell.nemesis} | {where} | {codes} | {proven} of {len(faults)} | {changes} | {middle} |"
        f" {worst} | {code_and_dates(mine, now)} |"
    )


def table(cells: Sequence[Cell], rows: Sequence[Row], now: Code | None) -> list[str]:
    """The lines of the cells that have rows."""
    kept = {row["name"] for row in rows}
    return [
        (
            "| workload | nemesis | on | exit codes by seed | faults proven and healed | changes acknowledged |"
            " RTO median | RTO worst | made by |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
        *(line(cell, rows, now) for cell in cells if cell.name in kept),
    ]


def page(system: str, all_rows: Sequence[Row], now: Code | None = None) -> str:
    """docs/results/SYSTEM.md as a pure function of the rows and of the fingerprints of today's code."""
    rows, it = counted_rows(all_rows), PAGES[system]
    safe, unsafe = [one for one in it.cells if not one.wrong], [one for one in it.cells if one.wrong]
    lines = [
        f"# {system}: verdicts and recovery by fault",
        "",
        f"What does each workload come to under each fault, and how long does it take to recover? {it.about}",
        "RTO ([semantics.md](../semantics.md), rule 18) is the longest outage of acknowledged changes over all keys that",
        "overlaps the fault. All nodes and the load share one machine with two cores.",
        f"[{system}.md](../systems/{system}.md) says how the system is used.",
        "",
        f"Generated by `benchmarks/systems.py render` from `docs/data/{system}.jsonl`; rows are added by",
        "",
        "```",
        f".venv/bin/python benchmarks/systems.py run --system {system}",
        "```",
        "",
        "which runs, for each line of the tables and each seed,",
        "",
        "```",
        command_of(system, Cell("WORKLOAD", "NEMESIS", "BACKEND"), 0).replace("seed 0", "seed SEED"),
        "```",
        "",
        *age_lines(all_rows, now),
        "## Safe settings",
        "",
        "Exit code 0 is a PASS, 1 a FAIL, 2 means that the run decides nothing.",
        "",
        *table(safe, rows, now),
        "",
        "## Settings that give safety up",
        "",
        "Each run must be a FAIL; the line with the other value of the setting is among those above.",
        "",
        *table(unsafe, rows, now),
        "",
        "## Runs that say why",
        "",
    ]
    told = [row for row in rows if row["exit"] != 0]
    lines += [
        f"- {row['name']}, seed {row['seed']}, exit {row['exit']}: {row['sentence'] or row['reason']}" for row in told
    ]
    lines += ["None."] if not told else []
    lines += kept_rows.section(all_rows, lambda row: f"{row['name']}, seed {row['seed']}, exit {row['exit']}")
    return "\n".join(lines) + "\n"


def rows_of(system: str) -> Path:
    """Where the rows of a system are."""
    return DATA / f"{system}.jsonl"


def measured_systems() -> list[str]:
    """The systems that have rows, and so a page."""
    return [system for system in PAGES if rows_of(system).exists()]


def main() -> None:
    """Parse and act."""
    options = parser(__doc__, "1-5")
    options.add_argument("--system", action="append", choices=list(PAGES), metavar="NAME")
    options.add_argument("--only", action="append", default=[], metavar="NAME")
    args = options.parse_args()
    for system in args.system or (PAGES if args.what == "run" else measured_systems()):
        if args.what == "run":
            run_series(rows_of(system), jobs_of(system, args.only, args.seeds), args)
        (ROOT / "docs" / "results" / f"{system}.md").write_text(page(system, stored_rows(rows_of(system))))


if __name__ == "__main__":
    main()
