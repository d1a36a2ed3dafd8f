"""The verdict on a history of another tool, as lines for the terminal, and its figures as an object for scripts.

Pure. What a history does not say is left out of both, and both say why. Does not measure.
"""

from typing import Any, Final

import msgspec

from chaos.basics.name_lists import join_names
from chaos.core.gate import gate_words, threshold_words
from chaos.core.verdict import FaultResult, KindResult, Results
from checkers.recovery.rpo import RpoKernel
from reports import words
from reports.page.availability import lines_of, milliseconds, steady_line
from reports.page.faults import rto_lines, rto_words, worst_rto
from reports.summary.terminal import MAX_FAULTS, headline
from reports.summary.text_style import PIPED, TextStyle

RPO: Final = RpoKernel.name
MAX_ROWS: Final = 12
"""Operations shown with an anomaly."""
_INDENT: Final = 2
KINDS: Final = ("operation", "ok", "failed", "unknown", "ok/s", "p50", "p90", "p99", "longest")
_FAULTS: Final = ("#", "fault", "from", "to", "RTO", "lost", "as its nemesis says")
_NAMES: Final = {"latency": "latency from end to end", "rto": "RTO", "rpo": "RPO", "steady": "steady throughput"}
_UNSAID: Final = ("proven", "healed", "skipped", "targets", "evidence", "heal_evidence", "note")
"""What only a run of our own knows of a fault."""


def summary(path: str, results: Results, style: TextStyle = PIPED) -> str:
    """The answer, the reason, each anomaly with its first sentence and rows; then the figures."""
    examined = results.checks[0].examined if results.checks else ""
    out = ["", *headline(words.verdict(results.valid), f"{path}  {results.model}, {examined}", style)]
    indented = msgspec.structs.replace(style, width=style.width - _INDENT) if style.fits else style
    for line in (*threshold_words(results.thresholds), gate_words(results.gate).strip()):
        out += style.wrap(line) if line else []
    if results.engine_note:
        out += style.wrap(results.engine_note)
    if results.reason:
        out += style.wrap(results.reason)
    for name, anomaly in results.anomalies.items():
        out.append(f"{name}: {anomaly.count}{' (allowed)' if anomaly.allowed else ''}")
        for example in anomaly.examples[:1]:
            out += [" " * _INDENT + line for line in indented.wrap(example.sentence)]
            out += [f"    {style.shorten(_row(row), style.width - 4)}" for row in example.ops[:MAX_ROWS]]
    for line in excluded_models(results):
        out += style.wrap(line)
    return "\n".join([*out, *figure_lines(results, style)])


def excluded_models(results: Results) -> list[str]:
    """The consistency models that what was found rules out, in a line; none if there are none."""
    if not results.ruled_out:
        return []
    more = len(results.ruled_out.get("also-not", ()))
    stronger = f", and {more} that are stronger" if more > 1 else ", and one that is stronger" if more else ""
    return [f"rules out {join_names(list(results.ruled_out['not']))}{stronger}"]


def _row(row: dict[str, Any]) -> str:
    """An operation on one line."""
    return "  ".join(f"{name}={value}" for name, value in row.items() if value not in (None, "", []))


def figure_lines(results: Results, style: TextStyle = PIPED) -> list[str]:
    """What became of the operations, what clients had of the service, what faults cost, and what cannot be told."""
    origin_ns = results.origin_ns or 0
    out = []
    if results.kinds:
        out += style.table(KINDS, [*map(kind_cells, results.kinds)], right=range(1, len(KINDS)))
    out += [part for line in lines_of(results, origin_ns) for part in style.fit(line)]
    if results.faults:
        lost = "rpo" not in results.absent
        faults = [_fault(fault, origin_ns, lost=lost) for fault in results.faults[:MAX_FAULTS]]
        out += style.table(_FAULTS, faults, right=(2, 3, 4, 5), elastic=(len(_FAULTS) - 1, 1))
        if len(results.faults) > MAX_FAULTS:
            out.append(f"showing {MAX_FAULTS} of {len(results.faults)} faults")
    return [*out, *_cost_lines(results), *(part for line in _reasons_untold(results) for part in style.wrap(line))]


def lines_beside(results: Results) -> list[str]:
    """What clients had of the service, what faults cost, and what cannot be told, without tables."""
    return [
        *excluded_models(results),
        *lines_of(results, results.origin_ns or 0),
        *_cost_lines(results),
        *_reasons_untold(results),
    ]


def _cost_lines(results: Results) -> list[str]:
    """Recovery after faults and what they lost, if there were any."""
    if not results.faults:
        return []
    steady = steady_line(results.faults)
    lost = [f"RPO: {one.found}" for one in results.checks if one.name == RPO]
    return [*rto_lines(results.faults, None), *([steady] if steady else []), *lost]


def _reasons_untold(results: Results) -> list[str]:
    """What cannot be told, by reason."""
    out = []
    for why in dict.fromkeys(results.absent.values()):
        names = [_NAMES.get(name, name) for name, reason in results.absent.items() if reason == why]
        out.append(f"not told: {join_names(names)} ({why})")
    return out


def kind_cells(one: KindResult) -> tuple[str, ...]:
    """The cells of an operation's row."""
    rate = "—" if one.ok_per_s is None else f"{one.ok_per_s:.1f}"
    latency = (milliseconds(ms) for ms in (one.p50_ms, one.p90_ms, one.p99_ms, one.max_ms))
    return (one.f, *(words.count(number) for number in (one.ok, one.fail, one.info)), rate, *latency)


def _fault(fault: FaultResult, origin_ns: int, *, lost: bool) -> tuple[str, ...]:
    worst = worst_rto(fault.rto)
    return (
        str(fault.id),
        fault.name,
        words.moment(words.seconds_since(fault.inject_ns, origin_ns)),
        words.moment(words.seconds_since(fault.heal_ns, origin_ns)),
        "—" if worst is None else rto_words(worst),
        words.count(fault.lost) if lost else "—",
        fault.description,
    )


def figures_object(results: Results) -> dict[str, Any]:
    """The figures as JSON has them; what is absent is not there, and ``absent`` says why."""
    faults = []
    for fault in msgspec.to_builtins(results.faults):
        gone = {*_UNSAID, *(("lost", "rpo_span_s") if "rpo" in results.absent else ())}
        gone |= {name for name in ("rto", "steady") if name in results.absent}
        faults.append({name: value for name, value in fault.items() if name not in gone})
    told = {
        "kinds": msgspec.to_builtins(results.kinds),
        "availability": msgspec.to_builtins(results.availability),
        "latency": msgspec.to_builtins(results.latency),
        "faults": faults,
    }
    told |= {one.name: one.found for one in results.checks if one.name == RPO}
    if results.origin_ns is not None:
        told["origin_ns"] = results.origin_ns
    return {**{name: one for name, one in told.items() if name not in results.absent}, "absent": results.absent}
