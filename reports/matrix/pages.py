"""The pages of a matrix: ``index.html``, ``junit.xml`` and ``summary.md``, from its plan and its rows alone.

``view`` is pure; ``write_pages`` is a thin shell around it. Does not look into the runs: their rows say all that is
shown here, and links lead to their own reports.
"""

import itertools
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.fault_nature import Colour, of_name
from chaos.core.matrix_results import CellRow, MatrixPlan, Planned, current, read_plan, read_rows
from reports import words
from reports.junit import Case, as_text, suite, threshold_cases
from reports.matrix.recovery import change_of, pooled_spread
from reports.matrix.thresholds import ThresholdCell, held_count_text, unmet_thresholds
from reports.page.html import REPORT, own_script, template
from reports.page.model import Stamp
from reports.page.spread import Spread, SpreadRow, scale_of, spread_row
from reports.summary.markdown import table

TONES: Final = {"valid": "good", "invalid": "bad", "unknown": "warn", "broke": "warn"}
PENDING: Final = "not done"
HEATS: Final = 5
"""Shades of a cell by its recovery time."""

_SHOWN_RUNS: Final = 6


class RunLink(msgspec.Struct, frozen=True, kw_only=True):
    """One run in a cell of a table. ``link``: its report, if that lies beside; ``anchor``: its row on this page."""

    id: str
    word: str
    tone: str
    link: str
    anchor: str


class CellView(msgspec.Struct, frozen=True, kw_only=True):
    """All runs with one value of each of two axes. ``tone``: of the worst; ``heat``: its RTO, from 0 to 5."""

    runs: tuple[RunLink, ...]
    tone: str
    heat: int
    more: str
    words: str
    spread: SpreadRow


class PairTable(msgspec.Struct, frozen=True, kw_only=True):
    """One axis down, another across; cells without runs are None."""

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[CellView | None, ...]], ...]


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One job, done or not.

    ``values``: of the axes, in their order. ``keys``: by what its numbers are sorted: faults proven, skipped, median of
    changes, lost, took; empty where there is none.
    """

    id: str
    link: str
    anchor: str
    values: tuple[str, ...]
    keys: tuple[str, ...]
    word: str
    tone: str
    faults: str
    skipped: str
    rto: str
    lost: str
    took: str
    said: str
    earlier: int


class MatrixView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is said of a matrix.

    ``change``: what a change is called whose recovery is measured. ``unmet``: thresholds that do not hold.
    """

    title: str
    stamp: Stamp
    sentence: str
    about: str
    facts: tuple[str, ...]
    axes: tuple[tuple[str, tuple[str, ...]], ...]
    tables: tuple[PairTable, ...]
    spreads: tuple[SpreadRow, ...]
    scale: str
    change: str
    runs: tuple[RunRow, ...]
    unmet: tuple[ThresholdCell, ...]


def write_pages(folder: Path) -> None:
    """Write the three files of a matrix' folder, each whole or not at all.

    Raises:
        HistoryError: the folder has no plan, or a file in it cannot be read.
    """
    plan, rows = read_plan(folder), read_rows(folder)
    present = {row.run for row in rows if row.run and (folder / row.run / REPORT).is_file()}
    for name, text in texts(plan, rows, present).items():
        partial = folder / f"{name}.partial"
        partial.write_text(text, encoding="utf-8")
        partial.replace(folder / name)


def texts(plan: MatrixPlan, rows: Sequence[CellRow], reported: Collection[str]) -> dict[str, str]:
    """The three files by name; ``reported``: the folders of runs, relative to these files, whose pages are there."""
    made = view(plan, rows, reported)
    return {"index.html": page(made), "junit.xml": junit(plan, rows), "summary.md": summary(made)}


def page(made: MatrixView) -> str:
    """The page's text."""
    text, css = template("matrix.html.j2")
    return text.render(d=made, css=css, js=own_script("table.js"))


def view(plan: MatrixPlan, rows: Sequence[CellRow], reported: Collection[str] | None = None) -> MatrixView:
    """Everything that is said of a matrix; ``reported``: the folders of runs with a page, None: all have one."""
    if reported is not None:
        rows = [row if row.run in reported else msgspec.structs.replace(row, run="") for row in rows]
    done = current(plan.jobs, rows)
    all_rows = [done[job.id] for job in plan.jobs if job.id in done]
    scale_s = scale_of([pooled_spread([row]) for row in all_rows])
    counts = {verdict: sum(row.verdict == verdict for row in all_rows) for verdict in TONES}
    return MatrixView(
        title=f"matrix {plan.name}",
        stamp=_stamp(counts, len(plan.jobs)),
        sentence=_sentence(plan, all_rows, counts),
        about=plan.about,
        facts=_facts(plan, all_rows),
        axes=tuple(plan.axes.items()),
        tables=tuple(_tables(plan, all_rows, scale_s)),
        spreads=tuple(_spreads(plan, all_rows, scale_s)),
        scale=words.seconds(scale_s),
        change=change_of(all_rows),
        runs=tuple(_run(job, tuple(plan.axes), done.get(job.id)) for job in plan.jobs),
        unmet=unmet_thresholds(all_rows),
    )


