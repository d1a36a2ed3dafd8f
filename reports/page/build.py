"""Puts ``ReportData`` together from the parts of a run folder.

Pure. How the data is shown is up to ``reports.page.html`` and ``reports.summary.terminal``.
"""

import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from chaos.basics.name_lists import join_names
from chaos.core.events import LEFT_BEHIND, Note
from chaos.core.verdict import FaultResult, Results, exit_code
from chaos.storage.runinfo import RunInfo
from reports import words
from reports.folder import Parts
from reports.page import columns
from reports.page.anomalies import anchor_of, anomaly_views, fact_columns, weight_of
from reports.page.availability import lines_of, tables_of
from reports.page.clue import clue_of
from reports.page.context import (
    assumptions,
    brought_by_bug,
    changes_a_second,
    config_line,
    environment,
    loaded_s,
    outcome_counts,
)
from reports.page.errors import errors_of
from reports.page.faults import fault_rows, recovery
from reports.page.latency_points import Dot, Packed, dots_of, not_ok_words, pack_points
from reports.page.logs import BESIDE_S, Logs, logs_of
from reports.page.marks import Mark, Shown, marks_of
from reports.page.model import AnomalyView, CheckRow, Clue, HeadsOfTables, ReportData
from reports.page.panels import Band, Change, Charts, Strip, asked_every_s, charts, faults_of_events
from reports.page.shared_outages import shared_outages
from reports.page.space_time import scene_of
from reports.page.terms_explained import terms_in
from reports.page.verdict import check_rows, first_superseded_leader, stamp_of, threshold_rows, why_unknown
from reports.terms import terms_of


class _Timeline(NamedTuple):
    """What has a place on the time axis. ``sample``: the operations that are drawn, which ``points`` has packed."""

    charts: Charts
    changes: Sequence[Change]
    marks: Sequence[Mark]
    sample: Sequence[Dot]
    points: Packed
    logs: Logs


def report_data(parts: Parts) -> ReportData:
    """Everything that is said of a run."""
    run, results, series = parts.run, parts.results, parts.series
    terms, origin_ns = terms_of(run), series.origin_ns if series is not None else run.origin_ns
    faults = results.faults if results is not None and results.faults else faults_of_events(parts.events)
    timeline = _timeline(parts, faults, origin_ns)
    drawn = timeline.charts
    shared = shared_outages(faults)
    rows = fault_rows(parts, faults, shared, origin_ns)
    found = _anomalies(parts, timeline)
    stamp, heading = stamp_of(results, broke=run.error is not None or run.status == "crashed"), heading_of(parts)
    clue, checks = clue_of(results, drawn.faults, terms.key), check_rows(results, _two_leaders(run, drawn.strips))
    sentence = results.sentence if results is not None else _why_unjudged(parts)
    return ReportData(
        title=f"{stamp.word} · {heading}",
        heading=heading,
        stamp=stamp,
        chips=("interrupted",) if run.interrupted or (results is not None and results.interrupted) else (),
        sentence=sentence,
        clue=clue,
        words=_words_of(sentence, clue, checks, found),
        why=why_unknown(results),
        facts=facts_of(parts),
        commands=commands_of(parts),
        notices=notices_of(parts),
        thresholds=threshold_rows(results),
        checks=checks,
        declined=tuple(results.declined.items()) if results is not None else (),
        engine_note=results.engine_note if results is not None else "",
        charts=drawn,
        points=timeline.points,
        shown=len(timeline.sample),
        not_ok=not_ok_words(series.points) if series is not None else "",
        marks=_marks_shown(results, run, timeline.marks, timeline.points, drawn.faults),
        terms=terms,
        logs=timeline.logs,
        observed=observed_words(asked_every_s(parts.events)) + led_words(run, terms.key) if drawn.strips else "",
        faults=rows,
        recovery=recovery(parts, faults, rows, shared, origin_ns),
        service=tables_of(results, origin_ns, terms),
        errors=errors_of(results, origin_ns),
        columns=_heads_of_tables(found),
        service_lines=lines_of(results, origin_ns, terms.key),
        anomalies=found,
        assumptions=assumptions(parts, faults),
        counts=outcome_counts(series, results),
        environment=environment(parts),
        config=tuple(config_line(line) for line in parts.config.splitlines()),
        files=tuple((path, words.file_size(size)) for path, size in parts.files),
        file_count=parts.file_count,
    )


