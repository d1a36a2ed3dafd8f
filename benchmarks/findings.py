"""What was found in real systems: runs each finding's command over seeds and writes docs/results/findings.md.

    .venv/bin/python benchmarks/findings.py run [--stale] [--only NAME ...] [--seeds 1-5] [--most N] [--store DIR]
    .venv/bin/python benchmarks/findings.py run --only NAME --matrix-run ID
    .venv/bin/python benchmarks/findings.py render

Rows go to docs/data/findings.jsonl, one a run, as soon as it has ended. Runs that have a row are left out, so the
command can be cut off and given again. ``render`` is a pure function of that file, of the texts in ``found`` and of the
fingerprints of the code.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import rows as kept_rows
import yaml
from rows import DATA, ROOT, Code, Row, age_lines, append_row, code_and_dates, counted_rows, stored_rows
from runs import Job, parser, run_series

ROWS = DATA / "findings.jsonl"
MATRIX = DATA / "rocketmq.jsonl"
PAGE = ROOT / "docs" / "results" / "findings.md"
FOUND: Final = Path(__file__).parent / "found"
"""A file of findings for each system, named as the system is. A folder beside it holds their sequences of faults."""
NOT_RUN: Final = "Not run yet. What stands above is what to expect of this command."
NOT_SHOWN: Final = "None of these runs shows it."
COLUMNS = ("f", "type", "process", "node", "value", "offset", "from", "next", "invoke_s", "complete_s")


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finding: its command with a place for the seed, the anomaly that shows it, and what it means.

    ``control``: the same with what repairs it, which must not show the anomaly; ``repaired`` says by what. ``seeds``:
    those whose plan has the fault that matters; empty for any. ``seen``: what was seen once, as lines, of something that
    no command shows at will; such a finding has no command and no runs.
    """

    name: str
    title: str
    text: str
    anomaly: str = ""
    command: str = ""
    control: str = ""
    repaired: str = ""
    seeds: tuple[int, ...] = ()
    seen: tuple[str, ...] = ()


def findings() -> tuple[Finding, ...]:
    """All findings, in the order of the files' names and in that of each file."""
    texts = (yaml.safe_load(path.read_text()) for path in sorted(FOUND.glob("*.yaml")))
    return tuple(msgspec.convert(one, Finding) for found in texts for one in found)


def minimal_operations(folder: Path, anomaly: str) -> list[dict[str, Any]]:
    """The first example's operations, the columns a reader needs."""
    found = json.loads((folder / "results.json").read_text())["anomalies"].get(anomaly)
    if not found or not found["examples"]:
        return []
    return [{c: op.get(c) for c in COLUMNS if op.get(c) is not None} for op in found["examples"][0]["ops"]]


def _system(command: str) -> str:
    """The system that a command names."""
    words = command.split()
    return words[words.index("--system") + 1]


def jobs_of(only: Collection[str], seeds: Sequence[int]) -> list[Job]:
    """The runs of the findings that a run can show, each with its control; of those named, or of all."""
    return [
        Job({"finding": finding.name, "command": filled}, filled, _system(filled))
        for finding in findings()
        if not finding.seen and (not only or finding.name in only)
        for command in filter(None, (finding.command, finding.control))
        for filled in (command.format(seed=seed) for seed in finding.seeds or seeds)
    ]


def _finding_named(name: str) -> Finding:
    return next(each for each in findings() if each.name == name)


def history_row(folder: Path, row: Row) -> Row:
    """The minimal history of what a run showed."""
    return {
        "minimal": minimal_operations(folder, _finding_named(row["finding"]).anomaly)
        if row["valid"] is not None
        else []
    }


def keep_finding(name: str, run: str, store: Path) -> None:
    """Keep a run of the seed matrix that showed a finding, with its minimal history."""
    row = next(row for row in stored_rows(MATRIX) if row["run"] == run)
    folder = next(store.glob(f"*/{run}"))
    append_row(ROWS, {"finding": name, **row, "minimal": minimal_operations(folder, _finding_named(name).anomaly)})


def _is_control(finding: Finding, row: Row) -> bool:
    return bool(finding.control) and row["command"] == finding.control.format(seed=row["seed"])


def _shows(finding: Finding, row: Row) -> bool:
    return bool(row["anomalies"].get(finding.anomaly))


def _share_text(found: int, rows: Sequence[Row]) -> str:
    return f"{found} of {len(rows)}" if rows else "not run yet"


