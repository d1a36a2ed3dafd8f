"""What is wrong with an imported log, in the words of its file: its values, the lines that show it, nothing of ours.

The kernels of our own runs find it; they would name values, nodes and seconds that such a file does not have. The first
occurrence of each anomaly comes with the smallest sub-history in which the same kernels find the same one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from chaos.basics.delta_debugging import smallest
from chaos.basics.name_lists import join_names
from chaos.core.op import Type
from chaos.core.verdict import Example
from chaos.formats.operations import NEVER, Operation
from checkers.anomalies.findings import Finding
from checkers.history.columns import Ints
from checkers.imported.json_values import to_json
from checkers.objects.calls import freeze
from checkers.objects.finding import show

CHECKS: Final = 400
"""How often one minimisation asks the kernels at most."""
MOST: Final = 5000
"""Operations that are looked at at most."""
_LINES: Final = 8

Found = Mapping[str, Finding]


class Log(NamedTuple):
    """One log: its operations, what the file calls it (empty: there is but one), and how to judge some of them.

    ``value_of``: what a kernel's name of a value stands for.
    """

    operations: Sequence[Operation]
    name: str
    found_in: Callable[[list[Operation]], Found]
    value_of: Mapping[str, Any]


_SENTENCES: Final[Mapping[str, str]] = {
    "duplicate": "{value} is in {log} more than once, at offsets {offsets}",
    "inconsistent-offsets": "offset {offset} of {log} was given to {values}",
    "phantom": "a read returned {value} at offset {offset} of {log}, which nobody appended",
    "G1a": "a read returned {value} at offset {offset} of {log}, though its append had failed",
    "nonlinearizable-offset": (
        "{value} was given offset {offset} of {log}, though a higher one had been acknowledged or read before it began"
    ),
    "stale-tail": "a read of {log} to its end missed {value} at offset {offset}, acknowledged or read before it began",
    "nonmonotonic-send": "a process appended {value} at offset {offset} of {log}, not above its append before",
    "int-nonmonotonic-poll": "a read of {log} returned {value} at offset {offset}, not above the record before it",
    "nonmonotonic-poll": "a read of {log} returned {value} at offset {offset}, below the offset that it began at",
    "int-poll-skip": "a read of {log} passed over {value} at offset {offset}",
    "poll-skip": "a read of {log} left out {value} at offset {offset}, which lies within what it covered",
}
"""By anomaly; each says what a broker engineer would."""


def _sightings(operations: Iterable[Operation]) -> list[tuple[int, Any]]:
    """Offsets with the values that acknowledgements and reads showed there."""
    out: list[tuple[int, Any]] = []
    for one in operations:
        if one.f == "append":
            out += [(one.extra["offset"], one.argument)] if one.type is Type.OK and "offset" in one.extra else []
        elif one.type is Type.OK:
            out += one.extra.get("records") or ()
    return [(offset, value) for offset, value in out if offset is not None]


def _sentence(name: str, example: Example, log: Log, shown: Sequence[Operation]) -> str:
    value = log.value_of.get(example.value or "")
    seen = _sightings(shown)
    offsets = sorted({offset for offset, one in seen if freeze(one) == freeze(value)})
    values = {freeze(one): one for offset, one in seen if offset == example.offset}
    lines = [str(one.number) for one in shown[:_LINES]]
    lines += [f"{len(shown) - _LINES} more"] if len(shown) > _LINES else []
    said = _SENTENCES[name].format(
        value=f"value {show(value)}",
        offset=example.offset,
        log=f"log {log.name}" if log.name else "the log",
        offsets=join_names([str(one) for one in offsets]),
        values=join_names([f"value {show(one)}" for one in values.values()]),
    )
    return f"{said} (line{'s' * (len(lines) > 1)} {join_names(lines)})"


def row(operation: Operation) -> dict[str, Any]:
    """An operation as a line of jsonl has it, with the line's number."""
    own: dict[str, Any] = {"op": operation.number, "f": operation.f, "type": operation.type.word}
    if operation.process is not None:
        own["process"] = to_json(operation.process)
    own |= {"value": to_json(operation.argument)} if operation.f == "append" else {}
    own |= {name: to_json(value) for name, value in operation.extra.items()}
    own |= {"invoke": operation.invoke}
    return own | ({} if operation.complete == NEVER else {"complete": operation.complete})


def _near(log: Log, example: Example) -> Ints:
    """The operations that name an occurrence's value or offset, or that ended when it was seen."""
    value = freeze(log.value_of.get(example.value or ""))
    near = []
    for i, one in enumerate(log.operations):
        pairs = one.extra.get("records") or ()
        named = freeze(one.argument) == value if one.f == "append" else False
        named |= one.extra.get("offset") == example.offset and one.f == "append"
        named |= any(offset == example.offset or freeze(of) == value for offset, of in pairs)
        if named or example.at_ns in (one.invoke, one.complete):
            near.append(i)
    return np.array(near, dtype=np.int64)


def _smallest(name: str, example: Example, log: Log) -> list[Operation] | None:
    """The smallest sub-history found in which the kernels see the same occurrence; None if the budget did not do."""
    left = [CHECKS]

    def chosen(which: Sequence[int]) -> list[Operation]:
        return [log.operations[i] for i in which]

    def shows(which: Sequence[int]) -> bool:
        left[0] -= 1
        finding = log.found_in(chosen(which)).get(name)
        same = example.value, example.offset
        return finding is not None and any((one.value, one.offset) == same for one in finding.examples)

    for which in (_near(log, example).tolist(), range(len(log.operations))):
        if 0 < len(which) <= MOST and shows(which):
            return chosen(smallest(which, shows, lambda: left[0] > 0))
    return None


def examples_of(name: str, finding: Finding, logs: Sequence[Log]) -> tuple[Example, ...]:
    """The examples of an anomaly, the first with the smallest sub-history that shows it.

    Args:
        name: the anomaly.
        finding: what the kernels found, in all logs.
        logs: by their numbers.
    """
    out: list[Example] = []
    for example in finding.examples:
        log = logs[example.key or 0]
        shown = _smallest(name, example, log) if not out else None
        if shown is None:
            shown = [log.operations[i] for i in _near(log, example).tolist()]
        value = log.value_of.get(example.value or "")
        out.append(
            Example(
                sentence=_sentence(name, example, log, shown),
                key=example.key,
                offset=example.offset,
                last_offset=example.last_offset,
                value=None if value is None else str(to_json(value)),
                ops=tuple(row(one) for one in shown[:MOST]),
            )
        )
    return tuple(out)
