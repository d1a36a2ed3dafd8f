"""The log with offsets, from paired operations: ``append`` of a value, ``read`` from an offset.

The operations become the columns of a queue's shard, and the kernels that judge our own runs judge them. There is no
drain as in a run, so what was not looked at is not unseen.
"""

from typing import Any, Final

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.verdict import Anomaly, Results
from chaos.formats import registry as formats
from chaos.formats.missing import UNDONE, Missing, Stands, retractable
from chaos.formats.operations import Operation
from chaos.storage.storage_path import Place
from checkers.anomalies.findings import Findings, anomaly, count_of, merge_findings, validity
from checkers.history.check_input import Context, QueueShard
from checkers.history.timeline import timeline_of
from checkers.imported.empty_run import empty_run_info
from checkers.imported.figures import figures
from checkers.imported.load import of_operations
from checkers.imported.log_columns import shard_of, values_of
from checkers.imported.log_report import Found, Log, examples_of
from checkers.imported.options import Question
from checkers.imported.results import results_of_file
from checkers.log.duplicates import DuplicatesKernel
from checkers.log.failed_read import FailedReadKernel
from checkers.log.linearizable import LinearizableKernel
from checkers.log.offsets import OffsetsKernel
from checkers.log.order import OrderKernel
from checkers.log.phantom import PhantomKernel
from checkers.objects.calls import freeze
from checkers.objects.finding import show

KERNELS: Final = (
    LinearizableKernel(),
    DuplicatesKernel(),
    FailedReadKernel(),
    OffsetsKernel(),
    OrderKernel(),
    PhantomKernel(),
)
"""What decides whether a log is linearizable: no more, no less (compared with a state-machine search)."""

STANDS: Final[Stands] = {
    "duplicate": Missing.ANY,
    "inconsistent-offsets": Missing.ANY,
    "phantom": UNDONE,  # its append may be in a line that is missing
    "G1a": Missing.ANY,
    "nonlinearizable-offset": Missing.ANY,
    "stale-tail": Missing.ANY,
    "nonmonotonic-send": Missing.ANY,
    "int-nonmonotonic-poll": Missing.ANY,
    "nonmonotonic-poll": Missing.ANY,
    "int-poll-skip": Missing.ANY,
    "poll-skip": Missing.ANY,
    "corrupt": Missing.ANY,
}
"""What may be missing of a log for an anomaly to stand: offsets that were shown stay what they are."""


def found_in(shard: QueueShard, context: Context) -> Findings:
    """What the kernels find in one log."""
    parts = [kernel.examine(shard, context) for kernel in KERNELS]
    merged = Findings(examined=len(shard.operations["op"]), found={})
    for part in parts:
        merged.found.update(part.found)
    return merged


def judge(path: Place, question: Question, engine: str) -> Results:
    """The verdict on a history of logs, one per key.

    Raises:
        HistoryError: naming file and fault.
    """
    operations = formats.read(path, question.format)
    by_key: dict[Any, tuple[Any, list[Operation]]] = {}
    for operation in operations.items:
        by_key.setdefault(freeze(operation.key), (operation.key, []))[1].append(operation)
    run = empty_run_info(len(by_key))
    context = Context(run=run, streams=(), timeline=timeline_of([], run))
    logs: list[Log] = []
    whole: Findings | None = None
    try:
        for number, (key, own) in enumerate(by_key.values()):
            numbers: dict[Any, int] = {}
            found = found_in(shard_of(own, number, numbers), context)
            whole = found if whole is None else merge_findings(whole, found)
            logs.append(_log(own, number, "" if len(by_key) == 1 and key is None else show(key), numbers, context))
    except ValueError as error:
        raise HistoryError(f"{path}: {error}") from error
    found_at_all = whole.found if whole is not None else {}
    anomalies: dict[str, Anomaly] = {
        name: msgspec.structs.replace(anomaly(name, finding, context), examples=examples_of(name, finding, logs))
        for name, finding in found_at_all.items()
    }
    return results_of_file(
        model=question.model,
        engine=engine,
        valid=validity(anomalies),
        anomalies=anomalies,
        reason="",
        cut_off=operations.cut_off,
        undone=retractable(anomalies, STANDS, operations.missing),
        examined=f"{len(operations.items)} operations of {count_of(len(logs), 'log')}",
        figures=figures(of_operations(operations.items, question.model), operations.others, None),
    )


def _log(own: list[Operation], key: int, name: str, numbers: dict[Any, int], context: Context) -> Log:
    """A log as it is told. ``numbers``: of its values, as the kernels were given them."""
    shown = {freeze(value): value for one in own for value in values_of(one)}

    def judged(some: list[Operation]) -> Found:
        return found_in(shard_of(some, key, numbers), context).found

    return Log(own, name, judged, {f"0:{number}": shown[value] for value, number in numbers.items()})
