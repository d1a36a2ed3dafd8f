"""What surrounds a verdict: assumptions with their figures, counts, environment, configuration.

Pure. Does not decide whether an assumption holds well enough; the checks did.
"""

from collections.abc import Sequence
from typing import Final

from chaos.core.events import Event, Note, Observation, Phase
from chaos.core.op import Type
from chaos.core.series import REFUSED_WORD, Series
from chaos.core.verdict import CheckResult, FaultResult, Results
from chaos.storage.runinfo import RunInfo
from reports import words
from reports.folder import Parts
from reports.page import columns
from reports.page.logs import SAME_CLOCK, skews_of
from reports.page.model import Assumption, Table
from reports.page.panels import phase_spans
from reports.page.verdict import word_of
from reports.terms import terms_of

SHARE_OF_RATE: Final = 0.95
"""Below this share of the asked rate the page marks the figure; whether it matters, the checks decide."""

ENDED: Final = ("node-ended", "node-restarted", "worker-ended")
"""Notes of the harness about a process that should live."""

FINAL_READS: Final = "final-reads"
"""The check of what the final reads returned."""

PROVEN: Final = "settings-in-effect"
"""The note of what the nodes were proven to run with."""

LOADED: Final = ("load", "heal", "recovery")
"""Phases in which the load is due."""


def outcome_counts(series: Series | None, results: Results | None) -> Table:
    """Operations by kind and outcome."""
    outcomes = [Type.OK.word, Type.FAIL.word, Type.INFO.word, REFUSED_WORD, Type.NOT_SENT.word]
    rows: list[tuple[str, ...]] = []
    if series is not None and series.rate:
        for f, by_type in series.rate.items():
            totals = [sum(by_type.get(word, [])) for word in outcomes]
            tried = sum(totals) - totals[outcomes.index(REFUSED_WORD)]
            share = f"{100 * totals[0] / tried:.2f} %" if tried else "—"
            rows.append((f, *(words.count(n) for n in totals), share))
        every = [sum(sum(by_type.get(word, [])) for by_type in series.rate.values()) for word in outcomes]
        rows.append((f"all {words.count(sum(every))}", *(words.count(n) for n in every), ""))
        return Table(
            title="operations",
            columns=tuple(name for name, _ in columns.OPERATIONS),
            heads=columns.OPERATIONS,
            rows=tuple(rows),
        )
    counts = results.counts if results is not None else {}
    return Table(
        title="operations", columns=("operations", "count"), rows=tuple((k, words.count(n)) for k, n in counts.items())
    )


def assumptions(parts: Parts, faults: Sequence[FaultResult]) -> tuple[Assumption, ...]:
    """What had to hold, with the figures; the verdict's own row says whether it was enough."""
    checks = parts.results.checks if parts.results is not None else ()
    judged = [
        Assumption(name="judged", tone=word_of(check.valid)[1], text=check.reason or check.found)
        for check in checks
        if check.name == "assumptions"
    ]
    traffic = () if parts.series is None else (_rate(parts, parts.series), _in_flight(parts.series))
    events = parts.events
    return (
        *judged,
        *traffic,
        _faults(parts.run, faults),
        _final_reads(parts.run.required_phases, events, checks),
        _unplanned_ends(events),
        _observations(events),
        *_settings(events),
    )


def _rate(parts: Parts, series: Series) -> Assumption:
    terms, asked = terms_of(parts.run), changes_a_second(parts.run)
    counted = [item for word in terms.changes for item in series.rate.get(word, {}).items()]
    left = sum(sum(n) for word, n in counted if word != Type.NOT_SENT.word)
    length = loaded_s(parts)
    took_s = series.duration_s if length is None else length
    a_second = left / took_s if took_s > 0 else 0.0
    kept_up = asked > 0 and a_second >= SHARE_OF_RATE * asked
    sent = f"{a_second:.0f} {terms.any_change}s a second were sent over {words.seconds(took_s)}"
    text = f"{sent}; {asked:g} were asked for"
    return Assumption(name="rate", tone="good" if kept_up else "warn", text=text)


