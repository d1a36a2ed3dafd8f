"""What minimq costs and gives on this machine: start, memory, recovery, rate. Writes docs/results/minimq-figures.md.

    .venv/bin/python benchmarks/minimq_figures.py run [--seeds 1-5] [--store DIR]
    .venv/bin/python benchmarks/minimq_figures.py render

``run`` starts nodes alone and times them, kills masters in runs of their own, and loads a cluster with 2,000 sends a
second while it looks at the memory of its nodes; it appends one row to docs/data/minimq.jsonl. ``render`` is a pure
function of the newest row and of the fingerprints of the code. What a run was is in the row.
"""

import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import rows as kept_rows
from rows import (
    DATA,
    ROOT,
    Code,
    Row,
    age_lines,
    clean_commit,
    code_and_dates,
    counted_rows,
    origin,
    replace_row,
    stored_rows,
)
from runs import parser, perform, row_of, seconds
from sources import deciding_sources

from chaos.core.clock import Deadline
from chaos.core.op import Type
from chaos.models.log.words import F
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Node
from cluster.host import hosts_up
from cluster.hosts.netns import NetnsBackend
from cluster.nodes import process
from cluster.system import ClusterView
from cluster.systems.minimq.config import NODE_MODULE
from cluster.systems.minimq.system import MiniMQ

ROWS = DATA / "minimq.jsonl"
PAGE = ROOT / "docs" / "results" / "minimq-figures.md"
ROUNDS = 5
LOAD_S = 20
KILLS = "chaos run --nemesis leader-kill --time-limit 40 --fault-interval 10 --seed {seed}"
LOAD = (
    f"chaos run --nemesis noop --rate 2000 --concurrency 16 --set client.routing=follow --time-limit {LOAD_S}"
    " --recovery-time 0 --seed {seed}"
)


def start_times(rounds: int) -> dict[str, list[float]]:
    """Milliseconds until a node serves and its memory in MiB then, one node after the other."""
    system, backend = MiniMQ(), NetnsBackend()
    settings = system.resolve({})
    specs = system.topology(settings)
    found: dict[str, list[float]] = {"start_ms": [], "rss_mib": []}
    with tempfile.TemporaryDirectory(prefix="chaos-bench-") as work:
        run_id = f"bench-{time.monotonic_ns()}"
        provided = backend.provide(system.fetch(print))
        with hosts_up(backend, run_id, specs, Path(work)) as hosts:
            infos = tuple(NodeInfo(name=s.name, role=s.role, address=hosts[s.name].address) for s in specs)
            view = ClusterView(run_id=run_id, nodes=infos, settings=settings, keys=4)
            for _ in range(rounds):
                for info in infos:
                    host = hosts[info.name]
                    node = Node(info, host, system.launch(info, host.home, provided, view))
                    began = time.monotonic()
                    process.start(node, run_id)
                    process.await_ready(node, Deadline(f"{info.name} to serve", 30))
                    found["start_ms"].append((time.monotonic() - began) * 1000)
                    status = host.run("cat", f"/proc/{process.state(node).pid}/status", timeout_s=5).check().text
                    found["rss_mib"].append(memory_mib(status, "VmRSS"))
                    process.kill(node)
    return found


def memory_mib(status: str, field: str) -> float:
    """Pure: a field of /proc/PID/status."""
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(f"{field}:"))


