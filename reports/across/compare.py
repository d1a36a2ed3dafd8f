"""What differs between runs: settings, verdicts, what was found, recovery, service. Pure.

Every run is held against the first. A measured figure is called different only where that is more than the spread of
the runs themselves explains (``reports.across.noise``); where nothing is known of its spread, nothing is said.
"""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final, Literal

import msgspec

from chaos.core.matrix_results import Recovery
from chaos.core.verdict import Valid
from reports import words
from reports.across.figures import BLOCK_S, Figures
from reports.across.noise import Difference, as_numbers, difference
from reports.across.settings import Changed, changed_settings
from reports.page.spread import spread_of

MOST: Final = 8
"""Runs beside each other at most: more fit no screen; the index is for them."""
_NAMED: Final = 8
"""Settings that the sentence about them names at most; the table below has them all."""
FAULTS: Final = "faults"
MEDIAN: Final = ", median"
BLOCKS: Final = f"blocks of {BLOCK_S:g} s"

Unit = Literal["count", "s", "ms", "share", "verdict", "text"]
Value = str | float | bool | None


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One run: its letter, and where it is from. ``verdict``: None where it was not judged. ``path``: its folder."""

    letter: str
    id: str
    path: str
    valid: Valid | None
    status: str
    sentence: str
    system: str
    workload: str
    nemesis: str
    seed: int
    chaos_version: str
    revision: str
    began: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of every run. ``against``: how each run but the first stands to the first, where that can be said.

    ``differs``: it is said, or it is a fact that has no spread, as a verdict.
    """

    name: str
    unit: Unit
    values: tuple[Value, ...]
    differs: bool
    against: tuple[Difference, ...] = ()


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """Rows under a heading."""

    title: str
    rows: tuple[Row, ...]


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was measured more than once: for each run its values in seconds.

    ``of``: what was done to the system, or which latency. ``f``: the kind of operation, empty for all.
    """

    of: str
    f: str
    colour: str
    values: tuple[tuple[Recovery, ...], ...]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is said of some runs beside each other."""

    sentences: tuple[str, ...]
    runs: tuple[Column, ...]
    settings: tuple[Changed, ...]
    sections: tuple[Section, ...]
    recoveries: tuple[Distribution, ...]
    latencies: tuple[Distribution, ...]


def compare(runs: Sequence[Figures], paths: Sequence[str]) -> Comparison:
    """Hold runs against the first of them; ``paths``: their folders, as people name them."""
    columns = tuple(_column(position, one, path) for position, (one, path) in enumerate(zip(runs, paths, strict=True)))
    settings = changed_settings([one.run for one in runs])
    sections = tuple(
        section for section in (_checks(runs), _found(runs), _recovery(runs), _service(runs)) if section.rows
    )
    return Comparison(
        sentences=tuple(_sentences(columns, settings, sections)),
        runs=columns,
        settings=settings,
        sections=sections,
        recoveries=tuple(_recoveries(runs)),
        latencies=tuple(_latencies(runs)),
    )


def letter(position: int) -> str:
    """``A`` for the first run."""
    return chr(ord("A") + position)


def value_text(value: Value, unit: Unit) -> str:
    """A value as people read it; a dash for none."""
    if value is None:
        return "—"
    if unit == "verdict":
        return words.verdict(value) if value in (True, False, "unknown") else str(value)  # type: ignore[arg-type]
    if isinstance(value, str):
        return value
    if unit == "share":
        return f"{100 * value:.1f} %"
    if unit == "s":
        return words.seconds(value)
    return words.seconds(value / 1000) if unit == "ms" else words.count(int(value))


def _column(position: int, one: Figures, path: str) -> Column:
    run = one.run
    return Column(
        letter=letter(position),
        id=run.id,
        path=path,
        valid=one.valid,
        status=run.status,
        sentence=one.sentence,
        system=f"{run.system} {run.system_version}",
        workload=run.workload,
        nemesis=run.nemesis,
        seed=run.seed,
        chaos_version=run.chaos_version,
        revision=str(run.machine.get("revision", "")),
        began=run.origin_utc,
    )


