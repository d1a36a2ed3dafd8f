"""RocketMQ by fault, by mode and under unsafe settings: runs them over seeds and writes docs/rocketmq.md from the rows.

    .venv/bin/python benchmarks/rocketmq_matrix.py run [--only NAME ...] [--seeds 1-5] [--store DIR]
    .venv/bin/python benchmarks/rocketmq_matrix.py render

NAME is that of a nemesis below, of a mode (``jraft``) or of an unsafe setting (``unclean-election``). ``run`` appends
one row a run to docs/data/rocketmq.jsonl and leaves out what is there already under the same name and seed, so it can
be cut off and resumed. ``render`` is a pure function of that file. The script refuses to judge: rows hold what
results.json said.
"""

from pathlib import Path
from typing import Any

from runs import DATA, ROOT, keep, outage_cells, parser, perform, row_of, stored

ROWS = DATA / "rocketmq.jsonl"
PAGE = ROOT / "docs" / "rocketmq.md"
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


def name_of(row: dict[str, Any]) -> str:
    """What a row is of; the first rows have it as their nemesis."""
    return str(row.get("name") or row["nemesis"])


def run_all(names: list[str], seeds: list[int], store: Path) -> None:
    """Run what is not stored yet, one cluster at a time."""
    done = {(name_of(row), row["seed"]) for row in stored(ROWS)}
    for seed in seeds:
        for name in names:
            if (name, seed) in done:
                continue
            command = command_of(name, seed)
            folder, code = perform(command, store)
            row = {"name": name, **row_of(folder, command, code)}
            keep(ROWS, row)
            print(f"{name:<26} seed {seed}  exit {row['exit']}  {row['sentence'] or row['reason']}", flush=True)


def table(rows: list[dict[str, Any]], what: str) -> list[str]:
    """A line for each name among the rows, under a heading; ``what`` names the first column."""
    lines = [
        f"| {what} | runs | exit codes by seed | faults | without an outage | RTO median | RTO worst | lost |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(map(name_of, rows)):
        mine = sorted((row for row in rows if name_of(row) == name), key=lambda row: row["seed"])
        faults = [fault for row in mine for fault in row["faults"] if not fault["skipped"]]
        without, middle, worst = outage_cells(faults)
        codes = " ".join(f"{row['seed']}:{row['exit']}" for row in mine)
        lost = sum(fault["lost"] for fault in faults)
        lines.append(
            f"| {name} | {len(mine)} | {codes} | {len(faults)} | {without} |"
            f" {middle} | {worst} | {lost} |"
        )
    return lines


def named(rows: list[dict[str, Any]], names: Any, title: str, about: str, commands: list[str]) -> list[str]:
    """A section of the page about the rows of these names; nothing if there are none."""
    mine = [row for row in rows if name_of(row) in names]
    return ["", f"## {title}", "", about, "", "```", *commands, "```", "", *table(mine, "name")] if mine else []


def page(rows: list[dict[str, Any]]) -> str:
    """docs/rocketmq.md as a pure function of the rows."""
    lines = [
        "# RocketMQ 5.5.0: recovery by fault",
        "",
        ("Controller mode with DLedger, 3 brokers in one replica group, 3 controllers, the safe defaults"
        " (allAckInSyncStateSet=true, minInSyncReplicas=1, enableElectUncleanMaster=false, ASYNC_FLUSH), clients that"
        " follow the route and ask for it every second. RTO is defined in semantics.md, rule 18: the longest outage of"
        " acknowledged sends over all queues that overlaps the fault. All nodes share one machine with two cores."),
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
        *table([row for row in rows if name_of(row) in NEMESES], "nemesis"),
    ]
    lines += named(
        rows, MODES, "Modes",
        "Under a mix of killed masters and partitions of brokers; rocketmq-modes.md says what each mode is.",
        [f"# {name}\n{command_of(name, 1)}" for name in MODES],
    )  # fmt: skip
    lines += named(
        rows, UNSAFE, "Settings that give safety up",
        "Each must come out invalid: nothing excuses a loss.",
        [f"# {name}\n{command_of(name, 1)}" for name in UNSAFE],
    )  # fmt: skip
    red = [row for row in rows if row["exit"] != 0]
    lines += ["", "## Runs that were not valid", ""]
    lines += [f"- {name_of(r)}, seed {r['seed']}, exit {r['exit']}: {r['sentence'] or r['reason']}" for r in red]
    lines += ["None."] if not red else []
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse and act."""
    options = parser(__doc__, "1-5")
    options.add_argument("--only", action="append", choices=[*NEMESES, *MODES, *UNSAFE], metavar="NAME")
    args = options.parse_args()
    if args.what == "run":
        run_all(args.only or [*NEMESES, *MODES, *UNSAFE], args.seeds, args.store)
    PAGE.write_text(page(stored(ROWS)))


if __name__ == "__main__":
    main()