def _in_flight(series: Series) -> Assumption:
    unsent = sum(sum(by_type.get(Type.NOT_SENT.word, [])) for by_type in series.rate.values())
    if unsent:
        text = f"{words.plural(unsent, 'operation')} not sent, because the limit of operations in flight was reached"
        return Assumption(name="in flight", tone="warn", text=text)
    return Assumption(name="in flight", tone="good", text="the limit of operations in flight held no operation back")


def _faults(run: RunInfo, faults: Sequence[FaultResult]) -> Assumption:
    done = [fault for fault in faults if not fault.skipped]
    proven, healed = sum(fault.proven for fault in done), sum(fault.healed for fault in done)
    text = f"{run.planned_faults} planned, {len(done)} done, {proven} proven, {healed} healed"
    if len(faults) > len(done):
        text += f", {len(faults) - len(done)} skipped"
    whole = proven == healed == len(done) == run.planned_faults
    return Assumption(name="faults", tone="good" if whole else "warn", text=text)


def _final_reads(
    required: tuple[str, ...] | None, events: Sequence[Event], checks: Sequence[CheckResult]
) -> Assumption:
    """Whether they were made to the end; what they returned the checks judge, which may not be enough.

    ``required``: the final phases that must end well; None: the run did not come so far.
    """
    missing = [] if required is None else [text for name in required if (text := _why_phase_failed(events, name))]
    if required is None or missing:
        return Assumption(name="final reads", tone="warn", text="; ".join(missing) or "never began")
    if not required:
        return Assumption(name="final reads", tone="good", text="the workload has none that must end")
    if any(check.name == FINAL_READS and check.valid is not True for check in checks):
        text = f"all made, in time; they cannot prove that nothing else is missing ({FINAL_READS}, above)"
        return Assumption(name="final reads", tone="warn", text=text)
    return Assumption(name="final reads", tone="good", text="all made, in time")


def _why_phase_failed(events: Sequence[Event], name: str) -> str:
    """Why a phase did not end well; empty if it did."""
    edges = [event for event in events if isinstance(event, Phase) and event.name == name]
    if not edges:
        return f"{name} never began"
    well = edges[-1].edge == "end" and edges[-1].ok
    return "" if well else f"{name}: {edges[-1].note or 'began and did not end'}"


def _unplanned_ends(events: Sequence[Event]) -> Assumption:
    """Nodes and workers that ended by themselves, as the harness noted them."""
    gone = [event for event in events if isinstance(event, Note) and event.name in ENDED]
    if not gone:
        return Assumption(name="processes", tone="good", text="no node and no worker ended by itself")
    names = ", ".join(sorted({event.node or event.text for event in gone}))
    return Assumption(name="processes", tone="warn", text=f"{names} ended by itself; see the logs in the run folder")


def _observations(events: Sequence[Event]) -> Assumption:
    asked = [event for event in events if isinstance(event, Observation)]
    silent = sum(not event.alive for event in asked)
    nodes = words.plural(len({event.node for event in asked}), "node")
    text = f"{words.plural(len(asked), 'observation')} of {nodes}, {words.count(silent)} without an answer"
    return Assumption(name="observations", tone="good" if asked else "warn", text=text)


def _proof_notes(events: Sequence[Event]) -> list[Note]:
    return [event for event in events if isinstance(event, Note) and event.name == PROVEN]


def _settings(events: Sequence[Event]) -> list[Assumption]:
    """What was proven of the settings; nothing of a system that has nothing to prove."""
    return [
        Assumption(name="settings", tone="warn" if note.data.get("warning") else "good", text=note.text)
        for note in _proof_notes(events)[-1:]
    ]


def _switches(events: Sequence[Event]) -> Table:
    """Each switch that decides about safety, and what which nodes said of it."""
    rows = []
    for note in _proof_notes(events)[-1:]:
        for key, said in note.data.get("switches", {}).items():
            values: dict[str, list[str]] = {}
            for node, value in said.items():
                values.setdefault(value, []).append(node)
            rows.append((key, "; ".join(f"{value} ({' '.join(nodes)})" for value, nodes in values.items())))
    return Table(title="Switches in effect", rows=tuple(rows))