def _heads_of_tables(found: Sequence[AnomalyView]) -> HeadsOfTables:
    return HeadsOfTables(
        verdict=columns.VERDICT, faults=columns.FAULTS, recovery=columns.RECOVERY, facts=fact_columns(found)
    )


def _timeline(parts: Parts, faults: Sequence[FaultResult], origin_ns: int) -> _Timeline:
    """Charts, marks, points and logs: of logs those lines are chosen that are near to what happened."""
    run, series = parts.run, parts.series
    drawn, changes = charts(run, terms_of(run), series, faults, parts.events, origin_ns)
    marks = marks_of(parts.results, run, drawn.faults)
    sample = dots_of(series.points) if series is not None else []
    happened = [mark.at for mark in marks]
    happened += [band.start for band in drawn.faults] + [band.end for band in drawn.faults]
    near = [*happened, *(change.time for change in changes)]
    logs = logs_of(parts.logs, run, parts.events, near, (-BESIDE_S, drawn.end), whole=happened)
    points = pack_points(sample, [mark.dot for mark in marks if mark.dot is not None], len(run.nodes), logs.rows)
    return _Timeline(drawn, changes, marks, sample, points, logs)


def _anomalies(parts: Parts, timeline: _Timeline) -> tuple[AnomalyView, ...]:
    """What was found, if the run was judged."""
    if parts.results is None:
        return ()
    return anomaly_views(
        parts.results,
        timeline.charts.faults,
        timeline.changes,
        parts.run.promises.allowed,
        terms_of(parts.run).key,
        timeline.marks,
        folder=parts.folder,
        lines=timeline.logs.rows,
        nodes=[node.name for node in parts.run.nodes],
    )


def _words_of(
    sentence: str, clue: Clue | None, checks: Sequence[CheckRow], found: Sequence[AnomalyView]
) -> tuple[tuple[str, str, str], ...]:
    """The terms that the page explains: those of its sentences and of what its examples list."""
    texts = [sentence, *(text for check in checks for text in (check.found, check.reason))]
    texts += [value for _, value in clue.facts] if clue is not None else []
    for example in (one for view in found for part in (view, *view.parts) for one in part.examples):
        steps = example.trace.steps if example.trace is not None else ()
        texts += [example.sentence, *(step.words for step in steps)]
    return tuple((term.anchor, term.name, term.meaning) for term in terms_in(texts))


def _marks_shown(
    results: Results | None, run: RunInfo, marks: Sequence[Mark], points: Packed, faults: Sequence[Band]
) -> tuple[Shown, ...]:
    """The marks with their places among the operations that are drawn."""
    found = results.anomalies if results is not None else {}
    places = iter(points.places)
    return tuple(
        Shown(
            name=mark.name,
            weight=weight_of(mark.name, found[mark.name]),
            anchor=anchor_of(mark.name),
            example=anchor_of(mark.name, mark.number),
            scene=scene_of(found[mark.name].examples[mark.number], run, faults),
            at=mark.at,
            start=mark.start,
            end=mark.end,
            point=-1 if mark.dot is None else next(places),
        )
        for mark in marks
    )


def heading_of(parts: Parts) -> str:
    """``rocketmq 5.5.0 · 1 namesrv, 3 controllers, 3 brokers · queue · leader-partition``."""
    run = parts.run
    roles: dict[str, int] = {}
    for node in run.nodes:
        roles[node.role] = roles.get(node.role, 0) + 1
    shape = ", ".join(words.plural(number, role) for role, number in roles.items())
    return " · ".join(part for part in (f"{run.system} {run.system_version}", shape, run.workload, run.nemesis) if part)


