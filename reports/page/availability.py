"""Availability, silences, steady throughput and latency from end to end: tables for the page, lines for the terminal.

Pure. Measures nothing: the figures come from ``results.json``.
"""

from collections.abc import Sequence
from typing import Final

from chaos.core.verdict import Availability, FaultResult, Latency, Results, Steady
from reports import words
from reports.page import columns
from reports.page.model import Moment, Table
from reports.terms import Terms

QUEUES: Final = 8
"""Queues shown at most, the least available first; the title says of how many."""


def steady_words(steady: Steady | None) -> str:
    """``3.0 s``, ``at once``, ``never``, or a dash where it cannot be told."""
    if steady is None:
        return "—"
    if not steady.reached or steady.seconds is None:
        return "never"
    return words.seconds(steady.seconds) if steady.seconds else "at once"


def steady_line(faults: Sequence[FaultResult]) -> str:
    """Over all faults; empty where nothing could be told."""
    known = [(fault.id, fault.steady) for fault in faults if fault.steady is not None]
    never = [str(number) for number, one in known if not one.reached]
    ended = {number: one.seconds for number, one in known if one.seconds is not None}
    said = [f"not after fault{'s' * (len(never) > 1)} {', '.join(never)}"] if never else []
    if ended:
        worst = max(ended, key=lambda number: ended[number])
        after = f"at most {words.seconds(ended[worst])} after the heal (fault {worst})"
        said.append(after if ended[worst] else "at once after the heal")
    return f"steady throughput again: {'; '.join(said)}" if said else ""


def lines_of(results: Results | None, origin_ns: int, key: str = "queue") -> tuple[str, ...]:
    """Availability and latency, a line each; none where nothing was sent. ``key``: what a key names."""
    if results is None or not results.availability:
        return ()
    overall = results.availability[0]
    least = min((one for one in results.availability if one.key >= 0), key=_share, default=overall)
    silent = max((one for one in results.availability if one.key >= 0), key=lambda one: one.silence_s, default=overall)
    at = words.moment(words.seconds_since(silent.silence_ns, origin_ns))
    any_of = f" (any {key})" if least.key >= 0 else ""
    served = f"available {_percent(overall)} of {words.plural(overall.seconds, 'second')}{any_of}"
    worst_of = f", {key} {least.key} {_percent(least)}" if least.key >= 0 else ""
    where = f"{key} {silent.key}, " if silent.key >= 0 else ""
    out = [f"{served}{worst_of}; longest silence {words.seconds(silent.silence_s)} ({where}from {at})"]
    healthy = next((one for one in results.latency if one.fault is None), None)
    under = [one for one in results.latency if one.fault is not None and one.max_ms is not None]
    if healthy is not None and healthy.messages:
        out.append(f"end to end {_quantiles(healthy)}")
    if under:
        worst = max(under, key=lambda one: (one.p99_ms or 0.0, -(one.fault or 0)))
        out.append(f"end to end under fault {worst.fault} {_quantiles(worst)}")
    return tuple(out)


def _quantiles(one: Latency) -> str:
    return f"p50 {milliseconds(one.p50_ms)}, p99 {milliseconds(one.p99_ms)}, longest {milliseconds(one.max_ms)}"


def _share(one: Availability) -> float:
    return 1.0 if one.share is None else one.share


def _percent(one: Availability) -> str:
    return "—" if one.share is None else f"{100 * one.share:.1f} %"


def milliseconds(value_ms: float | None) -> str:
    """A latency, a dash for none."""
    return "—" if value_ms is None else words.seconds(value_ms / 1000)


def tables_of(results: Results | None, origin_ns: int, terms: Terms) -> tuple[Table, ...]:
    """Availability by key and, of a log, latency from end to end by fault."""
    if results is None or not results.availability:
        return ()
    queues = sorted((one for one in results.availability if one.key >= 0), key=lambda one: (_share(one), one.key))
    silent = max(queues, key=lambda one: one.silence_s, default=None)
    whose = f" ({terms.key} {silent.key})" if silent is not None else ""
    cut = f", the {QUEUES} least available of {len(queues)} {terms.key}s" if len(queues) > QUEUES else ""
    rows = [
        (
            f"any {terms.key}" if one.key < 0 else f"{terms.key} {one.key}",
            _percent(one),
            words.count(one.seconds),
            words.seconds(one.silence_s) + (whose if one.key < 0 else ""),
            Moment(words.seconds_since(one.silence_ns, origin_ns)),
        )
        for one in (results.availability[0], *queues[:QUEUES])
    ]
    names = {fault.id: f"{fault.id} {fault.name}" for fault in results.faults}
    ends = [
        (
            "healthy" if one.fault is None else names.get(one.fault, str(one.fault)),
            words.count(one.messages),
            *map(milliseconds, (one.p50_ms, one.p90_ms, one.p99_ms, one.max_ms)),
            words.count(one.unread),
        )
        for one in results.latency
    ]
    available = Table(
        title=f"Seconds in which a {terms.any_change} was acknowledged, of those in which one was due{cut}",
        columns=tuple(name for name, _ in columns.availability(terms)),
        heads=columns.availability(terms),
        rows=tuple(rows),
    )
    latency = Table(
        title="From a send to the first consumer that was given it, by when it was sent",
        columns=tuple(name for name, _ in columns.LATENCY),
        heads=columns.LATENCY,
        rows=tuple(ends),
    )
    return (available, latency) if terms.is_log else (available,)