def _fact(name: str, unit: Unit, values: Sequence[Value]) -> Row:
    """A figure without a spread: it differs if it is another where it is known."""
    return Row(name=name, unit=unit, values=tuple(values), differs=len({one for one in values if one is not None}) > 1)


def _figure(name: str, unit: Unit, values: Sequence[Value]) -> Row:
    """A figure of whose spread nothing is known: it is shown, and nothing is said."""
    return Row(name=name, unit=unit, values=tuple(values), differs=False)


def _measured(name: str, unit: Unit, values: Sequence[Value], against: Sequence[Difference]) -> Row:
    clear = any(one.word in ("higher", "lower") for one in against)
    return Row(name=name, unit=unit, values=tuple(values), differs=clear, against=tuple(against))


def _checks(runs: Sequence[Figures]) -> Section:
    names = dict.fromkeys(name for one in runs for name in one.checks)
    rows = [_fact(name, "verdict", [one.checks.get(name) for one in runs]) for name in names]
    return Section(title="Checks", rows=tuple(sorted(rows, key=lambda row: not row.differs)))


def _found(runs: Sequence[Figures]) -> Section:
    rows = [
        _fact(f"{name}{note}", "count", [one.get(name, 0) if judged else None for one, judged in tables])
        for note, tables in (
            ("", [(one.anomalies, one.valid is not None) for one in runs]),
            (" (allowed)", [(one.allowed, one.valid is not None) for one in runs]),
        )
        for name in dict.fromkeys(name for one, _ in tables for name in one)
    ]
    return Section(title="Anomalies", rows=tuple(rows))


def _recovery(runs: Sequence[Figures]) -> Section:
    """Faults, then for each kind of operation its distribution; the test is shown beside the median."""
    rows = [
        _figure("faults planned", "count", [one.run.planned_faults for one in runs]),
        _figure("faults proven", "count", [one.proven for one in runs]),
        _figure("faults skipped", "count", [one.skipped for one in runs]),
    ]
    kinds = dict.fromkeys(f for one in runs for f in one.rto)
    precision = max(one.precision_s for one in runs)
    for f in kinds:
        spreads = [spread_of(one.rto.get(f, ())) for one in runs]
        if not any(spread.dots or spread.never for spread in spreads):
            continue
        rows.append(
            _measured(f"{f} RTO{MEDIAN}", "s", [one.median for one in spreads], _rto_against(runs, f, precision))
        )
        rows.append(_figure(f"{f} RTO, 9 of 10 within", "s", [one.p90 for one in spreads]))
        rows.append(_figure(f"{f} RTO, longest", "s", [one.longest for one in spreads]))
        rows.append(_figure(f"{f}: faults without an outage", "count", [one.none for one in spreads]))
        rows.append(_figure(f"{f}: faults without recovery", "count", [one.never for one in spreads]))
    return Section(
        title="Faults and recovery", rows=tuple(rows) if any(row.values != (0,) * len(runs) for row in rows) else ()
    )


def _rto_against(runs: Sequence[Figures], f: str, precision: float = 0.0) -> list[Difference]:
    first, *others = [as_numbers(one.rto.get(f, ())) for one in runs]
    return [difference(first, other, FAULTS, precision) for other in others]


def _service(runs: Sequence[Figures]) -> Section:
    """Availability rests on the outages, so it differs no more surely than they do."""
    change = next((one.change for one in runs if one.change), "")
    outages = _rto_against(runs, change)
    available = [_as_availability(one) for one in outages]
    rows = [
        _measured("available", "share", [one.share for one in runs], available),
        _figure("longest silence", "s", [one.silence_s for one in runs]),
        _fact("acknowledged and lost", "count", [one.lost for one in runs]),
        *(_latency(runs, name) for name in ("p50", "p99")),
        _figure(
            f"latency p99, worst of {BLOCKS}", "ms", [max(one.latency_ms.get("p99", ()), default=None) for one in runs]
        ),
    ]
    ends = [one.end_to_end for one in runs]
    rows.append(_figure("end to end, healthy, p50", "ms", [None if one is None else one.p50_ms for one in ends]))
    rows.append(_figure("end to end, healthy, p99", "ms", [None if one is None else one.p99_ms for one in ends]))
    return Section(title="Service", rows=tuple(row for row in rows if any(value is not None for value in row.values)))


