"""docs/results/benchmarks.md as a pure function of the rows that ``bench.py`` keeps."""

from collections.abc import Sequence
from typing import Any

import rows as kept_rows
from rows import Code, Row, age_lines, code_and_dates, counted_rows

ABOUT: dict[str, tuple[str, str, str]] = {
    "recording": (
        "Recording",
        "on two cores 50,000 operations a second of a log and 30,000 of registers",
        (
            "Two workers with clients that answer at once, as `benchmarks/null_client.py` runs them: generator, tasks,"
            " deadlines and the stored record of each invocation and completion. Nothing else is in the way of a load."
        ),
    ),
    "kafka-sql": (
        "Kafka-style histories: the whole analysis, and DuckDB on the parts SQL can express",
        "faster than DuckDB on a part of the work",
        (
            "Single operations on 20 logs by 10 processes, each of which polls all. Ours looks for everything of"
            " [kafka.md](../reference/kafka.md) in one process; the SQL for `duplicate`, `inconsistent-offsets`, `G1a`, `unseen`,"
            " `lost-write` (of acknowledged sends), `int-poll-skip`, `int-nonmonotonic-poll`, `poll-skip`,"
            " `nonmonotonic-poll` and `nonmonotonic-send`, on all cores, from the same Parquet files. SQL cannot say"
            " what transactions of unknown outcome prove, what an assignment forgets, cycles, or real time without a"
            " join of inequalities."
        ),
    ),
    "kafka-speed": (
        "Kafka-style histories: events a second",
        "5 million events a second for operations on one log, without ww dependencies",
        "Records (an invocation or a completion is one), read from Parquet and judged by one process.",
    ),
    "no-loss": (
        "No loss",
        "at least 4 × DuckDB's anti-join; Spark at most 1.5 × local once its session has done a job",
        (
            "The check `no-loss` over a run folder as `chaos check --check no-loss` runs it (beside it that judges the"
            " assumptions): what reading needs, the log, and its rules (complete final reads,"
            " what retention removed, unknowns). DuckDB counts the acknowledged sends that no final read returned, on"
            " the same columns, on all cores."
        ),
    ),
    "linearizable-offsets": (
        "Linearizable offsets",
        "at most 10 s for 5 × 10^7 sends",
        (
            "The check over a run folder, reading and the log included. (An unbounded window in SQL took two orders of"
            " magnitude longer in trials and is left out.)"
        ),
    ),
    "billion": (
        "10^9 events",
        "less than 5 minutes and 8 GB",
        "`chaos check` of a generated history, from start to end: every check, the curves, the files of the verdict.",
    ),
    "register": (
        "Registers",
        "10^6 unique writes on one key in 5 s; near-linear",
        "Half writes of values of their own, half reads, ten clients, one register; seconds of CPU.",
    ),
    "transactions": (
        "Transactions",
        "10^6 transactions of list-append on two cores in 10 s and 4 GiB; near-linear",
        (
            "`chaos generate --keys 10`: up to four reads and writes in a transaction, 32 writes of a key, ten clients."
            " From the text of the file to the verdict on strict serializability; memory is that of all processes that"
            " read."
        ),
    ),
    "porcupine": (
        "Beside Porcupine",
        "",
        (
            "The same histories of ten clients by both; ours is one thread (seconds of CPU), Porcupine has all cores."
            " An answer of Unknown came after its deadline of 20 s. A ratio above 1: ours is faster."
        ),
    ),
    "cores": (
        "One core against two",
        "at least 1.8 ×",
        "`chaos check --engine local` of one run folder, from start to end, the better of two.",
    ),
    "time-to-report": (
        "Time to the report",
        "less than 3 s after the last final read of a run of 15,000 operations",
        (
            "`chaos run --nemesis random-partition` on minimq, with a cluster, a load and a fault. What comes behind the last"
            " final read: the copies of all replicas are read, nodes' logs are fetched, the cluster ends, the history is"
            " judged, the page is written."
        ),
    ),
}
NAMES = tuple(ABOUT)
_KNOWN = ("who", "cold_s", "warm_s", "median_s", "peak_mib")


def _latest(rows: Sequence[Row], name: str) -> Row | None:
    own = [row for row in rows if row["name"] == name]
    full = [row for row in own if row["scale"] == "full"]
    return (full or own or [None])[-1]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _table(entries: list[Row]) -> list[str]:
    others = list(dict.fromkeys(name for one in entries for name in one if name not in _KNOWN))
    columns: list[tuple[str, str]] = [
        ("who", ""),
        *((name, name) for name in others),
        ("cold_s", "first, s"),
        ("median_s", "then, median s"),
        ("peak_mib", "most memory, MiB"),
    ]
    used = [(name, title) for name, title in columns if any(name in one for one in entries)]
    lines = [f"| {' | '.join(title for _, title in used)} |", "|---" * len(used) + "|"]
    return lines + [f"| {' | '.join(_cell(one.get(name)) for name, _ in used)} |" for one in entries]


def _section(name: str, row: Row | None, now: Code | None) -> list[str]:
    title, goal, about = ABOUT[name]
    lines = ["", f"## {title}", "", about, ""]
    if row is None:
        return [*lines, "Not measured yet."]
    machine = row["machine"]
    lines += [*_table(row["entries"]), ""]
    lines += [f"- {what}: {_cell(figure)}" for what, figure in row["figures"].items()]
    if goal:
        met = {True: "met", False: "**missed**", None: "not decided at this scale"}[row["met"]]
        lines.append(f"- goal: {goal}: {met}")
    if row.get("profile"):
        shares = ", ".join(f"`{function}` {100 * share:.0f} %" for function, share in row["profile"])
        lines.append(f"- where the time goes, by a function's own CPU time: {shares}")
    facts = f"{machine['cores']} cores, {machine['memory']}, Python {machine['python']}, NumPy {machine['numpy']}"
    return [*lines, "", f"Scale {row['scale']}, made by {code_and_dates([row], now)}, {facts}."]


def page(all_rows: Sequence[Row], now: Code | None = None) -> str:
    """The page, given the fingerprints of today's code."""
    rows = counted_rows(all_rows)
    lines = [
        "# Benchmarks",
        "",
        (
            "How fast are the checkers, beside others? Those that are compared were measured in one run on one machine,"
            " so ratios mean more than seconds. Times are wall-clock times unless they are said to be of CPU: the first"
            " call in a fresh process, then the median of several more in the same process (files are in the page cache"
            " by then). Memory is the sum of the resident sets of all processes, sampled ten times a second."
        ),
        "",
        "Generated by `benchmarks/bench.py render` from `docs/data/benchmarks.jsonl`; `make bench` adds rows.",
        "",
        *age_lines(all_rows, now)[:1],
    ]
    for name in NAMES:
        lines += _section(name, _latest(rows, name), now)
    lines += kept_rows.section(all_rows, lambda row: f"{row['name']}, scale {row['scale']}: {row['figures']}")
    return "\n".join(lines) + "\n"
