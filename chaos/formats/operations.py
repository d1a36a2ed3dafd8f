"""A history as paired operations: what the checkers of registers, sets, queues and maps look at.

One ``Operation`` is an invocation with its completion. Its place in real time is a pair of numbers of one order (the
index of Jepsen's records, the line of a log, instants of a file that has such): a before b iff
``a.complete < b.invoke``; at equal numbers invocations come first. Nothing else is comparable between two histories.

Does not know what an operation means: ``f`` is a word, values are values.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats.missing import Missing
from chaos.formats.records import Event
from chaos.storage.storage_path import Place

NEVER: Final = (1 << 63) - 1
"""``complete`` of an operation that may take effect at any time after its invocation."""
LONG_AGO: Final = -1
"""``invoke`` of an operation whose invocation nobody recorded."""

NilMeans = Literal["any", "absent"]


class Operation(msgspec.Struct, kw_only=True):
    """An invocation and what became of it.

    ``number``: where people find it: the index of a Jepsen record, the line of any other file. ``completion``: the
    index of the record that completed it, its position where records have none; -1 without.
    ``process``: who did it; None where the file does not say. ``key``: None in a history of one object.
    ``argument``: the value of the invocation. ``output``: the value of the completion, None without.
    ``type``: OK, FAIL or INFO. ``complete``: ``NEVER`` for INFO, answered or not. ``answered``: there is a completion.
    Times are nanoseconds, None where the file has none; ``complete_ns`` is also that of an INFO answer.
    ``extra``: what else the completion (or the line) says, by name.
    """

    f: str
    type: Type
    invoke: int
    complete: int
    number: int
    completion: int = -1
    process: Hashable = None
    key: Any = None
    argument: Any = None
    output: Any = None
    answered: bool = True
    invoke_ns: int | None = None
    complete_ns: int | None = None
    extra: Mapping[str, Any] = {}


class Operations(msgspec.Struct, kw_only=True):
    """A whole history of paired operations, ascending by ``invoke``.

    ``others``: records that no client made (nemeses, faults), as they stand. ``cut_off``: where the file ends too
    early, or None; ``missing``: what may then be missing. ``nil_means``: what the notation's own tool takes a read of
    nil for, any value or none; a checker's default. ``failed_cas_observes``: whether that tool takes a failed
    compare-and-set for the observation of another value (Porcupine does, Knossos does not).
    """

    items: list[Operation]
    others: list[Event] = []
    cut_off: str | None = None
    missing: Missing = Missing.LATER
    nil_means: NilMeans = "any"
    failed_cas_observes: bool = False


def pair_events(
    path: Place, events: Iterable[Event], *, independent: bool = False
) -> tuple[list[Operation], list[Event]]:
    """Operations of clients by process, and the records of others.

    Real time is the order of the records' index (of the file, where indices are equal), or their position if any lacks
    one. ``independent``: a value is ``[key value]``.
    An invocation whose process invokes again stays open; an INFO record of a client that has nothing open is one of
    ``others``.

    Raises:
        HistoryError: a completion without its invocation or of another kind than it, a value that is no ``[key value]``
            where it should be.
    """
    found, others = [], []
    open_: dict[Hashable, Operation] = {}
    for place, event in _placed(events):
        if not isinstance(event.process, int) or isinstance(event.process, bool):
            others.append(event)
        elif event.type == Type.INVOKE:
            open_[event.process] = operation = _invoked(path, event, place, independent=independent)
            found.append(operation)
        elif event.process in open_ and event.f not in ("", open_[event.process].f):
            began = open_[event.process].f
            who = f"{path}:{event.line}: process {event.process}"
            raise HistoryError(f"{who} completes a {event.f}, but began a {began}")
        elif event.process in open_:
            _complete(path, open_.pop(event.process), event, place, independent=independent)
        elif event.type == Type.INFO:
            others.append(event)
        else:
            raise HistoryError(
                f"{path}:{event.line}: process {event.process} completes a {event.f or 'thing'} it never invoked"
            )
    return found, others


def _placed(events: Iterable[Event]) -> Sequence[tuple[int, Event]]:
    listed = list(events)
    if all(event.index is not None for event in listed):
        listed.sort(key=lambda event: event.index or 0)
    return list(enumerate(listed))


def _split(path: Place, event: Event, *, independent: bool) -> tuple[Any, Any]:
    """Key and value of a record."""
    if not independent:
        return event.extra.get("key"), event.value
    if isinstance(event.value, tuple) and len(event.value) == 2:  # noqa: PLR2004 - a key and a value
        return event.value
    raise HistoryError(f"{path}:{event.line}: --independent wants values [key value], not {str(event.value)[:40]}")


def _invoked(path: Place, event: Event, place: int, *, independent: bool) -> Operation:
    key, argument = _split(path, event, independent=independent)
    return Operation(
        f=event.f,
        type=Type.INFO,
        invoke=place,
        complete=NEVER,
        number=event.line if event.index is None else event.index,
        process=event.process,
        key=key,
        argument=argument,
        answered=False,
        invoke_ns=event.time_ns,
        extra=event.extra,
    )


def _complete(path: Place, operation: Operation, event: Event, place: int, *, independent: bool) -> None:
    operation.type = event.type
    operation.answered = True
    operation.complete_ns = event.time_ns
    operation.completion = place if event.index is None else event.index
    operation.extra = {**operation.extra, **event.extra} if event.extra else operation.extra
    if event.type != Type.INFO:
        operation.complete = place
    # What an info or failed completion says beside its type is often not a value but why.
    keyed = event.type == Type.OK or (isinstance(event.value, tuple) and len(event.value) == 2)  # noqa: PLR2004
    operation.output = _split(path, event, independent=independent and keyed)[1]
