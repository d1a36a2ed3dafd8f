"""A file of EDN or JSON as chunks of whole records, one record a line, in bounded memory.

Two ways to cut. *Lines*: every record is a line of the file, so that any byte range that ends at line ends can be
read alone (``chunks``): by threads, processes or machines. *Forms*: records lie in one vector or spread over lines;
brackets are counted from the beginning, and each record is rewritten onto a line of its own.

Does not read records: it knows brackets, strings and line ends, nothing else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from chaos.core.errors import HistoryError
from chaos.storage.storage_path import Place

CHUNK_BYTES: Final = 1 << 20
"""Of text at a time: about what stays in a processor's cache with all that is made of it."""
_LONGEST_RECORD_BYTES: Final = 1 << 28

BOM: Final = b"\xef\xbb\xbf"
"""What some editors put before the text; it says nothing."""

_HEAD: Final = re.compile(rb"(?:\xef\xbb\xbf)?(?>[\s,]+|;[^\n]*\n)*+")
_VECTOR: Final = re.compile(rb"[\[(](?>[\s,]+|;[^\n]*\n)*+[\[({#\])]")


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Whole records, one a line.

    ``lines``: the line of the file on which each line of ``data`` begins, from 1. ``offset``: where ``data`` lies in
    the file; -1 if it was rewritten.
    """

    data: bytes
    lines: npt.NDArray[np.int64]
    offset: int


def spans(total: int, size: int) -> list[tuple[int, int]]:
    """Byte ranges of at most ``size`` bytes that make up ``total`` bytes; lines are none of their business."""
    return list(pairwise([*range(0, total, size), total]))


def align(path: Place, lo: int, hi: int) -> tuple[int, int]:
    """The lines that begin within a byte range, as a byte range: what many ranges share nobody reads twice."""
    total = path.stat().st_size
    with path.open("rb") as file:

        def line_start(at: int) -> int:
            if not 0 < at < total:
                return min(at, total)
            file.seek(at - 1)
            while piece := file.read(1 << 16):
                end = piece.find(b"\n")
                if end >= 0:
                    return at + end
                at += len(piece)
            return total

        return line_start(lo), line_start(hi)


def chunks(path: Place, size: int = 64 << 20) -> list[tuple[int, int]]:
    """Byte ranges of about ``size`` bytes that end at line ends; together the whole file."""
    return [(lo, hi) for lo, hi in (align(path, *span) for span in spans(path.stat().st_size, size)) if lo < hi]


def lines_before(path: Place, at: int) -> int:
    """How many line ends stand before a place."""
    count = 0
    with path.open("rb") as file:
        while at > 0 and (data := file.read(min(CHUNK_BYTES, at))):
            count, at = count + data.count(b"\n"), at - len(data)
    return count


def line_chunks(path: Place, lo: int = 0, hi: int | None = None, *, first_line: int = 1) -> Iterator[Chunk]:
    """The lines of a byte range that begins and ends at line ends (the whole file without a range).

    ``first_line``: the number of the range's first line.
    """
    with path.open("rb") as file:
        file.seek(lo)
        left = (hi if hi is not None else path.stat().st_size) - lo
        while left > 0:
            data = file.read(min(CHUNK_BYTES, left))
            if not data:
                return
            data = _unmarked(data, lo)
            if len(data) < left:
                data += file.readline()
            at, left = lo, left - len(data)
            lo += len(data)
            count = data.count(b"\n") + (not data.endswith(b"\n"))
            yield Chunk(data, np.arange(first_line, first_line + count), at)
            first_line += count


def _unmarked(data: bytes, at: int) -> bytes:
    """Text from a place of the file on, blanks in place of a mark before the whole of it."""
    return b" " * len(BOM) + data[len(BOM) :] if at == 0 and data.startswith(BOM) else data


def is_vector(path: Place) -> bool:
    """Whether the file is one vector (or list) of records, rather than records one after the other."""
    head = _head(path)
    return _VECTOR.match(head) is not None


def is_json(path: Place) -> bool:
    """Whether the records are JSON objects: their keys are strings, where EDN has keywords."""
    return re.match(rb'(?:\[\s*)?\{\s*(?:"|\}\s*[,\]]?\s*\Z)', _head(path)) is not None


def _head(path: Place) -> bytes:
    with path.open("rb") as file:
        head = file.read(1 << 16)
    match = _HEAD.match(head)
    return head[match.end() :] if match else head


class Cut(Exception):  # noqa: N818 - not an error: what there is before it counts
    """The file ends within the record, or the vector, that ``words`` name by its ``line``.

    ``broken``: other records seem to follow it.
    """

    def __init__(self, words: str, line: int, *, broken: bool) -> None:
        super().__init__(words)
        self.words = words
        self.line = line
        self.broken = broken


def form_chunks(path: Place, *, vector: bool, offset: int = 0, first_line: int = 1) -> Iterator[Chunk]:
    """Records wherever they end, from a place on; each is rewritten onto one line.

    Raises:
        Cut: behind the last whole record, if the file ends within one, or without the vector's last bracket.
        HistoryError: brackets that close nothing, text behind the vector, a record of more than 256 MiB.
    """
    rest, line, size, closed = b"", first_line, CHUNK_BYTES, not vector
    with path.open("rb") as file:
        file.seek(offset)
        rest = _unmarked(file.read(1 << 16), offset)
        if vector:
            rest, line = _opened(rest)
        while True:
            data = file.read(size)
            final = not data
            piece = _Piece(path, rest + data, line, vector=vector, final=final)
            if piece.ends.size:
                yield piece.chunk()
                size = CHUNK_BYTES
            else:
                size *= 2
            rest, line = piece.rest()
            if piece.closes:
                rest, closed = rest + file.read(_LONGEST_RECORD_BYTES), True
                break
            if final:
                break
            if len(rest) > _LONGEST_RECORD_BYTES:
                raise HistoryError(f"{path}:{line}: a record of more than 256 MiB")
    left = _BLANK.sub(b"", rest)
    if closed and vector and left:
        raise HistoryError(f"{path}:{line}: there is text behind the vector of records")
    if left or not closed:
        at = line + _lines_before(rest)
        words = f"within the record that begins on line {at}" if left else "before the vector's last bracket"
        raise Cut(words, at, broken=_RECORD.search(rest.lstrip()) is not None)


def _opened(head: bytes) -> tuple[bytes, int]:
    """What follows the vector's first bracket, and on which line."""
    blank = _HEAD.match(head)
    at = (blank.end() if blank else 0) + 1
    return head[at:], head.count(b"\n", 0, at) + 1


