"""The page of a store: its matrices, how each kind of run fares over nights, and every run. ``view`` is pure."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from reports import words
from reports.across.settings import changed_settings
from reports.across.stores import Store, Stored, StoredMatrix
from reports.across.trend import BROKE, Night, Outcome, Trend, night_of, outcome_of, trends
from reports.matrix.pages import view as matrix_view
from reports.page.html import own_script, template
from reports.page.model import Stamp
from reports.page.spread import Spread, spread_of
from reports.summary.terminal import tone_of

SHOWN_NIGHTS: Final = 30
"""Nights drawn of a trend, the last ones."""
NAMED: Final = 3
"""Settings named that changed from one night to the next."""
_WIDTH, _HEIGHT = 96.0, 22.0
_AXES: Final = ("system", "workload", "nemesis", "cell")
_SIGNS: Final = {words.PASS: "✓", words.FAIL: "✗", words.UNKNOWN: "?"}

Link = Callable[[Stored], str]


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A night of a trend as a small square: a sign, a tone, its words, and the page of its worst run.

    ``changed``: its settings are others than those of the night before.
    """

    sign: str
    tone: str
    words: str
    link: str
    changed: bool


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """Values over nights: the last one in words, a line through all, and what it shows for who cannot see it."""

    last: str
    key: str
    points: str
    words: str


