"""RTO of RocketMQ by fault: runs the nemeses over seeds and writes docs/rocketmq.md from the stored rows.

    .venv/bin/python benchmarks/rocketmq_matrix.py run [--nemesis NAME ...] [--seeds 1-5] [--store DIR]
    .venv/bin/python benchmarks/rocketmq_matrix.py render

``run`` appends one row a run to docs/data/rocketmq.jsonl and leaves out what is there already for the
same chaos version and command, so it can be cut off and resumed. ``render`` is a pure function of that file.
The script refuses to judge: rows hold what results.json said.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "data" / "rocketmq.jsonl"
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


def rows() -> list[dict[str, Any]]:
    """The stored rows, oldest first."""
    return [json.loads(line) for line in DATA.read_text().splitlines()] if DATA.exists() else []


def commit() -> str:
    """The commit that was run, with a mark if the tree had changes."""
    out = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return out.stdout.strip()


def row_of(folder: Path, nemesis: str, seed: int, code: int) -> dict[str, Any]:
    """One run as a row."""
    info = json.loads((folder / "run.json").read_text())
    path = folder / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    return {
        "nemesis": nemesis,
        "seed": seed,
        "exit": code,
        "valid": results.get("valid"),
        "reason": results.get("reason", "") or info.get("error") or "",
        "sentence": results.get("sentence", ""),
        "engine": results.get("engine"),
        "commit": commit(),
        "run": folder.name,
        "began": info["origin_utc"],
        "command": COMMAND.format(nemesis=nemesis, seed=seed),
        "counts": results.get("counts", {}),
        "anomalies": {name: found["count"] for name, found in results.get("anomalies", {}).items()},
        "faults": [
            {
                "id": fault["id"],
                "name": fault["name"],
                "targets": fault["targets"],
                "proven": fault["proven"],
                "healed": fault["healed"],
                "skipped": fault["skipped"],
                "lost": fault["lost"],
                "rto": [r for r in fault["rto"] if r["key"] == -1],
            }
            for fault in results.get("faults", [])
        ],
    }


def run_all(nemeses: list[str], seeds: list[int], store: Path) -> None:
    """Run what is not stored yet, one cluster at a time."""
    done = {(row["nemesis"], row["seed"]) for row in rows()}
    for seed in seeds:
        for nemesis in nemeses:
            if (nemesis, seed) in done:
                continue
            argv = COMMAND.format(nemesis=nemesis, seed=seed).split()[1:]
            out = subprocess.run(
                [sys.executable, "-m", "chaos", *argv, "--store", str(store)],
                cwd=ROOT, capture_output=True, text=True, timeout=900, check=False,
            )  # fmt: skip
            last = Path(out.stdout.strip().splitlines()[-1]) if out.stdout.strip() else store
            folder = ROOT / (last.parent if last.suffix == ".html" else last)
            if not (folder / "run.json").exists():
                print(out.stdout[-2000:], out.stderr[-2000:], sep="\n")
                raise SystemExit(f"{nemesis} seed {seed}: exit {out.returncode} and no run folder")
            row = row_of(folder, nemesis, seed, out.returncode)
            DATA.parent.mkdir(exist_ok=True)
            with DATA.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{nemesis:<26} seed {seed}  exit {row['exit']}  {row['sentence'] or row['reason']}", flush=True)


def seconds(rto: dict[str, Any]) -> float | None:
    """An RTO as a number: None for no outage, infinity for one that did not end."""
    if rto["seconds"] is None:
        return None
    return float(rto["seconds"]) if rto["recovered"] else float("inf")


def page(stored: list[dict[str, Any]]) -> str:
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
        "| nemesis | runs | exit codes by seed | faults | without an outage | RTO median | RTO worst | lost |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for nemesis in dict.fromkeys(row["nemesis"] for row in stored):
        mine = sorted((row for row in stored if row["nemesis"] == nemesis), key=lambda row: row["seed"])
        faults = [fault for row in mine for fault in row["faults"] if not fault["skipped"]]
        found = [seconds(rto) for fault in faults for rto in fault["rto"] if rto["f"] == "send"]
        outages = [rto for rto in found if rto is not None]
        middle, worst = ("-", "-") if not outages else (f"{median(outages):.1f} s", f"{max(outages):.1f} s")
        codes = " ".join(f"{row['seed']}:{row['exit']}" for row in mine)
        lost = sum(fault["lost"] for fault in faults)
        lines.append(
            f"| {nemesis} | {len(mine)} | {codes} | {len(faults)} | {len(found) - len(outages)} |"
            f" {middle} | {worst} | {lost} |"
        )
    red = [row for row in stored if row["exit"] != 0]
    lines += ["", "## Runs that were not valid", ""]
    lines += [f"- {r['nemesis']}, seed {r['seed']}, exit {r['exit']}: {r['sentence'] or r['reason']}" for r in red]
    lines += ["None."] if not red else []
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse and act."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "render"])
    parser.add_argument("--nemesis", action="append")
    parser.add_argument("--seeds", default="1-5", help="FIRST-LAST")
    parser.add_argument("--store", type=Path, default=ROOT / "store")
    args = parser.parse_args()
    if args.what == "run":
        first, last = map(int, args.seeds.split("-"))
        run_all(args.nemesis or list(NEMESES), list(range(first, last + 1)), args.store)
    PAGE.write_text(page(rows()))


if __name__ == "__main__":
    main()
