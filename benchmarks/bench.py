"""How fast the checkers are, beside others on the same histories; keeps rows and writes what they say.

    .venv/bin/python benchmarks/bench.py run [--scale small|full] [--only NAME] [--again] [--work DIR]
    .venv/bin/python benchmarks/bench.py render

``run`` appends a row to docs/data/benchmarks.jsonl for each benchmark of that scale that has none, so a series can be
cut off and taken up again; it says before what it will take, and refuses where disk is short. ``render`` writes
docs/results/benchmarks.md, a pure function of the rows (the latest of each benchmark, full before small) and of the code's
fingerprints.
"""

import argparse
import json
import math
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from bench_page import NAMES, page
from measuring import command, work
from rows import DATA, ROOT, clean_commit, counted_rows, origin, replace_row, stored_rows
from time_to_report import read_waits

ROWS = DATA / "benchmarks.jsonl"
PAGE = ROOT / "docs" / "results" / "benchmarks.md"
PUBLISHED_EVENTS_S = 20_000
"""The reference checker's best figure (events a second, research of 2026; 13,000 to 20,000)."""

Result = dict[str, Any]


class Scale(NamedTuple):
    """Sizes of one scale. ``ops``: operations of the run folder for single checks; ``long_ops``: of the long one."""

    name: str
    ops: int
    keys: int
    long_ops: int
    long_keys: int
    records: int
    sizes: list[int]
    repeats: int


SCALES = {
    "small": Scale("small", 1_200_000, 12, 1_200_000, 12, 300_000, [1_000, 10_000], 3),
    "full": Scale("full", 71_000_000, 96, 500_000_000, 512, 4_000_000, [10**3, 10**4, 10**5, 10**6], 5),
}
BYTES_PER_OP = 17
BYTES_PER_RECORD = 60
BYTES_PER_TXN = 500


class Place(NamedTuple):
    """Where histories are made, at which scale."""

    folder: Path
    scale: Scale

    def run(self, ops: int, keys: int) -> str:
        """A run folder of so many operations, made unless it is there."""
        path = self.folder / f"run-{ops}-{keys}"
        if not path.exists():
            chaos("generate", "--ops", ops, "--keys", keys, "--output", path)
        return str(path)

    def kafka(self, kind: str) -> tuple[str, Result]:
        """A Kafka-style history as Parquet, and its size."""
        path = self.folder / f"kafka-{kind}"
        path.mkdir(exist_ok=True)
        records = self.scale.records // (3 if kind == "transactions" else 1)  # each has three times as many messages
        return str(path), work("timed_kafka:write_history", folder=str(path), kind=kind, records=records)


def chaos(*argv: object, cores: int | None = None) -> Result:
    """Run the command; a verdict of any kind is an end."""
    return command([sys.executable, "-m", "chaos", *map(str, argv)], cores=cores, codes=(0, 1, 2))


def entry(who: str, measured: Result, **more: Any) -> Result:
    """A line of the table: who, seconds cold and warm, memory."""
    told = {name: measured[name] for name in ("cold_s", "warm_s", "median_s", "peak_mib") if name in measured}
    return {"who": who, **told, **more}


def kafka_sql(place: Place) -> Result:
    folder, size = place.kafka("single")
    ours = work("timed_kafka:time_analysis", folder=folder, repeats=place.scale.repeats)
    sql = work("timed_kafka:time_duckdb", folder=folder, repeats=place.scale.repeats)
    assert ours["valid"] is True
    assert sql["found"] == 0
    ratio = sql["median_s"] / ours["median_s"]
    speed = size["records"] / ours["median_s"]
    return {
        "entries": [entry("whole analysis, one process", ours), entry("DuckDB, the parts SQL can express", sql)],
        "figures": {
            "records": size["records"],
            "messages": size["messages"],
            "DuckDB ÷ ours": round(ratio, 2),
            "events a second": round(speed),
            "× the reference's 20,000 a second": round(speed / PUBLISHED_EVENTS_S, 1),
        },
        "met": ratio > 1,
        "profile": [] if ratio > 1 else work("timed_kafka:profile_analysis", folder=folder)["profile"],
    }