class TrendRow(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of run over nights."""

    values: tuple[str, ...]
    word: str
    tone: str
    nights: int
    marks: tuple[Mark, ...]
    rto: Curve
    rto_note: str
    share: Curve
    lost: int


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run. ``keys``: by what its numbers are sorted, empty where there is none."""

    id: str
    word: str
    tone: str
    archive: str
    said: str
    link: str = ""
    values: tuple[str, ...] = ("",) * len(_AXES)
    rto: str = ""
    share: str = ""
    lost: str = ""
    keys: tuple[str, ...] = ("",) * 3


class MatrixRow(msgspec.Struct, frozen=True, kw_only=True):
    """One matrix."""

    name: str
    link: str
    stamp: Stamp
    sentence: str


class IndexView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is said of a store. ``axes``: what can be filtered by, with its values."""

    title: str
    sentence: str
    facts: tuple[str, ...]
    axes: tuple[tuple[str, tuple[str, ...]], ...]
    matrices: tuple[MatrixRow, ...]
    trends: tuple[TrendRow, ...]
    runs: tuple[RunRow, ...]
    archives: bool


def page(made: IndexView) -> str:
    """The page's text."""
    text, css = template("index.html.j2")
    return text.render(d=made, css=css, js=own_script("table.js"))


def page_link(run: Stored) -> str:
    """Where a run's page is from the store's; empty if it has none."""
    return f"{run.where}/report.html" if run.has_page else ""


def view(
    store: Store, link: Link = page_link, archive: Link | None = None, facts: Sequence[str] = (), title: str = "Runs"
) -> IndexView:
    """Everything that is said of a store.

    Args:
        store: what lies there.
        link: where a run's page is from here.
        archive: where a run can be had as one file from here; None if it cannot.
        facts: more of what is said under the heading.
        title: the heading.
    """
    followed = trends(store.runs)
    rows = tuple(_run(run, link, archive) for run in reversed(store.runs))
    return IndexView(
        title=title,
        sentence=_sentence(store),
        facts=tuple(facts),
        axes=tuple((name, _values(rows, at)) for at, name in enumerate(_AXES)),
        matrices=tuple(_matrix(one) for one in store.matrices),
        trends=tuple(_trend(one, link) for one in followed),
        runs=rows,
        archives=archive is not None,
    )


def word_of(run: Stored) -> str:
    """How a run ended, in a word, or how far it is."""
    if run.figures is None:
        return "unreadable"
    outcome = outcome_of(run)
    return run.figures.run.status if outcome is None else _word(outcome)


def _word(outcome: Outcome) -> str:
    if outcome is None:
        return "not judged"
    return words.BROKE if outcome == BROKE else words.verdict(outcome)  # type: ignore[arg-type]


def _tone(outcome: Outcome) -> str:
    return "" if outcome is None else tone_of(_word(outcome))


def _values(rows: Sequence[RunRow], at: int) -> tuple[str, ...]:
    return tuple(sorted({row.values[at] for row in rows if row.values[at]}))


def _sentence(store: Store) -> str:
    """How many runs of which verdict, over how many nights, and what the last one came to."""
    if not store.runs:
        return "There are no runs here yet."
    told = [word_of(run) for run in store.runs]
    counts = ", ".join(
        f"{told.count(word)} {word}" for word in dict.fromkeys((*_SIGNS, words.BROKE, *told)) if word in told
    )
    nights = {night for run in store.runs if (night := night_of(run.began))}
    last = store.runs[-1]
    newest = f" The newest, {last.id}, is {word_of(last)}." if len(store.runs) > 1 else ""
    return f"{words.plural(len(store.runs), 'run')} in {words.plural(len(nights), 'night')}: {counts}.{newest}"


def _matrix(matrix: StoredMatrix) -> MatrixRow:
    made = matrix_view(matrix.plan, matrix.rows)
    return MatrixRow(
        name=made.title.removeprefix("matrix "),
        link=f"{matrix.where}/index.html",
        stamp=made.stamp,
        sentence=made.sentence,
    )


def _trend(trend: Trend, link: Link) -> TrendRow:
    last, drawn = trend.nights[-1], trend.nights[-SHOWN_NIGHTS:]
    return TrendRow(
        values=msgspec.structs.astuple(trend.kind),
        word=_word(last.outcome),
        tone=_tone(last.outcome),
        nights=len(trend.nights),
        marks=tuple(_mark(night, before, link) for before, night in zip((None, *drawn), drawn, strict=False)),
        rto=msgspec.structs.replace(
            _curve([night.spread.median for night in drawn], words.seconds, "RTO median"), last=_rto(last.spread)
        ),
        rto_note=""
        if trend.rto is None or trend.rto.word not in ("higher", "lower")
        else f"{trend.rto.word} than before",
        share=_curve([night.share for night in drawn], lambda share: f"{100 * share:.1f} %", "available"),
        lost=sum(night.lost for night in trend.nights),
    )


def _mark(night: Night, before: Night | None, link: Link) -> Mark:
    word = _word(night.outcome)
    runs = f", {words.plural(night.runs, 'run')}" if night.runs > 1 else ""
    names = _changed(before, night) if before is not None else []
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    others = f"; changed since the night before: {', '.join(names[:NAMED])}{more}" if names else ""
    return Mark(
        sign=_SIGNS.get(word, "–"),
        tone=_tone(night.outcome),
        words=f"{night.name}: {word}{runs}{others}",
        link=link(night.worst),
        changed=bool(names),
    )


def _changed(before: Night, night: Night) -> list[str]:
    """The settings in which the worst runs of two nights differ."""
    runs = [one.worst.figures.run for one in (before, night) if one.worst.figures is not None]
    return [setting.name for setting in changed_settings(runs)]


def _curve(values: Sequence[float | None], told: Callable[[float], str], name: str) -> Curve:
    """A line through what is known, on a scale from the least to the most."""
    known = [(at, value) for at, value in enumerate(values) if value is not None]
    if not known:
        return Curve(last="—", key="", points="", words="")
    least, most = min(value for _, value in known), max(value for _, value in known)
    step = _WIDTH / max(1, len(values) - 1)
    places = ((at * step, 2 + (_HEIGHT - 4) * (1 - (value - least) / ((most - least) or 1))) for at, value in known)
    last = values[-1]
    said = f"{name} {told(known[0][1])} to {told(known[-1][1])}, between {told(least)} and {told(most)}"
    return Curve(
        last="—" if last is None else told(last),
        key="" if last is None else f"{last:g}",
        points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places) if len(known) > 1 else "",
        words=said if len(known) > 1 else "",
    )


def _rto(spread: Spread) -> str:
    """``2.1 s``, ``2.1 s, 1 never``, ``1 never``, or a dash where no fault cost an outage."""
    never = f"{spread.never} never" if spread.never else ""
    middle = "" if spread.median is None else words.seconds(spread.median)
    return ", ".join(filter(None, (middle, never))) or "—"


def _run(run: Stored, link: Link, archive: Link | None) -> RunRow:
    figures = run.figures
    outcome, where = outcome_of(run), archive(run) if archive is not None else ""
    if figures is None:
        return RunRow(id=run.id, archive=where, word="unreadable", tone="warn", said=run.error)
    info = figures.run
    spread = spread_of(figures.rto.get(figures.change, ()))
    return RunRow(
        id=info.id,
        link=link(run),
        archive=where,
        values=(info.system, info.workload, info.nemesis, run.cell),
        word=word_of(run),
        tone=_tone(outcome),
        rto=_rto(spread),
        share="—" if figures.share is None else f"{100 * figures.share:.1f} %",
        lost="—" if figures.lost is None else words.count(figures.lost),
        keys=tuple("" if key is None else f"{key:g}" for key in (spread.median, figures.share, figures.lost)),
        said=figures.sentence,
    )