def _stamp(counts: dict[str, int], jobs: int) -> Stamp:
    for verdict in ("broke", "invalid", "unknown"):
        if counts[verdict]:
            return Stamp(words.VERDICTS[verdict], TONES[verdict])
    return Stamp(words.PASS, "good") if counts["valid"] == jobs else Stamp("NOT DONE", "warn")


def _sentence(plan: MatrixPlan, rows: Sequence[CellRow], counts: dict[str, int]) -> str:
    parts = [f"{number} {words.VERDICTS[verdict]}" for verdict, number in counts.items() if number]
    left = len(plan.jobs) - len(rows)
    parts += [f"{left} {PENDING}"] if left else []
    faults, lost = sum(row.proven for row in rows), sum(row.lost for row in rows)
    planned, skipped = sum(row.planned for row in rows), sum(row.skipped for row in rows)
    left_out = f" {skipped} of {words.plural(planned, 'planned fault')} skipped," if skipped else ""
    thresholds = held_count_text(rows)
    first = f"{thresholds}. " if any(one.state != "held" for row in rows for one in row.thresholds) else ""
    last = f" {thresholds}." if thresholds and not first else ""
    excused = sum(row.answer != row.verdict for row in rows)
    last += f" {words.plural(excused, 'run')} with findings that are allowed or not in fail-on." if excused else ""
    return (
        f"{first}{words.plural(len(plan.jobs), 'run')}: {', '.join(parts)}."
        f" {words.plural(faults, 'fault')} proven,{left_out}"
        f" {words.plural(lost, 'acknowledged message')} lost.{last}"
    )


def _facts(plan: MatrixPlan, rows: Sequence[CellRow]) -> tuple[str, ...]:
    facts = [
        plan.file,
        " × ".join(f"{len(values)} {axis}" for axis, values in plan.axes.items()),
        words.plural(plan.repeats, "repeat"),
        f"seed {plan.seed}",
        f"scale {plan.scale:g}" if plan.scale != 1 else "",
        ", ".join(sorted({row.system for row in rows if row.system})),
        f"{words.seconds(sum(row.took_s for row in rows))} in all" if rows else "",
    ]
    return tuple(fact for fact in facts if fact)


def _tables(plan: MatrixPlan, rows: Sequence[CellRow], scale_s: float) -> Iterator[PairTable]:
    """One table a pair of axes; one axis alone is a table of one column."""
    axes = list(plan.axes)
    pairs = list(itertools.combinations(axes, 2)) or [(axes[0], "")]
    for down, across in pairs:
        columns = plan.axes[across] if across else ("all",)
        yield PairTable(
            title=f"{down} × {across}" if across else down,
            corner=down,
            columns=columns,
            rows=tuple(
                (
                    name,
                    tuple(
                        _cell(
                            [
                                row
                                for row in rows
                                if row.values[down] == name and (not across or row.values[across] == column)
                            ],
                            name,
                            scale_s,
                        )
                        for column in columns
                    ),
                )
                for name in plan.axes[down]
            ),
        )


def _cell(rows: Sequence[CellRow], name: str, scale_s: float) -> CellView | None:
    if not rows:
        return None
    spread = pooled_spread(rows)
    order = ("broke", "invalid", "unknown", "valid")
    worst_first = sorted(rows, key=lambda row: order.index(row.verdict))
    links = tuple(
        RunLink(
            id=row.id, word=words.VERDICTS[row.verdict], tone=TONES[row.verdict], link=_link(row), anchor=_anchor(row)
        )
        for row in worst_first[:_SHOWN_RUNS]
    )
    more = len(rows) - len(links)
    middle = f"median {words.seconds(spread.median)}" if spread.median is not None else "no outage"
    never = f", {spread.never} never" if spread.never else ""
    return CellView(
        runs=links,
        tone=links[0].tone,
        heat=_heat(spread, scale_s),
        more=f"and {more} more" if more else "",
        words=f"{middle}, {words.plural(spread.faults, 'fault')}{never}",
        spread=spread_row(name, _colour(rows, name), change_of(rows), spread, scale_s),
    )


