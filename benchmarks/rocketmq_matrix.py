"""RocketMQ by fault, by mode and under unsafe settings: runs them over seeds and writes docs/results/rocketmq.md from the rows.

    .venv/bin/python benchmarks/rocketmq_matrix.py run [--only NAME ...] [--seeds 1-5] [--store DIR]
    .venv/bin/python benchmarks/rocketmq_matrix.py render

NAME is that of a nemesis below, of a mode (``jraft``) or of an unsafe setting (``unclean-election``). ``run`` appends
one row a run to docs/data/rocketmq.jsonl and leaves out what is there already under the same name and seed, so it can
be cut off and resumed. ``render`` is a pure function of that file. Rows hold what results.json said.
"""

from collections.abc import Container, Sequence

import rows as kept_rows
from rows import DATA, ROOT, Code, Row, age_lines, code_and_dates, counted_rows, stored_rows
from runs import Job, outage_cells, parser, run_series

ROWS = DATA / "rocketmq.jsonl"
PAGE = ROOT / "docs" / "results" / "rocketmq.md"
NEMESES = (
    "noop",
    "leader-kill",
    "random-kill",
    "random-partition",
    "leader-partition",
    "major-suspend",
    "random-loss",
    "major-suspend@controller",
)
COMMAND = (
    "chaos run --system rocketmq --nemesis {nemesis} --set client.routing=follow"
    " --time-limit 120 --fault-interval 20 --seed {seed}"
)
MODES = {
    "jraft": "cluster.controllerType=jRaft",
    "in-namesrv": "cluster.controllerIn=namesrv",
    "two-replicas": "cluster.brokers=2",
    "five-replicas": "cluster.brokers=5 --set cluster.namesrvs=2",
    "sync-flush": "flushDiskType=SYNC_FLUSH",
    "min-in-sync-2": "minInSyncReplicas=2",
    "master-slave": "cluster.mode=master-slave",
    "master-slave-async": "cluster.mode=master-slave --set brokerRole=ASYNC_MASTER",
    "dledger": "cluster.mode=dledger",
}
MODE_COMMAND = (
    "chaos run --system rocketmq --nemesis leader-kill,random-partition@broker --set client.routing=follow"
    " --set {settings} --time-limit 120 --fault-interval 15 --seed {seed}"
)
UNSAFE = {
    "async-replication": (
        "chaos run --system rocketmq --nemesis leader-kill --rate 300 --set allAckInSyncStateSet=false"
        " --set client.routing=follow --time-limit 60 --fault-interval 10 --seed {seed}"
    ),
    "buffer-in-memory": (
        "chaos run --system rocketmq --nemesis leader-kill --rate 300 --set transientStorePoolEnable=true"
        " --set client.routing=follow --time-limit 60 --fault-interval 10 --seed {seed}"
    ),
    "unclean-election": (
        "chaos run --system rocketmq --nemesis leader-partition@broker,leader-kill@broker"
        " --set enableElectUncleanMaster=true --set client.routing=follow --time-limit 60 --fault-interval 2"
        " --fault-duration 28 --seed {seed}"
    ),
}


def command_of(name: str, seed: int) -> str:
    """The command of a named run."""
    if name in MODES:
        return MODE_COMMAND.format(settings=MODES[name], seed=seed)
    return UNSAFE[name].format(seed=seed) if name in UNSAFE else COMMAND.format(nemesis=name, seed=seed)


def jobs_of(names: Sequence[str], seeds: Sequence[int]) -> list[Job]:
    """The runs of these names, seed by seed."""
    return [Job({"name": name, "seed": seed}, command_of(name, seed), "rocketmq") for seed in seeds for name in names]


