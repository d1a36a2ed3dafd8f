"""OpenChaos' history files: lines of columns that tabs separate, each meaning what its position says.

A request has client, operation, REQUEST, value, sharding key, time and a note; a response client, operation, RESPONSE,
SUCCESS, FAILURE or UNKNOWN, value, sharding key, time, latency, a note and the end-to-end latency; a fault ``fault``,
its name, start or end, and the time. Times are wall-clock milliseconds; ``null`` is a missing value. Lines are the
order.

A dequeue may have many responses to one request, one a message, and pushed messages have no request at all: each
response is an operation of its own, invoked at the client's last request to dequeue (``LONG_AGO`` without any). Does
not guess offsets or queues, which such files do not have.
"""

from collections.abc import Hashable
from typing import Any, Final

from chaos.core.op import Type
from chaos.formats.format import Format
from chaos.formats.lines import Lines
from chaos.formats.missing import Missing
from chaos.formats.operations import LONG_AGO, NEVER, Operation, Operations
from chaos.formats.records import Event
from chaos.storage.storage_path import Place

_RESULTS: Final = {"SUCCESS": Type.OK, "FAILURE": Type.FAIL, "UNKNOWN": Type.INFO}
_FAULT_COLUMNS: Final = 4
_REQUEST_COLUMNS: Final = 6
_RESPONSE_COLUMNS: Final = 8
_NS_PER_MS: Final = 1_000_000
_DEQUEUE: Final = "dequeue"
_GET_ALL: Final = "getAll"


def read(path: Place) -> Operations:
    """A whole history.

    Raises:
        HistoryError: naming file, line and fault.
    """
    reader = _Reader()
    lines = Lines(path, reader.line, is_closed=lambda _: False)
    for _ in lines:
        pass
    operations = sorted(reader.operations, key=lambda operation: operation.invoke)
    return Operations(items=operations, others=reader.faults, cut_off=lines.cut_off, missing=Missing.DELIVERIES)


class _Reader:
    """Pairs line by line."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.faults: list[Event] = []
        self.asked: dict[tuple[Hashable, str], Operation] = {}

    def line(self, line: str, number: int) -> None:
        columns = line.split("\t")
        if columns[0] == "fault":
            self.fault(columns, number)
        elif columns[2:3] == ["REQUEST"] and len(columns) >= _REQUEST_COLUMNS:
            self.request(columns, number)
        elif columns[2:3] == ["RESPONSE"] and len(columns) >= _RESPONSE_COLUMNS:
            self.response(columns, number)
        else:
            raise ValueError("the line is no request, response or fault of OpenChaos")

    def fault(self, columns: list[str], number: int) -> None:
        if len(columns) < _FAULT_COLUMNS or columns[2] not in ("start", "end"):
            raise ValueError("a fault has a name, start or end, and a time")
        self.faults.append(
            Event(
                index=number,
                time_ns=_time_ns(columns[3]),
                type=Type.INFO,
                process="fault",
                f=columns[1],
                value=columns[2],
                extra={},
                line=number,
            )
        )

    def request(self, columns: list[str], number: int) -> None:
        client, f, _, value, key, time = columns[:6]
        operation = Operation(
            f=f,
            type=Type.INFO,
            invoke=number,
            complete=NEVER,
            number=number,
            process=_client(client),
            key=_or_none(key),
            argument=_or_none(value),
            answered=False,
            invoke_ns=_time_ns(time),
        )
        self.asked[operation.process, f] = operation
        self.operations.append(operation)

    def response(self, columns: list[str], number: int) -> None:
        client, f, _, result, value, key, time = columns[:7]
        if result not in _RESULTS:
            raise ValueError(f"a response is SUCCESS, FAILURE or UNKNOWN, not {result!r}")
        operation = self.answered(_client(client), f, number)
        operation.type = _RESULTS[result]
        operation.answered = True
        operation.complete = NEVER if operation.type == Type.INFO else number
        operation.complete_ns = _time_ns(time)
        operation.key = _or_none(key) if operation.key is None else operation.key
        operation.output = _values(value) if f == _GET_ALL else _or_none(value)
        operation.extra = {
            name: item
            for name, item in zip(("latency_ms", "info", "end_to_end_ms"), columns[7:10], strict=False)
            if item != "null"
        }

    def answered(self, client: Hashable, f: str, number: int) -> Operation:
        """The operation that a response completes."""
        asked = self.asked.get((client, f))
        if asked is not None and not asked.answered:
            return asked
        if f != _DEQUEUE:
            raise ValueError(f"client {client} has a response to {f} without a request")
        operation = Operation(
            f=f,
            type=Type.INFO,
            invoke=LONG_AGO if asked is None else asked.invoke,
            complete=NEVER,
            number=number,
            process=client,
            invoke_ns=None if asked is None else asked.invoke_ns,
        )
        self.operations.append(operation)
        return operation


def _client(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"a client is a number, not {text[:40]!r}")
    return int(text)


def _time_ns(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"a time is a number of milliseconds, not {text[:40]!r}")
    return int(text) * _NS_PER_MS


def _or_none(text: str) -> str | None:
    return None if text == "null" else text


def _values(text: str) -> Any:
    """What a getAll gives: ``[a, b]`` as Java prints a list."""
    if text == "null":
        return None
    if not (text.startswith("[") and text.endswith("]")):
        raise ValueError(f"a getAll gives [value, …], not {text[:40]!r}")
    return tuple(part.strip() for part in text[1:-1].split(",")) if text != "[]" else ()


FORMAT: Final = Format(help="OpenChaos' history files", read=read, usual_model="total-queue")