def _lines_before(rest: bytes) -> int:
    """How many line ends precede the first token."""
    match = _HEAD.match(rest)
    return rest.count(b"\n", 0, match.end()) if match else 0


class _Piece:
    """Text from the end of one record on: where further records end in it."""

    def __init__(self, path: Place, data: bytes, line: int, *, vector: bool, final: bool) -> None:
        self.data = data
        self.line = line
        self.split_strings = False
        self.limit = len(data)
        masked = _QUIET.sub(self._mask, data) if _LOUD.search(data) else data
        if final and self.limit < len(data) and data[self.limit] == ord(";"):
            self.limit = len(data)  # a comment needs no line end at the end of the file
        raw = np.frombuffer(masked, dtype=np.uint8)[: self.limit]
        step = _STEP[raw]
        depth = np.cumsum(step, dtype=np.int32)
        under = np.flatnonzero(depth < 0)
        self.closes = bool(len(under))
        stop = int(under[0]) if self.closes else len(raw)
        if self.closes and not vector:
            at = line + data.count(b"\n", 0, stop)
            raise HistoryError(f"{path}:{at}: {chr(data[stop])} closes nothing")
        self.ends = np.flatnonzero((depth[:stop] == 0) & (step[:stop] < 0)) + 1
        self.behind = stop + 1 if self.closes else int(self.ends[-1]) if len(self.ends) else 0

    def _mask(self, match: re.Match[bytes]) -> bytes:
        found = match.group()
        if len(found) == 1:
            self.limit = min(self.limit, match.start())
        self.split_strings |= (found[0] == ord('"') and b"\n" in found) or found[0] == ord(";")
        return b" " * len(found)

    def rest(self) -> tuple[bytes, int]:
        return self.data[self.behind :], self.line + self.data.count(b"\n", 0, self.behind)

    def chunk(self) -> Chunk:
        """The records, each on a line; the line of each is where its first token is."""
        starts = np.concatenate([[0], self.ends[:-1]])
        data = self.data[: self.ends[-1]]
        raw = np.frombuffer(data, dtype=np.uint8)
        breaks = np.flatnonzero(raw == ord("\n"))
        tokens = np.flatnonzero(_SOLID[raw])
        lines = self.line + np.searchsorted(breaks, tokens[np.searchsorted(tokens, starts)])
        blank = raw[np.minimum(self.ends[:-1], len(raw) - 1)]
        if self.split_strings or bool(_SOLID[blank].any()):
            records = (_QUIET.sub(_on_one_line, data[a:b]) for a, b in zip(starts, self.ends, strict=True))
            return Chunk(b"\n".join(record.replace(b"\n", b" ") for record in records), lines, -1)
        out = raw.copy()
        out[breaks] = ord(" ")
        out[self.ends[:-1]] = ord("\n")
        return Chunk(out.tobytes(), lines, -1)


def _on_one_line(match: re.Match[bytes]) -> bytes:
    found = match.group()
    return b" " if found[0] == ord(";") else found.replace(b"\n", b"\\n")


def _table(marks: dict[bytes, int], other: int) -> npt.NDArray[np.int8]:
    table = np.full(256, other, dtype=np.int8)
    for letters, number in marks.items():
        table[list(letters)] = number
    return table


_STEP: Final = _table({b"[{(": 1, b"]})": -1}, 0)
_SOLID: Final = _table({b" ,\t\r\n\f\v": 0}, 1).astype(np.bool_)
_LOUD: Final = re.compile(rb'["\\;]')
_QUIET: Final = re.compile(rb'"(?>[^"\\]+|\\.)*+"|;[^\n]*\n|\\.|["\\;]', re.DOTALL)
_RECORD: Final = re.compile(rb'\n[ ,]*(?:#[\w.]+)?\{(?::|")(?:index|type|process|time)\b')
_BLANK: Final = re.compile(rb"[\s,]+|;[^\n]*")