def _heat(spread: Spread, scale_s: float) -> int:
    """A fifth of the scale each; what never recovered is the hottest."""
    if spread.never:
        return HEATS
    return 0 if spread.median is None else min(HEATS, 1 + int(HEATS * spread.median / scale_s))


def _colour(rows: Sequence[CellRow], name: str) -> Colour:
    """The colour that all faults of these runs have; grey where they differ. Older rows tell it by the name alone."""
    said = {row.colour for row in rows if row.colour is not None}
    if not said:
        return of_name(name).nature.colour
    return said.pop() if len(said) == 1 else "grey"


def _anchor(job: Planned) -> str:
    """The row of a run on the page."""
    return f"run-{job.id}"


def _link(row: CellRow) -> str:
    return f"{row.run}/{REPORT}" if row.run else ""


def _spreads(plan: MatrixPlan, rows: Sequence[CellRow], scale_s: float) -> Iterator[SpreadRow]:
    for axis, values in plan.axes.items():
        for name in values:
            own = [row for row in rows if row.values[axis] == name]
            spread = pooled_spread(own)
            if spread.faults:
                yield spread_row(f"{axis} {name}", _colour(own, name), change_of(own), spread, scale_s)


def _run(job: Planned, axes: Sequence[str], row: CellRow | None) -> RunRow:
    values = tuple(job.values[axis] for axis in axes)
    if row is None:
        return RunRow(
            id=job.id,
            link="",
            anchor=_anchor(job),
            values=values,
            keys=("",) * 5,
            word=PENDING,
            tone="",
            faults="",
            skipped="",
            rto="",
            lost="",
            took="",
            said="",
            earlier=0,
        )
    spread = pooled_spread([row])
    return RunRow(
        id=row.id,
        link=_link(row),
        anchor=_anchor(job),
        values=values,
        keys=tuple(
            "" if key is None else f"{key:g}" for key in (row.proven, row.skipped, spread.median, row.lost, row.took_s)
        ),
        word=words.VERDICTS[row.verdict],
        tone=TONES[row.verdict],
        faults=f"{row.proven} of {row.planned}",
        skipped=str(row.skipped),
        rto="—" if spread.median is None else words.seconds(spread.median),
        lost=words.count(row.lost),
        took=words.seconds(row.took_s),
        said=row.sentence if row.verdict in ("valid", "invalid") else row.reason,
        earlier=len(row.earlier),
    )


def junit(plan: MatrixPlan, rows: Sequence[CellRow]) -> str:
    """JUnit's XML: a test case a job and one for each of its thresholds.

    FAIL is a failure unless it is excused, UNKNOWN and BROKE are errors, not done is skipped.
    """
    done = current(plan.jobs, rows)
    cases = []
    for job in plan.jobs:
        row = done.get(job.id)
        if row is None:
            cases.append(Case(plan.name, job.id, "skipped", message=PENDING))
            continue
        cases.append(_case(plan.name, row))
        cases += threshold_cases(plan.name, f"{job.id}: ", row.thresholds, row.gate)
    return as_text(suite(plan.name, cases, sum(case.took_s or 0.0 for case in cases)))


def _case(group: str, row: CellRow) -> Case:
    if row.answer == "invalid":
        found = [name for name in row.anomalies if name not in row.allowed]
        found += [one.text for one in row.thresholds if one.state == "broken"]
        return Case(group, row.id, "failure", ", ".join(found), row.sentence or row.reason, took_s=row.took_s)
    if row.answer != "valid":
        return Case(group, row.id, "error", row.answer, row.reason, took_s=row.took_s)
    note = "" if row.verdict == "valid" else f"{words.VERDICTS[row.verdict]}, and excused: {row.sentence}"
    return Case(group, row.id, note=note, took_s=row.took_s)


def summary(made: MatrixView) -> str:
    """The same in Markdown: the sentence, thresholds that do not hold, and a line a run."""
    rows = [
        (
            f"[{run.id}]({run.link})" if run.link else run.id,
            *(run.word, run.faults, run.skipped, run.rto, run.lost, run.took, run.said),
        )
        for run in made.runs
    ]
    missed = [(f"`{one.text}`", one.word, one.run, one.said) for one in made.unmet]
    head = ("run", "verdict", "faults proven", "skipped", f"{made.change} RTO median", "lost", "took", "what was found")
    lines = [f"# {made.title}: {made.stamp.word}", "", made.sentence, "", " · ".join(made.facts), ""]
    return "\n".join([*lines, *table(("threshold", "verdict", "run", "measured"), missed), *table(head, rows)])