def table(rows: Sequence[Row], what: str, now: Code | None) -> list[str]:
    """A line for each name among the rows, under a heading; ``what`` names the first column."""
    lines = [
        (
            f"| {what} | runs | exit codes by seed | faults | without an outage | RTO median | RTO worst | lost |"
            " made by |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["name"] for row in rows):
        mine = sorted((row for row in rows if row["name"] == name), key=lambda row: row["seed"])
        faults = [fault for row in mine for fault in row["faults"] if not fault["skipped"]]
        without, middle, worst = outage_cells(faults)
        codes = " ".join(f"{row['seed']}:{row['exit']}" for row in mine)
        lost = sum(fault["lost"] for fault in faults)
        lines.append(
            f"| {name} | {len(mine)} | {codes} | {len(faults)} | {without} |"
            f" {middle} | {worst} | {lost} | {code_and_dates(mine, now)} |"
        )
    return lines


def section_of(
    rows: Sequence[Row], names: Container[str], title: str, about: str, commands: Sequence[str], now: Code | None
) -> list[str]:
    """A section of the page about the rows of these names; nothing if there are none."""
    mine = [row for row in rows if row["name"] in names]
    return ["", f"## {title}", "", about, "", "```", *commands, "```", "", *table(mine, "name", now)] if mine else []


def page(all_rows: Sequence[Row], now: Code | None = None) -> str:
    """docs/results/rocketmq.md as a pure function of the rows and of the fingerprints of today's code."""
    rows = counted_rows(all_rows)
    lines = [
        "# RocketMQ 5.5.0: recovery by fault",
        "",
        (
            "How long does RocketMQ take to recover from each fault, and what does it lose? Controller mode with"
            " DLedger, 3 brokers in one replica group, 3 controllers, the safe defaults"
            " (allAckInSyncStateSet=true, minInSyncReplicas=1, enableElectUncleanMaster=false, ASYNC_FLUSH), clients that"
            " follow the route and ask for it every second. RTO ([semantics.md](../semantics.md), rule 18) is the longest"
            " outage of acknowledged sends over all queues that overlaps the fault. All nodes share one machine with two"
            " cores."
        ),
        "",
        "Generated by `benchmarks/rocketmq_matrix.py render` from `docs/data/rocketmq.jsonl`; rows are added by",
        "",
        "```",
        ".venv/bin/python benchmarks/rocketmq_matrix.py run",
        "```",
        "",
        "which runs, for each nemesis and seed,",
        "",
        "```",
        COMMAND.format(nemesis="NEMESIS", seed="SEED"),
        "```",
        "",
        *age_lines(all_rows, now),
        *table([row for row in rows if row["name"] in NEMESES], "nemesis", now),
    ]
    lines += section_of(
        rows,
        MODES,
        "Modes",
        "Under a mix of killed masters and partitions of brokers; [rocketmq.md](../systems/rocketmq.md) says what each"
        " mode is.",
        [f"# {name}\n{command_of(name, 1)}" for name in MODES],
        now,
    )
    lines += section_of(
        rows,
        UNSAFE,
        "Settings that give safety up",
        "Each must come out invalid: nothing excuses a loss.",
        [f"# {name}\n{command_of(name, 1)}" for name in UNSAFE],
        now,
    )
    red = [row for row in rows if row["exit"] != 0]
    lines += ["", "## Runs that were not valid", ""]
    lines += [f"- {r['name']}, seed {r['seed']}, exit {r['exit']}: {r['sentence'] or r['reason']}" for r in red]
    lines += ["None."] if not red else []
    lines += kept_rows.section(all_rows, lambda row: f"{row['name']}, seed {row['seed']}, exit {row['exit']}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse and act."""
    options = parser(__doc__, "1-5")
    options.add_argument("--only", action="append", choices=[*NEMESES, *MODES, *UNSAFE], metavar="NAME")
    args = options.parse_args()
    if args.what == "run":
        run_series(ROWS, jobs_of(args.only or [*NEMESES, *MODES, *UNSAFE], args.seeds), args)
    PAGE.write_text(page(stored_rows(ROWS)))


if __name__ == "__main__":
    main()