def kafka_speed(place: Place) -> Result:
    entries, figures, profile = [], {}, []
    met = True
    for kind, ww_deps, words in (
        ("shared", False, "one log per operation, each log polled by one"),
        ("single", False, "one log per operation, each process polls all"),
        ("transactions", False, "transactions of three"),
        ("transactions", True, "transactions of three, ww"),
    ):
        folder, size = place.kafka(kind)
        ours = work("timed_kafka:time_analysis", folder=folder, repeats=place.scale.repeats, ww_deps=ww_deps)
        entries.append(entry(words, ours, size=f"{size['records']:,} records, {size['messages']:,} messages"))
        figures[f"million events a second: {words}"] = round(size["records"] / ours["median_s"] / 1e6, 2)
        if kind != "transactions" and size["records"] / ours["median_s"] < 5e6:
            met = False
            profile = work("timed_kafka:profile_analysis", folder=folder)["profile"]
    return {"entries": entries, "figures": figures, "met": met, "profile": profile}


def no_loss(place: Place) -> Result:
    folder, repeats = place.run(place.scale.ops, place.scale.keys), place.scale.repeats
    ours = work("timed_log:time_local", folder=folder, kernel="no-loss", repeats=repeats)
    spark = work("timed_log:time_spark", folder=folder, kernel="no-loss", repeats=repeats)
    sql = work("timed_log:time_duckdb", folder=folder, repeats=repeats)
    assert ours["found"] == spark["found"] == sql["found"] == 0
    assert ours["examined"] == spark["examined"]
    ratio, overhead = sql["median_s"] / ours["median_s"], spark["median_s"] / ours["median_s"]
    met = ratio >= 4 and overhead <= 1.5
    return {
        "entries": [entry("ours, local", ours), entry("ours, Spark", spark), entry("DuckDB's anti-join", sql)],
        "figures": {
            "events (invocations and completions)": 2 * place.scale.ops,
            "acknowledged messages": ours["examined"],
            "DuckDB ÷ ours, local": round(ratio, 2),
            "Spark ÷ local, warm": round(overhead, 2),
            "s until there is a Spark session": spark["start_s"],
        },
        "met": met,
        "profile": [] if met else work("timed_log:profile_checks", folder=folder, kernel="no-loss")["profile"],
    }


def linearizable(place: Place) -> Result:
    folder = place.run(place.scale.ops, place.scale.keys)
    ours = work("timed_log:time_local", folder=folder, kernel="linearizable-offsets", repeats=place.scale.repeats)
    sends = place.scale.ops * 12 // 17
    seconds = ours["median_s"] * 5e7 / sends
    where = (
        work("timed_log:profile_checks", folder=folder, kernel="linearizable-offsets")
        if seconds > 10
        else {"profile": []}
    )
    figures = {"sends": sends, "s for 5 × 10^7 sends at this rate, reads included": round(seconds, 1)}
    return {"entries": [entry("ours, local", ours)], "figures": figures, "met": seconds <= 10, **where}


def billion(place: Place) -> Result:
    ops = place.scale.long_ops
    folder = place.run(ops, place.scale.long_keys)
    entries, figures = [], {"events (invocations and completions)": 2 * ops}
    met = True
    for engine in ("local", "spark"):
        ran = chaos("check", folder, "--engine", engine, "--json")
        entries.append({"who": f"chaos check --engine {engine}", "cold_s": ran["wall_s"], "peak_mib": ran["peak_mib"]})
        figures[f"million events a second, {engine}"] = round(2 * ops / ran["wall_s"] / 1e6, 2)
        met &= ran["wall_s"] < 300 and ran["peak_mib"] < 8 * 1024
    profile = [] if met else work("timed_log:profile_checks", folder=folder)["profile"]
    return {"entries": entries, "figures": figures, "met": met, "profile": profile}


def registers(place: Place) -> Result:
    took = work("timed_objects:time_registers", sizes=place.scale.sizes, repeats=place.scale.repeats)
    entries = [
        {"who": f"{size:,} operations", "median_s": seconds}
        for size, seconds in zip(took["sizes"], took["seconds"], strict=True)
    ]
    largest, last_s = took["sizes"][-1], took["seconds"][-1]
    seconds = last_s * math.pow(10**6 / largest, max(1.0, took["slope"]))
    figures = {"slope": took["slope"], "s for 10^6 unique writes, two operations each": round(2 * seconds, 2)}
    return {"entries": entries, "figures": figures, "met": 2 * seconds <= 5, "profile": []}


TXN_SIZES = {"small": [1_000, 10_000], "full": [10**4, 10**5, 10**6]}


