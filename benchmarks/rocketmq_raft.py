"""The paper's experiment on RocketMQ with Raft controllers: keeps the rows of a matrix, and writes what they say.

    chaos matrix rocketmq-raft --scale 0.05
    .venv/bin/python benchmarks/rocketmq_raft.py keep store/matrix-rocketmq-raft
    .venv/bin/python benchmarks/rocketmq_raft.py render

``keep`` copies plan and rows to docs/data/rocketmq-raft/; ``render`` writes docs/results/rocketmq-raft.md and .html, a pure
function of these. Each claim of the paper is held against a rule that stands beside it; nothing is typed by hand.
"""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

import rows as kept_rows
from rows import DATA as ALL_DATA
from rows import ROOT, Code, Row, age_lines, code_and_dates, counted_rows, origin, replace_row, stored_rows
from sources import deciding_sources

from chaos.core.matrix_results import PLAN, ROWS, CellRow, MatrixPlan, current, read_plan, read_rows
from chaos.matrix.model import jobs_of
from chaos.matrix.read import read_matrix
from reports import words
from reports.matrix.pages import page as matrix_page
from reports.matrix.pages import view
from reports.matrix.recovery import pooled_spread
from reports.page.spread import Spread

DATA = ALL_DATA / "rocketmq-raft"
ORIGINS = DATA / "origin.jsonl"
PAGE = ROOT / "docs" / "results" / "rocketmq-raft.md"
HTML = ROOT / "docs" / "results" / "rocketmq-raft.html"

SCENARIO, STORAGE, CONTROLLER = "scenario", "storage", "controller"
CLAIMED_RTO_S = 3.0
RTO_MARGIN_S = 1.5


def nemeses(name: str) -> list[str]:
    """What the runs of a matrix inject: every nemesis that it names, also in steps, once."""
    asked = [job.config.values for job in jobs_of(read_matrix(name))]
    texts = [
        [step.nemesis for step in one["sequence"].steps] if "sequence" in one else [one["nemesis"]] for one in asked
    ]
    return sorted({text for run in texts for text in run})


def keep_matrix(folder: Path, why: str) -> None:
    """Copy the plan and the rows of a finished matrix, and say which code made them; the matrix before moves aside.

    Raises:
        SystemExit: a run has no row yet; the tree has changes that no commit holds.
    """
    plan = read_plan(folder)
    left = len(plan.jobs) - len(current(plan.jobs, read_rows(folder)))
    if left:
        raise SystemExit(f"{folder}: {left} of {len(plan.jobs)} runs are not done; the command that began it goes on")
    row = {
        "name": plan.name,
        **origin(
            deciding_sources("rocketmq", "queue", *nemeses(plan.name)),
            f"chaos matrix {plan.name} --scale {plan.scale:g}",
        ),
    }
    for old in counted_rows(stored_rows(ORIGINS)):
        aside = DATA / f"until-{row['commit']}"
        aside.mkdir(parents=True)
        for name in (PLAN, ROWS):
            shutil.move(DATA / name, aside / name)
        print(f"the matrix of {old['began'][:10]} is in {aside} now")
    DATA.mkdir(parents=True, exist_ok=True)
    replace_row(ORIGINS, row, lambda _: True, why)
    for name in (PLAN, ROWS):
        shutil.copyfile(folder / name, DATA / name)


def claims(rows: Sequence[CellRow]) -> list[tuple[str, str, str, str]]:
    """(claim, rule, answer, evidence) for each claim of the paper; the answer is confirmed, refuted or not decided."""
    return [_no_loss(rows), _about_three_seconds(rows), _invisible(rows)]


def _no_loss(rows: Sequence[CellRow]) -> tuple[str, str, str, str]:
    lost = [row for row in rows if row.anomalies.get("lost-write")]
    undecided = [row for row in rows if row.verdict in ("unknown", "broke")]
    rule = "refuted by one acknowledged message lost in one run; confirmed if none was lost and each run has a verdict"
    if lost:
        number = sum(row.anomalies["lost-write"] for row in lost)
        cells = ", ".join(sorted({row.cell for row in lost}))
        said = f"{words.plural(number, 'acknowledged message')} lost in {len(lost)} of {len(rows)} runs: {cells}"
        return ("No acknowledged message is lost.", rule, "refuted", said)
    answer = "not decided" if undecided or not rows else "confirmed"
    said = f"none lost in {len(rows)} runs" + (f", {len(undecided)} of them without a verdict" if undecided else "")
    return ("No acknowledged message is lost.", rule, answer, said)


def _about_three_seconds(rows: Sequence[CellRow]) -> tuple[str, str, str, str]:
    hit = [row for row in rows if not row.values[SCENARIO].startswith("controller-")]
    spread = pooled_spread(hit)
    alone, both = (
        pooled_spread([row for row in hit if row.values[SCENARIO].startswith(prefix)])
        for prefix in ("broker-", "both-")
    )
    rule = (
        f"over all faults that hit brokers and stopped sends: confirmed if the median recovery is {CLAIMED_RTO_S:g} s"
        f" ± {RTO_MARGIN_S:g} s, refuted if it is not"
    )
    if spread.median is None:
        return ("Service recovers in about 3 s.", rule, "not decided", "no fault stopped sends")
    good = abs(spread.median - CLAIMED_RTO_S) <= RTO_MARGIN_S
    return (
        "Service recovers in about 3 s.",
        rule,
        "confirmed" if good else "refuted",
        f"{_spread(spread)}. Brokers alone: {_spread(alone)}. Controllers at once: {_spread(both)}",
    )