class Watch(threading.Thread):
    """Looks at the nodes of minimq on this machine; ``most_mib``: the peak of any of them."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most_mib, self.end = 0.0, threading.Event()
        self.start()

    def run(self) -> None:
        """Twice a second."""
        while not self.end.wait(0.5):
            for entry in Path("/proc").iterdir():
                try:
                    if entry.name.isdigit() and NODE_MODULE.encode() in (entry / "cmdline").read_bytes():
                        self.most_mib = max(self.most_mib, memory_mib((entry / "status").read_text(), "VmHWM"))
                except (OSError, StopIteration):
                    continue


def latencies_ms(folder: Path) -> dict[str, float]:
    """Quantiles over the acknowledged sends of a run."""
    columns = ["f", "type", "invoke_ns", "complete_ns"]
    found = []
    for path in sorted((folder / "history" / "operations").glob("*.parquet")):
        table = pq.read_table(path, columns=columns)
        table = table.filter(pc.and_(pc.equal(table["f"], int(F.SEND)), pc.equal(table["type"], int(Type.OK))))
        found.append((table["complete_ns"].to_numpy() - table["invoke_ns"].to_numpy()) / 1e6)
    every = np.concatenate(found)
    return {name: round(float(np.quantile(every, q)), 1) for name, q in (("p50", 0.5), ("p99", 0.99), ("p100", 1.0))}


def row_of_figures(seeds: list[int], store: Path) -> Row:
    """One row."""
    alone = start_times(ROUNDS)
    kills = []
    for seed in seeds:
        command = KILLS.format(seed=seed)
        folder, code = perform(command, store)
        kills.append(row_of(folder, command, code))
    faults = [fault for run in kills for fault in run["faults"]]
    watch = Watch()
    command = LOAD.format(seed=seeds[0])
    folder, code = perform(command, store)
    watch.end.set()
    watch.join()
    return {
        **origin((*deciding_sources("minimq", "queue", "leader-kill"), "hosts"), "benchmarks/minimq_figures.py run"),
        "start_ms": [round(ms, 1) for ms in alone["start_ms"]],
        "rss_mib": [round(mib, 1) for mib in alone["rss_mib"]],
        "ready_s": [run["timings_s"]["deploy"] + run["timings_s"]["ready"] for run in kills],
        "rto_s": [seconds(rto) for fault in faults for rto in fault["rto"] if rto["f"] == "send"],
        "kills": [{"exit": run["exit"], "run": run["run"], "seed": run["seed"]} for run in kills],
        "load": {**row_of(folder, command, code), "latency_ms": latencies_ms(folder)},
        "peak_mib": round(watch.most_mib, 1),
    }


def spread(values: list[float], unit: str) -> str:
    """Median and worst, for people."""
    return f"{statistics.median(values):.3g} {unit}, at most {max(values):.3g} {unit}" if values else "-"


def page(all_rows: Sequence[Row], now: Code | None = None) -> str:
    """docs/results/minimq-figures.md as a pure function of the newest row and of the fingerprints of today's code."""
    rows = counted_rows(all_rows)
    lines = [
        "# minimq in figures",
        "",
        (
            "What does minimq cost, and what does it give? Medians on a machine of two cores that does nothing else; all"
            " nodes, clients and the harness share it."
        ),
        "",
        "Generated by `benchmarks/minimq_figures.py render` from `docs/data/minimq.jsonl`; a row is added by",
        "`.venv/bin/python benchmarks/minimq_figures.py run`.",
        "",
        *age_lines(all_rows, now),
    ]
    if not rows:
        return "\n".join([*lines, "Not measured yet."]) + "\n"
    row = rows[-1]
    load, latency = row["load"], row["load"]["latency_ms"]
    outages = [rto for rto in row["rto_s"] if rto is not None]
    exits = " ".join(f"{kill['seed']}:{kill['exit']}" for kill in row["kills"])
    lines += [
        "| what | figure |",
        "|---|---|",
        f"| a node serves after its start | {spread(row['start_ms'], 'ms')} ({len(row['start_ms'])} starts) |",
        f"| memory of a node that serves | {spread(row['rss_mib'], 'MiB')} |",
        f"| the cluster is ready, hosts included | {spread(row['ready_s'], 's')} ({len(row['ready_s'])} clusters) |",
        (
            f"| sends are acknowledged again after kill -9 of the master | {spread(outages, 's')}"
            f" ({len(row['rto_s'])} kills, exit codes by seed {exits}) |"
        ),
        (
            f"| {LOAD_S} s of 2,000 sends a second | {load['counts'].get('send ok', 0)} acknowledged, exit {load['exit']};"
            f" latency p50 {latency['p50']} ms, p99 {latency['p99']} ms, longest {latency['p100']} ms |"
        ),
        f"| most memory of a node under it | {row['peak_mib']} MiB |",
        "",
        f"Made by {code_and_dates([row], now)}. Commands: `{KILLS.format(seed='SEED')}`, `{LOAD.format(seed='SEED')}`.",
    ]
    lines += kept_rows.section(all_rows, lambda row: f"started in {spread(row['start_ms'], 'ms')}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse and act."""
    args = parser(__doc__, "1-5").parse_args()
    if args.what == "run":
        clean_commit()
        replace_row(ROWS, row_of_figures(args.seeds, args.store), lambda _: True, args.again)
    PAGE.write_text(page(stored_rows(ROWS)))


if __name__ == "__main__":
    main()