def transactions(place: Place) -> Result:
    entries, figures, met = [], {}, True
    for model in ("list-append", "rw-register"):
        took = []
        for size in TXN_SIZES[place.scale.name]:
            path = place.folder / f"{model}-{size}.edn"
            chaos("generate", "--model", model, "--ops", size, "--keys", 10, "--output", path)
            ours = work("timed_txn:time_judging", path=str(path), model=model, repeats=min(3, place.scale.repeats))
            assert ours["valid"] is True
            took.append((size, ours))
            entries.append(entry(f"{model}, {size:,} transactions", ours, size=f"{path.stat().st_size / 1e6:,.0f} MB"))
        (least, first), (most, last) = took[0], took[-1]
        slope = math.log(last["median_s"] / first["median_s"]) / math.log(most / least)
        seconds = last["median_s"] * (10**6 / most) ** max(1.0, slope)
        figures |= {f"slope, {model}": round(slope, 2), f"s for 10^6 transactions, {model}": round(seconds, 1)}
        if model == "list-append":
            met = seconds <= 10 and last["peak_mib"] < 4096
    profile = [] if met else work("timed_txn:profile_judging", path=str(path), model=model)["profile"]
    return {"entries": entries, "figures": figures, "met": met, "profile": profile}


def porcupine(place: Place) -> Result:
    took = work("timed_objects:compare_with_porcupine", sizes=place.scale.sizes[:3])
    if "missing" in took:
        raise SystemExit(f"no Porcupine: {took['missing']}")
    entries = [
        {
            "who": f"{case}{', spoilt' if spoilt else ''}",
            "size": f"{size:,}",
            "ours": own,
            "median_s": own_s,
            "Porcupine": word,
            "Porcupine s": other_s,
            "ratio": round(other_s / own_s, 2) if own_s else None,
        }
        for case, size, spoilt, own, own_s, word, other_s in took["rows"]
    ]
    return {"entries": entries, "figures": {}, "met": None, "profile": []}


def cores(place: Place) -> Result:
    folder = place.run(place.scale.ops, place.scale.keys)
    one, two = (
        [chaos("check", folder, "--engine", "local", "--json", cores=number) for _ in range(2)] for number in (1, 2)
    )
    entries = [
        {
            "who": f"{number} core{'s' if number > 1 else ''}",
            "cold_s": ran[0]["wall_s"],
            "warm_s": [ran[1]["wall_s"]],
            "median_s": min(again["wall_s"] for again in ran),
            "peak_mib": max(again["peak_mib"] for again in ran),
        }
        for number, ran in ((1, one), (2, two))
    ]
    gain = entries[0]["median_s"] / entries[1]["median_s"]
    profile = [] if gain >= 1.8 else work("timed_log:profile_checks", folder=folder)["profile"]
    return {"entries": entries, "figures": {"one ÷ two": round(gain, 2)}, "met": gain >= 1.8, "profile": profile}


class Benchmark(NamedTuple):
    """``full_s``: what it takes at full scale, roughly, its histories included; ``disk``: bytes of these."""

    act: Callable[[Place], Result]
    full_s: int
    disk: Callable[[Scale], int]


def _runs(scale: Scale) -> int:
    return scale.ops * BYTES_PER_OP


def _kafka(scale: Scale) -> int:
    return 3 * scale.records * BYTES_PER_RECORD


def _transactions(scale: Scale) -> int:
    return 2 * sum(TXN_SIZES[scale.name]) * BYTES_PER_TXN


RECORDED_S = 5.0
LOG_OPS_S, REGISTER_OPS_S = 50_000, 30_000


def recording(place: Place) -> Result:
    entries, figures, met = [], {}, True
    for words, workload, least in (("the log", "queue", LOG_OPS_S), ("registers", "register", REGISTER_OPS_S)):
        seen = [
            work("null_client:recording_speed", workload=workload, seconds=RECORDED_S)
            for _ in range(place.scale.repeats)
        ]
        per_s = [one["per_s"] for one in seen]
        entries.append({"who": words, "operations a second": max(per_s), "bytes each": seen[0]["bytes_per_op"]})
        figures[f"operations a second, {words}"] = max(per_s)
        met = met and max(per_s) >= least
    return {"entries": entries, "figures": figures, "met": met}


RUNS = {"small": 1, "full": 3}
REPORTED_WITHIN_S = 3.0