def _as_availability(outages: Difference) -> Difference:
    """Longer outages are less availability."""
    turned = {"higher": "lower", "lower": "higher"}
    return msgspec.structs.replace(outages, word=turned.get(outages.word, outages.word), why=f"outages: {outages.why}")


def _recoveries(runs: Sequence[Figures]) -> Iterator[Distribution]:
    """By the fault's name and the kind of operation, where an outage was seen in any run."""
    for name, f in dict.fromkeys(key for one in runs for key in one.rto_by_fault):
        values = tuple(one.rto_by_fault.get((name, f), ()) for one in runs)
        if any(value is not None for own in values for value in own):
            colour = next(one.colours[name] for one in runs if name in one.colours)
            yield Distribution(of=name, f=f, colour=colour, values=values)


def _latencies(runs: Sequence[Figures]) -> Iterator[Distribution]:
    for name in dict.fromkeys(name for one in runs for name in one.latency_ms):
        values = tuple(tuple(value / 1000 for value in one.latency_ms.get(name, ())) for one in runs)
        if any(values):
            yield Distribution(of=name, f="", colour="blue", values=values)


def _latency(runs: Sequence[Figures], name: str) -> Row:
    first, *others = [one.latency_ms.get(name, ()) for one in runs]
    middles = [median(values) if (values := one.latency_ms.get(name)) else None for one in runs]
    return _measured(f"latency {name}{MEDIAN}", "ms", middles, [difference(first, other, BLOCKS) for other in others])


def _sentences(columns: Sequence[Column], settings: Sequence[Changed], sections: Sequence[Section]) -> list[str]:
    """What a reader needs first: verdicts, what else differs for certain, what the settings were."""
    verdicts = [f"{one.letter} is {_word(one)}" for one in columns]
    told = [f"{', '.join(verdicts)}."]
    told += [f"They tested different things: {'; '.join(apart)}."] if (apart := _apart(columns)) else []
    rows = [(section, row) for section in sections for row in section.rows]
    facts = [row.name for section, row in rows if row.differs and section.title in ("Checks", "Anomalies")]
    if facts:
        told.append(f"Other verdicts or counts: {', '.join(facts)}.")
    clear = [_clear(row, columns) for _, row in rows if row.against and row.differs]
    asked = [row for _, row in rows if row.against]
    few = [_figure_name(row) for row in asked if not row.differs and all(one.word == "too few" for one in row.against)]
    same = [name for row in asked if not row.differs and (name := _figure_name(row)) not in few]
    told += [f"{'; '.join(clear)}."] if clear else []
    told += [f"No clear difference beyond the runs' own spread: {', '.join(same)}."] if same else []
    told += [f"Too few values to compare: {', '.join(few)}."] if few else []
    names = ", ".join(one.name for one in settings[:_NAMED])
    if more := len(settings) - _NAMED:
        names += f" and {more} more, listed below" if more > 0 else ""
    told.append(
        f"{words.plural(len(settings), 'setting')} differ{'s' * (len(settings) == 1)}: {names}."
        if settings
        else "All settings are the same."
    )
    return told


def _apart(columns: Sequence[Column]) -> list[str]:
    """What was tested where that is not one thing: the systems, the workloads."""
    return [
        f"{many} {', '.join(f'{one.letter} {getattr(one, field)}' for one in columns)}"
        for field, many in (("system", "systems"), ("workload", "workloads"))
        if len({getattr(one, field) for one in columns}) > 1
    ]


def _word(column: Column) -> str:
    return column.status if column.valid is None else words.verdict(column.valid)


def _clear(row: Row, columns: Sequence[Column]) -> str:
    sides = [
        f"{one.word} in {column.letter} ({value_text(row.values[0], row.unit)} → {value_text(value, row.unit)})"
        for column, value, one in zip(columns[1:], row.values[1:], row.against, strict=True)
        if one.word in ("higher", "lower")
    ]
    return f"{_figure_name(row)} {', '.join(sides)}"


def _figure_name(row: Row) -> str:
    return row.name.removesuffix(MEDIAN)
