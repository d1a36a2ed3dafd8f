"""The records of a history file, from whatever notation: what a checker's tables are made of.

``Records`` gives a file's chunks and keeps account of how far it could be read: a file that ends within a record is
read as far as it goes and says so in ``cut_off``; a record that is broken while others follow is an error.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats import text
from chaos.storage.storage_path import Place


class Event(msgspec.Struct, frozen=True):
    """One record: an invocation or a completion.

    ``index`` and ``time_ns``: None where the file does not say. ``process``: an integer is a client, anything else is
    not. ``f``: without the keyword's colon. ``extra``: the members beyond the usual ones, by name without colon.
    ``line``: where the record begins, from 1.
    """

    index: int | None
    time_ns: int | None
    type: Type
    process: Hashable
    f: str
    value: Any
    extra: Mapping[str, Any]
    line: int


class Records:
    """The chunks of a file, or of a byte range that begins and ends at line ends and with line ``first_line``.

    ``cut_off``: after the last chunk, None or a sentence on where the file was cut off.
    """

    def __init__(self, path: Place, lo: int = 0, hi: int | None = None, first_line: int = 1) -> None:
        self.path = path
        self.lo = lo
        self.hi = hi
        self.first_line = first_line
        self.cut_off: str | None = None
        self._resume: tuple[int, int] | None = None
        self._stopped = False

    def chunks(self) -> Iterator[text.Chunk]:
        """Chunks of whole records.

        Raises:
            HistoryError: if the file is not there or its brackets are broken.
        """
        try:
            yield from self._chunks()
        except OSError as error:
            raise HistoryError(f"{self.path}: {error.strerror or error}") from error
        except text.Cut as cut:
            if cut.broken:
                raise self.broken(cut.line) from cut
            self._cut(cut.words)

    def _chunks(self) -> Iterator[text.Chunk]:
        if self.lo == 0 and self.hi is None and text.is_vector(self.path):
            yield from text.form_chunks(self.path, vector=True)
            return
        for chunk in text.line_chunks(self.path, self.lo, self.hi, first_line=self.first_line):
            yield chunk
            if self._stopped:
                return
            if self._resume is not None:
                offset, line = self._resume
                yield from text.form_chunks(self.path, vector=False, offset=offset, first_line=line)
                return

    def unfinished(self, chunk: text.Chunk, number: int) -> None:
        """A line of the chunk, by number from 0, ends within a record: what lies behind it is read otherwise or not.

        The rest of the chunk is not to be used. If other lines follow, the record may go on there, and reading goes
        on by brackets; if they begin records, this one is broken.

        Raises:
            HistoryError: if it is broken.
        """
        line = int(chunk.lines[number])
        lines = chunk.data.split(b"\n")
        following = b"\n".join(lines[number + 1 :])
        if not following.strip():
            following = self._behind(chunk)
        if not following.strip():
            self._stopped = True
            self._cut(f"within the record that begins on line {line}")
        elif chunk.offset < 0 or self.hi is not None or following.lstrip(b" ,\r\n")[:1] in (b"{", b"#"):
            raise self.broken(line)
        else:
            self._resume = chunk.offset + sum(len(each) + 1 for each in lines[:number]), line

    def _behind(self, chunk: text.Chunk) -> bytes:
        with self.path.open("rb") as file:
            file.seek(chunk.offset + len(chunk.data))
            return file.read(1 << 16)

    def _cut(self, where: str) -> None:
        self.cut_off = f"the file ends {where}; what precedes it was read"

    def broken(self, line: int) -> HistoryError:
        """The error for a record that does not end while others follow."""
        return HistoryError(f"{self.path}:{line}: the record is not finished, and others follow it")