def time_to_report(place: Place) -> Result:
    store, entries = place.folder / "store", []
    for seed in range(1, 1 + RUNS[place.scale.name]):
        chaos("run", "--nemesis", "random-partition", "--time-limit", 60, "--seed", seed, "--store", store)
        folder = (store / "current").resolve()
        one, counts = read_waits(folder), json.loads((folder / "results.json").read_text())["counts"]
        entries.append(
            {
                "who": f"seed {seed}",
                "operations": counts["operations"],
                "replicas and logs, s": round(one.collect_s, 2),
                "check, s": round(one.check_s, 2),
                "to the report, s": round(one.whole_s, 2),
            }
        )
    longest_s = max(entry["to the report, s"] for entry in entries)
    figures = {"s from the last final read to the report, the longest": longest_s}
    return {"entries": entries, "figures": figures, "met": longest_s < REPORTED_WITHIN_S}


BENCHMARKS: dict[str, Benchmark] = {
    "recording": Benchmark(recording, 60, lambda _: 10**8),
    "kafka-sql": Benchmark(kafka_sql, 60, _kafka),
    "kafka-speed": Benchmark(kafka_speed, 60, _kafka),
    "no-loss": Benchmark(no_loss, 100, _runs),
    "linearizable-offsets": Benchmark(linearizable, 40, _runs),
    "billion": Benchmark(billion, 420, lambda scale: scale.long_ops * BYTES_PER_OP),
    "register": Benchmark(registers, 15, lambda _: 0),
    "transactions": Benchmark(transactions, 150, _transactions),
    "porcupine": Benchmark(porcupine, 120, lambda _: 10**8),
    "cores": Benchmark(cores, 120, _runs),
    "time-to-report": Benchmark(time_to_report, 270, lambda _: 10**8),
}
assert tuple(BENCHMARKS) == NAMES


def run(scale: Scale, names: list[str], folder: Path) -> None:
    """Make the rows that are asked for.

    Raises:
        SystemExit: 254 if disk is short; 255 if some could not be measured.
    """
    sys.path.insert(0, str(ROOT))  # machine facts are the project's
    from chaos.run.machine import machine_facts

    clean_commit()
    folder.mkdir(parents=True, exist_ok=True)
    needed = sum({BENCHMARKS[name].disk: BENCHMARKS[name].disk(scale) for name in names}.values())
    free = shutil.disk_usage(folder).free
    minutes = sum(BENCHMARKS[name].full_s for name in names) / 60 if scale.name == "full" else len(names)
    print(f"{', '.join(names) or 'nothing'}: about {minutes:.0f} min, {needed / 1e9:.1f} GB of disk in {folder}")
    if needed > 0.9 * free:
        print(f"{folder}: {free / 1e9:.1f} GB are free; make room, or name another folder with --work", file=sys.stderr)
        raise SystemExit(254)
    failed = False
    try:
        for name in names:
            began = datetime.now(UTC)
            try:
                result = BENCHMARKS[name].act(Place(folder, scale))
            except SystemExit as error:  # what is missing for one is none of the others' business
                print(f"{name}: not measured: {error}", file=sys.stderr, flush=True)
                failed = True
                continue
            if scale.name != "full":
                result["met"] = None  # starting takes longer than the work, so no goal is decided
            took_s = round((datetime.now(UTC) - began).total_seconds(), 1)
            made_by = origin(("engines",), f"benchmarks/bench.py run --scale {scale.name} --only {name}")
            row = {"name": name, "scale": scale.name, **made_by, "began": began.isoformat("T", "seconds")}
            row |= {"took_s": took_s, "machine": machine_facts(), **result}
            replace_row(ROWS, row, lambda old, key=(name, scale.name): (old["name"], old["scale"]) == key)
            figures = ", ".join(f"{what}: {figure:,}" for what, figure in result["figures"].items())
            print(f"{name}: {took_s} s; {figures}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if failed:
        raise SystemExit(255)


def main() -> None:
    """Parse and act."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("what", choices=["run", "render"])
    made.add_argument("--scale", choices=list(SCALES), default="small", help="[default: small]")
    made.add_argument("--only", action="append", choices=list(BENCHMARKS), help="this one; may be given again")
    made.add_argument("--again", action="store_true", help="also what has a row")
    made.add_argument("--work", type=Path, default=ROOT / "store" / "bench", help="a folder for histories; removed")
    args = made.parse_args()
    if args.what == "run":
        done = {row["name"] for row in counted_rows(stored_rows(ROWS)) if row["scale"] == args.scale}
        names = [name for name in args.only or BENCHMARKS if args.again or name not in done]
        try:
            run(SCALES[args.scale], names, args.work)
        finally:
            PAGE.write_text(page(stored_rows(ROWS)))
    else:
        PAGE.write_text(page(stored_rows(ROWS)))


if __name__ == "__main__":
    main()