def _invisible(rows: Sequence[CellRow]) -> tuple[str, str, str, str]:
    spread = pooled_spread([row for row in rows if row.values[SCENARIO].startswith("controller-")])
    rule = "over all faults of controllers alone: confirmed if none stopped sends (semantics.md, rule 18), else refuted"
    claim = "Faults of controllers are invisible to brokers."
    if not spread.faults:
        return (claim, rule, "not decided", "no such fault was done")
    return (claim, rule, "refuted" if spread.dots or spread.never else "confirmed", _spread(spread))


def _spread(spread: Spread) -> str:
    said = f"{words.plural(spread.faults, 'fault')}, {spread.none} without an outage"
    if spread.never:
        said += f", {spread.never} without recovery"
    if spread.median is not None and spread.longest is not None:
        said += f"; the others: median {words.seconds(spread.median)}, longest {words.seconds(spread.longest)}"
    return said


def _cell(rows: Sequence[CellRow]) -> str:
    """One cell of the table: verdicts, recovery of sends, losses."""
    if not rows:
        return "not done"
    spread = pooled_spread(rows)
    middle = "no outage" if spread.median is None else words.seconds(spread.median)
    never = f", {spread.never} never" if spread.never else ""
    lost = sum(row.anomalies.get("lost-write", 0) for row in rows)
    verdicts = ", ".join(
        f"{number} {verdict}" if len(rows) > 1 else verdict
        for verdict in ("valid", "invalid", "unknown", "broke")
        if (number := sum(row.verdict == verdict for row in rows))
    )
    red = f", **{lost} lost**" if lost else ""
    return f"{middle} ({len(spread.dots)} of {spread.faults}{never}), {verdicts}{red}"


def page(plan: MatrixPlan, rows: Sequence[CellRow], origins: Sequence[Row], now: Code | None = None) -> str:
    """docs/results/rocketmq-raft.md as a pure function of plan, rows, where they come from, and today's code."""
    done = [row for job in plan.jobs if (row := current(plan.jobs, rows).get(job.id)) is not None]
    systems = ", ".join(sorted({row.system for row in done if row.system}))
    faults = sum(row.proven for row in done)
    lines = [
        "# RocketMQ with Raft controllers, under the paper's faults",
        "",
        (
            f"{plan.about} {words.plural(len(done), 'run')} of {systems}, {words.plural(faults, 'proven fault')},"
            f" scale {plan.scale:g}, seed {plan.seed}, on one machine. Every number below is made of the rows in"
            " docs/data/rocketmq-raft by `benchmarks/rocketmq_raft.py render`; [the same as a page](rocketmq-raft.html)."
        ),
        "",
        "```",
        f"chaos matrix rocketmq-raft{'' if plan.scale == 1 else f' --scale {plan.scale:g}'}",
        "benchmarks/rocketmq_raft.py keep store/matrix-rocketmq-raft",
        "benchmarks/rocketmq_raft.py render",
        "```",
        "",
        f"Made by {code_and_dates(counted_rows(origins), now)}.",
        "",
        *age_lines(origins, now),
        "## The paper's claims",
        "",
        "| claim | rule | answer | what was measured |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in claims(done)),
        "",
        "## Recovery of sends by cell",
        "",
        (
            "Median over the faults that stopped sends (how many of how many did), then the verdicts. Sends are stopped"
            " when three in a row, or a second of them, are not acknowledged. Where brokers and controllers are hit at"
            " once, each of the two faults counts the same outage."
        ),
        "",
    ]
    columns = [(storage, controller) for storage in plan.axes[STORAGE] for controller in plan.axes[CONTROLLER]]
    lines.append(f"| scenario | {' | '.join(f'{storage}, {controller}' for storage, controller in columns)} |")
    lines.append("|---" * (len(columns) + 1) + "|")
    for scenario in plan.axes[SCENARIO]:
        cells = [
            _cell(
                [
                    row
                    for row in done
                    if (row.values[SCENARIO], row.values[STORAGE], row.values[CONTROLLER]) == (scenario, *column)
                ]
            )
            for column in columns
        ]
        lines.append(f"| {scenario} | {' | '.join(cells)} |")
    lines += ["", "## Runs that were not valid", ""]
    red = [row for row in done if row.verdict != "valid"]
    lines += [f"- {row.id}, seed {row.seed}, {row.verdict}: {row.sentence or row.reason}" for row in red] or ["None."]
    lines += kept_rows.section(origins, lambda row: row["command"])
    return "\n".join(lines) + "\n"


def html(plan: MatrixPlan, rows: Sequence[CellRow]) -> str:
    """docs/results/rocketmq-raft.html, the matrix' own page without links to its runs."""
    return matrix_page(view(plan, rows, reported=()))


def main() -> None:
    """Parse and act."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["keep", "render"])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "store" / "matrix-rocketmq-raft")
    parser.add_argument("--why", default="", help="why the matrix before does not count any more")
    args = parser.parse_args()
    if args.what == "keep":
        keep_matrix(args.folder, args.why)
    plan, rows = read_plan(DATA), read_rows(DATA)
    PAGE.write_text(page(plan, rows, stored_rows(ORIGINS)))
    HTML.write_text(html(plan, rows))


if __name__ == "__main__":
    main()
