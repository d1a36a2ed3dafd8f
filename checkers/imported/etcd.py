"""The report folder of etcd's robustness suite: its operations held against a store with revisions, then its watches."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from chaos.core.storage_path import Place
from chaos.core.verdict import Anomaly, Example, Results
from chaos.formats.etcd_robustness import Did, as_operations, read_report
from chaos.formats.etcd_text import answer_text, request_text, word_of
from chaos.formats.missing import Missing, undone
from checkers.imported.figures import figures
from checkers.imported.load import of_operations
from checkers.imported.options import Question
from checkers.imported.results import results
from checkers.objects.finding import EXAMPLES
from checkers.objects.rules import Budget
from checkers.revisions.judge import STANDS, Shown, judge_operations

MODEL: Final = "kv"


def judge(path: Place, question: Question, engine: str) -> Results:
    """The verdict on a report folder.

    Raises:
        HistoryError: naming file, line and fault.
    """
    report = read_report(path)
    operations = as_operations(report)
    verdict = judge_operations(report, Budget(question.budget_s))
    anomalies = _anomalies(verdict.found)
    clients = len({did.at.split("/")[0] for did in report.operations})
    return results(
        model=MODEL,
        engine=engine,
        valid=False if anomalies else "unknown" if verdict.reason else True,
        anomalies=anomalies,
        reason=verdict.reason,
        cut_off=report.cut_off,
        undone=undone(anomalies, STANDS, Missing.ANY),
        examined=f"{len(report.operations)} operations of {clients} client{'s' * (clients != 1)}",
        figures=figures(of_operations(operations.items, MODEL), [], None, untold="kv tells of no lost messages"),
    )


def _anomalies(found: Iterable[Shown]) -> dict[str, Anomaly]:
    """What was found by kind: how often, and some of it."""
    by_kind: dict[str, list[Shown]] = {}
    for one in found:
        by_kind.setdefault(one.kind, []).append(one)
    return {
        kind: Anomaly(
            count=len(own),
            allowed=False,
            examples=tuple(Example(sentence=one.sentence, ops=rows(one.did)) for one in own[:EXAMPLES]),
        )
        for kind, own in by_kind.items()
    }


def rows(operations: Sequence[Did]) -> tuple[dict[str, Any], ...]:
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
