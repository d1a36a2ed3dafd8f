"""Jepsen's histories: ``history.edn``, its JSON twin, and the tuples of old Knossos files.

A record is a map (``#jepsen.history.Op`` or plain) or a tuple ``[process type f value]``; records stand one a line,
spread over lines, or in one vector. ``:index`` and ``:time`` may be missing. In JSON the keywords are strings.

Conventions are Jepsen's: a read of nil says nothing, a failed operation never happened.
"""

from bisect import bisect_left
from collections.abc import Hashable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, Final

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats import edn, plain_text, text
from chaos.formats.format import Format
from chaos.formats.missing import Missing
from chaos.formats.operations import Operations, pair_events
from chaos.formats.records import Event, Records
from chaos.storage.storage_path import Place

_TYPES: Final = {"invoke": Type.INVOKE, "ok": Type.OK, "fail": Type.FAIL, "info": Type.INFO}
_USUAL: Final = ("index", "time", "type", "process", "f", "value")
_TUPLE: Final = range(3, 6)  # [process type f], with a value, with an error
_NOT_SAID: Final = -1


def name(word: Any) -> Any:
    """A keyword's name; anything else is its own."""
    return word[1:] if isinstance(word, edn.Keyword) else word


def event(record: Any, line: int) -> Event:
    """A record that was read as a value.

    Raises:
        ValueError: saying what is wrong with it.
    """
    if isinstance(record, tuple) and len(record) in _TUPLE:
        record = dict(zip(("process", "type", "f", "value", "error"), record, strict=False))
    if not isinstance(record, dict):
        raise ValueError(f"a record is a map, or [process type f value]; this is {_shown(record)}")  # noqa: TRY004 - text, not types
    members = {str(name(key)): value for key, value in record.items()}
    type_ = name(members.get("type"))
    if not isinstance(type_, Hashable) or type_ not in _TYPES:
        raise ValueError(f":type is one of invoke, ok, fail, info, not {_shown(type_)}")
    time_ns = _integer(members, "time")
    return Event(
        index=_integer(members, "index"),
        time_ns=None if time_ns == _NOT_SAID else time_ns,
        type=_TYPES[type_],
        process=name(members.get("process")),
        f=str(name(members.get("f")) or ""),
        value=members.get("value"),
        extra={key: value for key, value in members.items() if key not in _USUAL},
        line=line,
    )


def _integer(members: dict[str, Any], which: str) -> int | None:
    number = members.get(which)
    if number is None or (isinstance(number, int) and not isinstance(number, bool) and abs(number) < 1 << 63):
        return number
    raise ValueError(f":{which} is an integer of 64 bits, not {_shown(number)}")


def _shown(value: Any) -> str:
    shown = repr(value) if not isinstance(value, edn.Keyword | edn.Symbol) else str(value)
    return "missing" if value is None else shown[:40]


def freeze(value: Any) -> Any:
    """A value of JSON, its arrays and objects as what EDN's vectors and maps become."""
    if isinstance(value, list):
        return tuple(freeze(item) for item in value)
    if isinstance(value, dict):
        return edn.Map((key, freeze(item)) for key, item in value.items())
    return value


class EventReader:
    """The events of a file in its order, in bounded memory.

    ``cut_off``: once all events were given, None or where the file was cut off.
    """

    def __init__(self, path: Place, lo: int = 0, hi: int | None = None, first_line: int = 1) -> None:
        self.records = Records(path, lo, hi, first_line)
        self.path = path

    @property
    def cut_off(self) -> str | None:
        """A sentence, or None."""
        return self.records.cut_off

    def __iter__(self) -> Iterator[Event]:
        """The events.

        Raises:
            HistoryError: naming file, line and fault.
        """
        json = self.path.exists() and text.is_json(self.path)
        for chunk in self.records.chunks():
            yield from self._chunk(chunk, json=json)

    def _chunk(self, chunk: text.Chunk, *, json: bool) -> Iterator[Event]:
        """The plain records at once, the others one by one, all in their order."""
        events, numbers, refused = plain_text.take(chunk.data, chunk.lines, json=json)
        lines = chunk.data.split(b"\n") if refused else []
        done = 0
        for number in refused:
            upto = bisect_left(numbers, number, lo=done)
            yield from events[done:upto]
            done = upto
            found = self.line(lines[number], int(chunk.lines[number]), json=json, rewritten=chunk.offset < 0)
            if found is None:
                self.records.unfinished(chunk, number)
                return
            yield from found
        yield from events[done:]

    def line(self, line: bytes, number: int, *, json: bool, rewritten: bool = False) -> list[Event] | None:
        """The events of one line; None if it ends within a record. A line that was rewritten has no columns to name.

        Raises:
            HistoryError: naming file, line and fault.
        """
        try:
            records = _json(line, number) if json else _edn(line, number)
            return None if records is None else [event(*record) for record in records]
        except edn.EdnError as error:
            column = "" if rewritten else f":{error.column}"
            raise HistoryError(f"{self.path}:{error.line}{column}: {error.fault}") from error
        except (ValueError, msgspec.DecodeError) as error:
            raise HistoryError(f"{self.path}:{number}: {error}") from error


def _edn(line: bytes, number: int) -> list[tuple[Any, int]] | None:
    try:
        words = line.decode()
    except UnicodeDecodeError as error:
        if error.end == len(line) and error.reason == "unexpected end of data":
            return None
        raise ValueError(f"byte {error.start + 1} of the line is not UTF-8") from error
    try:
        return [(form.value, form.line) for form in edn.forms(words, number)]
    except edn.EdnError as error:
        if error.incomplete:
            return None
        raise


_BLANK: Final = b" ,\t\r"


def _json(line: bytes, number: int) -> list[tuple[Any, int]] | None:
    line = line.strip(_BLANK)
    if not line:
        return []
    try:
        return [(freeze(msgspec.json.decode(line)), number)]
    except msgspec.DecodeError as error:
        if "truncated" in str(error):
            return None
        raise


def read(path: Place, *, independent: bool = False) -> Operations:
    """A whole history as paired operations.

    Raises:
        HistoryError: naming file, line and fault.
    """
    reader = EventReader(path)
    events = list(reader)
    index = [event.index for event in events if event.index is not None]
    ordered = len(index) < len(events) or all(a <= b for a, b in pairwise(index))
    operations, others = pair_events(path, events, independent=independent)
    missing = Missing.LATER if ordered else Missing.ANY
    return Operations(items=operations, others=others, cut_off=reader.cut_off, missing=missing)


FORMAT: Final = Format(help="Jepsen's history.edn", read=read, read_independent=partial(read, independent=True))
