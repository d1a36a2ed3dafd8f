"""The report folder of etcd's robustness suite: its operations as a store with revisions, then its watches."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, Example, Results, Valid
from chaos.formats.etcd_robustness import Did, EtcdReport, Watched, as_operations, read_report
from chaos.formats.etcd_text import answer_text, request_text, word_of
from chaos.formats.etcd_words import or_empty
from chaos.formats.missing import Missing, retractable
from chaos.storage.storage_path import Place
from checkers.anomalies.catalogue import rank
from checkers.imported.figures import figures
from checkers.imported.load import of_operations
from checkers.imported.options import Question
from checkers.imported.results import results_of_file
from checkers.objects.finding import EXAMPLES
from checkers.objects.rules import Budget
from checkers.revisions.judge import STANDS, judge_operations
from checkers.revisions.watches import judge_watches

MODEL: Final = "kv"
WATCH: Final = "watch"

Rows = tuple[dict[str, Any], ...]
"""Operations in words."""


def judge(path: Place, question: Question, engine: str) -> Results:
    """The verdict on a report folder.

    Raises:
        HistoryError: naming file, line and fault.
    """
    report = read_report(path)
    operations = as_operations(report)
    verdict = judge_operations(report, Budget(question.budget_s))
    anomalies = _anomalies((one.kind, one.sentence, rows(one.did)) for one in verdict.found)
    wrong = judge_watches(verdict.pinned, None if report.cut_off else verdict.changes)
    told = _anomalies((one.kind, f"client {one.watch.client}: {one.said}", (_watch_row(one.watch),)) for one in wrong)
    clients = len({did.at.split("/")[0] for did in report.operations})
    judged = results_of_file(
        model=MODEL,
        engine=engine,
        valid=False if anomalies else UNKNOWN if verdict.reason else True,
        anomalies=anomalies,
        reason=verdict.reason,
        cut_off=report.cut_off,
        undone=retractable(anomalies, STANDS, Missing.ANY),
        examined=f"{len(report.operations)} operations of {clients} client{'s' * (clients != 1)}",
        figures=figures(of_operations(operations.items, MODEL), [], None, untold="kv tells of no lost messages"),
    )
    return _with_watches(judged, report, told)


def _with_watches(judged: Results, report: EtcdReport, anomalies: dict[str, Anomaly]) -> Results:
    """The verdict on the operations with that on the watches beside it."""
    if not report.watches:
        return msgspec.structs.replace(judged, absent={**judged.absent, WATCH: "no client watched anything"})
    events = sum(len(or_empty(message.events)) for one in report.watches for message in or_empty(one.line.messages))
    valid: Valid = not anomalies
    reason = ""
    if valid and judged.valid is not True:
        valid, reason = UNKNOWN, "what the watches had to be told is not known, because the operations are not valid"
    row = CheckResult(
        name=WATCH,
        valid=valid,
        found=", ".join(f"{one.count} {name}" for name, one in anomalies.items()) or "nothing",
        examined=f"{events} events of {len(report.watches)} watches",
        reason=reason,
        anomalies=anomalies,
    )
    sentence = next((one.sentence for found in anomalies.values() for one in found.examples), "")
    own, *beside = judged.checks
    return msgspec.structs.replace(
        judged,
        valid=False if anomalies else judged.valid,
        sentence=judged.sentence or sentence,
        checks=(own, row, *beside),
        anomalies={**judged.anomalies, **anomalies},
    )


def _watch_row(watch: Watched) -> dict[str, Any]:
    asked = watch.line.request
    keys = f"keys that begin with {asked.key!r}" if asked.prefix else f"key {asked.key!r}"
    messages = or_empty(watch.line.messages)
    events = sum(len(or_empty(one.events)) for one in messages)
    since = f" from revision {asked.revision}" if asked.revision else ""
    told = f"{events} events in {len(messages)} messages"
    times = [one.time_ns for one in messages]
    return {
        "op": watch.number,
        "process": watch.client,
        "f": WATCH,
        "type": "ok",
        "argument": f"{keys}{since}",
        "output": told,
        "invoke": min(times, default=None),
        "complete": max(times, default=None),
        "at": watch.at,
    }


def _anomalies(found: Iterable[tuple[str, str, Rows]]) -> dict[str, Anomaly]:
    """What was found by kind, the strongest first: how often, and some of it. ``found``: kinds, sentences and rows."""
    by_kind: dict[str, list[Example]] = {}
    for kind, sentence, ops in found:
        by_kind.setdefault(kind, []).append(Example(sentence=sentence, ops=ops))
    return {
        kind: Anomaly(count=len(own), allowed=False, examples=tuple(own[:EXAMPLES]))
        for kind, own in sorted(by_kind.items(), key=lambda item: rank(item[0]))
    }


def rows(operations: Sequence[Did]) -> Rows:
    """Operations in words, with file and line of each."""
    return tuple(
        {
            "op": did.number,
            "process": did.client,
            "f": word_of(did.request),
            "type": "info" if did.unknown else "fail" if did.response.refused else "ok",
            "argument": request_text(did.request),
            "output": answer_text(did.request, did.response),
            "invoke": did.call,
            "complete": None if did.unknown else did.ret,
            "at": did.at,
        }
        for did in operations
    )
