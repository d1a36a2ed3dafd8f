"""The report folder of etcd's robustness suite: ``client-N/operations.json`` and ``client-N/watch.json``.

Both files are records one after the other, indented or one a line. The suite's names have been the same from etcd 3.6
on; members that came later (``KeysOnly``, ``member-id``, ``ExpectedVersion``) may be missing, and others are ignored.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats.etcd_text import answer_text, request_text, word_of
from chaos.formats.etcd_words import DELETE, PUT, RANGE, OperationLine, Request, Response, WatchLine
from chaos.formats.format import Format
from chaos.formats.missing import Missing
from chaos.formats.operations import NEVER, Operation, Operations
from chaos.storage.storage_path import Place

NAME: Final = "etcd-robustness"
OPERATIONS: Final = "operations.json"
WATCHES: Final = "watch.json"
_KINDS: Final = {
    "range": "range",
    "txn": "txn",
    "leaseGrant": "grant",
    "leaseRevoke": "revoke",
    "compact": "compact",
    "defragment": "",
}
"""Each type of request, and the member that must be there."""
_PARTS: Final = frozenset({RANGE, PUT, DELETE})

T = TypeVar("T")


class Did(NamedTuple):
    """One operation. ``number``: from 1 over all clients; ``at``: file and line. Times in ns of the suite's clock."""

    number: int
    at: str
    client: int
    request: Request
    response: Response
    call: int
    ret: int

    @property
    def unknown(self) -> bool:
        """Whether it is not known if the operation took place, or when."""
        return bool(self.response.error) or self.response.persisted


class Watched(NamedTuple):
    """One watch of a client. ``number``: after the operations, over all clients."""

    number: int
    at: str
    client: int
    line: WatchLine


class EtcdReport(msgspec.Struct, kw_only=True):
    """A report folder. ``cut_off``: where a file ends too early, or None."""

    operations: list[Did]
    watches: list[Watched]
    cut_off: str | None = None


def read_report(folder: Place) -> EtcdReport:
    """A whole report folder.

    Raises:
        HistoryError: it is none, or naming file, line and fault.
    """
    report = EtcdReport(operations=[], watches=[])
    lines: list[tuple[str, int, WatchLine]] = []
    for client, home in _clients(folder):
        for at, line in _records(report, home / OPERATIONS, home, OperationLine):
            fault = _fault(line)
            if fault:
                raise HistoryError(f"{folder}/{at}: {fault}")
            number = len(report.operations) + 1
            report.operations.append(Did(number, at, line.client, line.request, line.response, line.call, line.ret))
        lines += [(at, client, line) for at, line in _records(report, home / WATCHES, home, WatchLine)]
    first = len(report.operations) + 1
    report.watches = [Watched(first + i, *one) for i, one in enumerate(lines)]
    if not report.operations and not report.watches and report.cut_off is None:
        raise HistoryError(f"{folder}: no client has {OPERATIONS} or {WATCHES}; was the report copied whole?")
    return report


def _clients(folder: Place) -> list[tuple[int, Path]]:
    if not isinstance(folder, Path):
        raise HistoryError(f"{folder}: --format {NAME} reads a folder of this machine; copy it here first")
    if folder.is_file():
        raise HistoryError(
            f"{folder}: a file; --format {NAME} takes the report folder, which holds client-1, client-2, …"
        )
    homes = []
    for home in folder.glob("client-*"):
        text = home.name.removeprefix("client-")
        if home.is_dir() and text.isdecimal():
            homes.append((int(text), home))
    if not homes:
        near = sorted(home.parent for home in folder.glob("*/client-*"))
        hint = f"; did you mean {near[0]}?" if near else "; name the folder of a test that the suite kept"
        raise HistoryError(f"{folder}: there is no folder client-N in it{hint}")
    return sorted(homes)


def _records(report: EtcdReport, path: Path, home: Path, kind: type[T]) -> Iterator[tuple[str, T]]:
    """The records of a file with the place of each; none of a file that is not there: the client did no such thing."""
    decoder = msgspec.json.Decoder(kind)
    where = f"{home.name}/{path.name}"
    try:
        for number, text in _texts(path):
            if text is None:
                report.cut_off = report.cut_off or f"{where} ends within the record of line {number}"
                return
            try:
                yield f"{where}:{number}", decoder.decode(text)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise HistoryError(
                    f"{path}:{number}: no record of etcd's robustness suite as 3.6 and later write it: {error}"
                ) from error
    except FileNotFoundError:
        return
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror or error}") from error


def _texts(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """The records' texts with the line at which each begins; None for one that the file ends within."""
    first, text = 0, bytearray()
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            bare = line.rstrip()
            if not text and not bare:
                continue
            if text and bare != b"}":
                text += line
                continue
            if text or (len(bare) > 1 and bare.endswith(b"}")):
                yield first or number, bytes(text + bare)
                first, text = 0, bytearray()
            elif bare.startswith(b"{"):
                first, text = number, bytearray(line)
            else:
                yield number, bytes(bare)  # no record: decoding says why
    if text:
        yield first, None


def _fault(line: OperationLine) -> str:
    """What is wrong with an operation though it has all members; empty if nothing is."""
    request = line.request
    if request.kind not in _KINDS:
        return f"there is no request {request.kind!r}; there are {', '.join(_KINDS)}"
    member = _KINDS[request.kind]
    if member and getattr(request, member) is None:
        return f"a request {request.kind!r} without what it asks for"
    strange = next((part.kind for part in request.parts if part.kind not in _PARTS), None)
    if strange is not None:
        return f"there is no operation {strange!r} of a transaction; there are {', '.join(sorted(_PARTS))}"
    keyless = [part.kind for part in request.parts if not part.first_key]
    keyless += [request.kind] if request.range is not None and not request.range.start else []
    if keyless:
        return f"a {keyless[0]} without a key, as files of before etcd 3.6 have it; take those of a later one"
    if line.ret <= line.call:
        return f"the operation returns at {line.ret}, not after its call at {line.call}"
    return ""


def read(path: Place) -> Operations:
    """The operations of all clients as other formats have them.

    Raises:
        HistoryError: it is no report folder, or naming file, line and fault.
    """
    return as_operations(read_report(path))


def as_operations(report: EtcdReport) -> Operations:
    """The operations of a report as other formats have them, in words."""
    items = [_operation(one) for one in report.operations]
    items.sort(key=lambda one: one.invoke)
    return Operations(items=items, cut_off=report.cut_off, missing=Missing.ANY)


def _operation(one: Did) -> Operation:
    kind = Type.INFO if one.unknown else Type.FAIL if one.response.refused else Type.OK
    return Operation(
        f=word_of(one.request),
        type=kind,
        invoke=one.call,
        complete=NEVER if kind is Type.INFO else one.ret,
        number=one.number,
        process=one.client,
        argument=request_text(one.request),
        output=answer_text(one.request, one.response),
        invoke_ns=one.call,
        complete_ns=one.ret,
        extra={"at": one.at},
    )


FORMAT: Final = Format(help="report folders of etcd's robustness tests", read=read, usual_model="kv", is_folder=True)