def _clocks(parts: Parts) -> Table:
    """How far the wall clock of each node was from that of the run, at first and at last."""
    if parts.run.backend in SAME_CLOCK:
        return Table(title="Clocks", rows=(("all nodes", "the clock of the run, which their hosts share"),))
    rows = []
    for node, seen in skews_of(parts.events).items():
        first, last = (f"{ahead / 1e6:+.1f} ms ± {error / 1e6:.1f} ms" for ahead, error in (seen[0], seen[-1]))
        rows.append((node, first if len(seen) == 1 else f"{first}, at last {last}"))
    rows += [(node.name, "never compared") for node in parts.run.nodes if rows and node.name not in dict(rows)]
    return Table(title="Clocks, ahead of the run's", rows=tuple(rows))


def environment(parts: Parts) -> tuple[Table, ...]:
    """Nodes, settings, load, machine, timings."""
    run, results, terms = parts.run, parts.results, terms_of(parts.run)
    load = [
        ("workload", run.workload),
        ("rate", f"{changes_a_second(run):g} {terms.any_change}s/s"),
        ("clients", str(run.clients)),
        ("workers", str(run.workers)),
        (f"{terms.key}s", str(run.keys)),
        ("message body", words.file_size(run.body_bytes)),
        ("operation deadline", words.duration(run.op_timeout_s)),
        ("time limit", f"{words.duration(run.time_limit_s)}, then load until recovery is seen"),
        ("fault interval", words.duration(run.fault_interval_s)),
        ("fault duration", words.duration(run.fault_duration_s)),
        ("route refresh", "—" if run.route_poll_interval_s is None else words.duration(run.route_poll_interval_s)),
        *((f"mix {f}", f"{share:g}, {run.rate * share:g} a second") for f, share in run.mix.items()),
    ]
    versions = [
        ("chaos", run.chaos_version),
        (run.system, run.system_version + (f", own build in {run.artifacts}" if run.artifacts else "")),
        ("backend", run.backend),
        ("engine", (results.engine_note.removeprefix("engine ") or results.engine) if results else "—"),
        ("schema", str(run.schema_version)),
        ("started (UTC)", run.origin_utc),
        ("boot", run.boot_id),
    ]
    timings = [(name, words.seconds(value)) for name, value in run.timings_s.items()]
    if results is not None:
        timings += [(f"check {check.name}", words.seconds(check.took_s)) for check in results.checks if check.took_s]
    tables = [
        Table(title="Nodes", rows=tuple((node.name, node.role, node.address) for node in run.nodes)),
        Table(title="Versions", rows=tuple(versions)),
        Table(title="Load", rows=tuple(load)),
        Table(title="Settings", rows=tuple(run.settings.items())),
        _switches(parts.events),
        _clocks(parts),
        Table(title="Machine", rows=tuple(words.flat_rows(run.machine))),
        Table(title="Timings", rows=tuple(timings)),
    ]
    return tuple(table for table in tables if table.rows)


BROUGHT: Final = {
    "workload": "--workload",
    "nemesis": "--nemesis",
    "time_limit_s": "--time-limit",
    "fault_interval_s": "--fault-interval",
    "fault_duration_s": "--fault-duration",
    "rto_budget_s": "--rto-budget",
}
"""What a planted bug brings with it, and the option that says the same."""


def brought_by_bug(config: str) -> dict[str, str]:
    """Options and values that the planted bug decided, as ``config.yaml`` says."""
    out = {}
    for line in config.splitlines():
        text, origin = config_line(line)
        name, mark, value = text.partition(": ")
        if mark and name in BROUGHT and origin.startswith("--bug "):
            value = value.strip().strip("'\"")
            out[BROUGHT[name]] = value.removesuffix(".0") if value.replace(".", "").isdigit() else value
    return out


def changes_a_second(run: RunInfo) -> float:
    """How many changes a second were asked for, of all kinds together."""
    return run.rate * sum(run.mix.get(word, 0.0) for word in terms_of(run).changes) if run.mix else run.rate


def loaded_s(parts: Parts) -> float | None:
    """For how long the load went on, recovery included; None where that is not known."""
    if parts.series is None:
        return None
    spans = phase_spans(parts.events, parts.series.origin_ns, parts.series.duration_s)
    return max((span.end for span in spans if span.name in LOADED), default=None)


def config_line(line: str) -> tuple[str, str]:
    """A line of ``config.yaml`` as (text, origin): the origin is the comment behind the value."""
    text, mark, origin = line.rpartition(" # ")
    return (text.rstrip(), origin.strip()) if mark else (line, "")