def _two_leaders(run: RunInfo, strips: Sequence[Strip]) -> dict[str, str]:
    """Check → who led though it had been superseded; controllers acknowledge nothing, so no set is judged of theirs."""
    controllers = {node for subject in run.subjects if subject.kind == "controller" for node in subject.nodes}
    return {
        "roles": first_superseded_leader(strips),
        "min-in-sync": first_superseded_leader([strip for strip in strips if strip.node not in controllers]),
    }


def observed_words(every_s: float | None) -> str:
    """Whose word roles and changes of leader are, and how precise their times are."""
    often, late = ("", "") if every_s is None else (f", every {every_s:.1f} s", f", by up to {every_s:.1f} s")
    return (
        f"Roles are what each node answered when the observer asked it{often}. "
        f"So a change is seen later than the node's own log has it{late}."
    )


SUBJECTS: Final = 8
"""Subjects of which the page says which keys are theirs."""


def led_words(run: RunInfo, key: str) -> str:
    """Which keys those serve that can have a leader, where there are several: `` kv1 has spaces 0 and 3; …``."""
    owners = {subject.name: subject.keys for subject in run.subjects if subject.keys}
    if not 1 < len(owners) <= SUBJECTS:
        return ""
    said = [
        f"{name} has {key}{'s' * (len(keys) > 1)} {join_names(list(map(str, keys)))}" for name, keys in owners.items()
    ]
    return f" Of what has a leader, {'; '.join(said)}."


def _why_unjudged(parts: Parts) -> str:
    run = parts.run
    if run.error:
        return f"The run broke: {run.error}"
    return f"The run has the status “{run.status}” and no verdict yet."


def facts_of(parts: Parts) -> tuple[str, ...]:
    """The line of facts under the sentence."""
    run, results, terms = parts.run, parts.results, terms_of(parts.run)
    operations = parts.series.operations if parts.series is not None else None
    length = loaded_s(parts)
    longer = length is not None and length > run.time_limit_s + 1
    load = (
        f"{changes_a_second(run):g} {terms.any_change}s/s",
        words.plural(run.clients, "client"),
        words.plural(run.keys, terms.key),
    )
    facts = [
        run.id,
        f"seed {run.seed}",
        f"{words.duration(run.time_limit_s)} of load"
        + (f", {words.seconds(length or 0.0)} with the wait for recovery" if longer else ""),
        " · ".join(load),
        "" if operations is None else f"{words.plural(operations, 'operation')} of the load",
        run.backend,
        f"engine {results.engine}" if results is not None else "",
        f"chaos {run.chaos_version}",
    ]
    return tuple(fact for fact in facts if fact)


def commands_of(parts: Parts) -> tuple[tuple[str, str], ...]:
    """(what for, command line): again, judge again."""
    run, results = parts.run, parts.results
    code = results and exit_code(results.answer, interrupted=run.interrupted, broke=run.broke)
    again = ("run again", words.run_again(parts.run.argv, parts.run.seed, brought_by_bug(parts.config)))
    judge = ("judge again" if code is not None else "judge", shlex.join(["chaos", "check", parts.folder]))
    return (again, judge, *([("exit code", str(code))] if code is not None else []))


def notices_of(parts: Parts) -> tuple[str, ...]:
    """What the page cannot show, and what would help."""
    out = []
    if parts.results is not None and parts.run.error:
        out.append(f"The run broke: {parts.run.error}")
    if parts.results is None:
        out.append("There is no results.json: the history was not judged. `chaos check` judges what was recorded.")
    if parts.series is None:
        out.append("There is no series.json: latency, rate and offset lag cannot be drawn. `chaos check` writes it.")
    elif parts.series.operations == 0:
        out.append("No operation was recorded.")
    if (not_taken := parts.run.promises.not_taken) and (parts.results is None or parts.results.valid is not True):
        out.append(f"The system was not held to {join_names(not_taken)}.")  # the sentence of a valid run says it
    out += [
        f"Left on the cluster: {', '.join(left)}."
        for event in parts.events
        if isinstance(event, Note) and event.name == LEFT_BEHIND and (left := event.data.get("left"))
    ]
    return tuple(out)