def summary(every: Sequence[Finding], rows: Sequence[Row]) -> list[str]:
    """A line for each finding that a run can show: how many runs show it, and how many controls pass."""
    lines = [
        (
            "A run shows a finding if its verdict names the anomaly, be it as a failure or as what the system may do."
            " A control passes if its verdict is PASS. An entry that was not run yet says what to expect, and no more."
        ),
        "",
        "| finding | anomaly | runs that show it | controls that pass |",
        "|---|---|---|---|",
    ]
    for finding in (one for one in every if not one.seen):
        mine = [row for row in rows if row["finding"] == finding.name]
        beside = [row for row in mine if _is_control(finding, row)]
        shows = [row for row in mine if not _is_control(finding, row)]
        seen = _share_text(sum(_shows(finding, row) for row in shows), shows)
        passing = _share_text(sum(row["valid"] is True for row in beside), beside) if finding.control else "none"
        lines.append(f"| {finding.title} | `{finding.anomaly}` | {seen} | {passing} |")
    return [*lines, ""]


def _table(finding: Finding, rows: Sequence[Row], now: Code | None) -> Iterator[str]:
    """The runs, one a line."""
    yield f"| seed | exit | acknowledged | {finding.anomaly} | what the run said | made by |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        acked, count = (
            row["counts"].get("send ok", row["counts"].get("ok", 0)),
            row["anomalies"].get(finding.anomaly, 0),
        )
        said = row["sentence"] or row["reason"]
        yield f"| {row['seed']} | {row['exit']} | {acked} | {count} | {said} | {code_and_dates([row], now)} |"


def section(finding: Finding, rows: Sequence[Row], now: Code | None) -> list[str]:
    """One finding as Markdown lines."""
    out = [f"## {finding.title}", "", finding.text, "", "```"]
    if finding.seen:
        return [*out, *finding.seen, "```", ""]
    out += [finding.command.format(seed="SEED"), "```", ""]
    shows = [row for row in rows if not _is_control(finding, row)]
    out += _table(finding, shows, now) if shows else [NOT_RUN]
    if shows and not any(_shows(finding, row) for row in shows):
        out += ["", NOT_SHOWN]
    mine = {row["seed"]: sorted(finding.command.format(seed=row["seed"]).split()) for row in shows}
    others = [row for row in shows if sorted(row["command"].split()) != mine[row["seed"]]]
    out += [line for row in others for line in ("", f"Seed {row['seed']} was run as `{row['command']}`.")]
    if finding.control:
        beside = [row for row in rows if _is_control(finding, row)]
        out += ["", f"Control: {finding.repaired}.", "", "```", finding.control.format(seed="SEED"), "```", ""]
        out += _table(finding, beside, now) if beside else ["The control was not run yet."]
    shown = next((row for row in shows if row["minimal"]), None)
    if shown is not None:
        out += ["", f"Minimal history, from seed {shown['seed']}:", "", "```"]
        out += [json.dumps(op) for op in shown["minimal"]]
        out += ["```"]
    return [*out, ""]


def page(rows: Sequence[Row], now: Code | None = None) -> str:
    """docs/results/findings.md as a pure function of the rows and of the fingerprints of today's code."""
    lines = [
        "# Findings",
        "",
        (
            "What did chaos find in real systems? Each entry has the command that shows it and the runs that were made."
            " The page is generated by `benchmarks/findings.py render` from `docs/data/findings.jsonl`; rows are added"
            " by `.venv/bin/python benchmarks/findings.py run`."
        ),
        "",
        *age_lines(rows, now),
        *summary(findings(), counted_rows(rows)),
    ]
    for finding in findings():
        mine = sorted(
            (row for row in counted_rows(rows) if row["finding"] == finding.name), key=lambda row: row["seed"]
        )
        lines += section(finding, mine, now)
    lines += kept_rows.section(rows, lambda row: f"{row['finding']}, seed {row['seed']}, exit {row['exit']}")
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Parse and act."""
    options = parser(__doc__, "1-5")
    options.add_argument(
        "--only", action="append", default=[], choices=[finding.name for finding in findings()], metavar="NAME"
    )
    options.add_argument("--matrix-run", help="take this run of docs/data/rocketmq.jsonl for --only; run nothing")
    args = options.parse_args()
    if args.matrix_run and len(args.only) != 1:
        options.error("--matrix-run needs one --only NAME: the finding that it shows")
    if args.what == "run" and args.matrix_run:
        keep_finding(args.only[0], args.matrix_run, args.store)
    elif args.what == "run":
        run_series(ROWS, jobs_of(args.only, args.seeds), args, history_row)
    PAGE.write_text(page(stored_rows(ROWS)))


if __name__ == "__main__":
    main()
