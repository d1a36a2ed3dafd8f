"""How text looks on the stream that it is for: its width, whether cells are cut to it, and colours.

A terminal has a width, and rows are made to fit it; behind a pipe nothing is cut, and prose has lines of ``PROSE``
columns. Pure but for ``style_of``, which asks the terminal. Imports nothing heavy, for lists need it.
"""

import os
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Final, Literal

import msgspec

PROSE: Final = 110
"""Columns of prose that is not for a terminal."""
NARROWEST: Final = 40
"""A terminal that says that it is narrower is taken for one of this width."""
_BREAKS: Final = re.compile(r"[ \t\r\n]+")
_GAPS: Final = re.compile(" {3,}")
_BESIDE: Final = 28
"""Columns that a text needs at least to stand beside a cell."""
_LEAST: Final = 16
"""Columns that a cell keeps at least where a row does not fit."""

Tone = Literal["", "good", "bad", "warn"]
_CODES: Final[Mapping[Tone, str]] = {"good": "1;32", "bad": "1;31", "warn": "1;33"}


class TextStyle(msgspec.Struct, frozen=True):
    """How to write. ``fits``: rows are cut to ``width`` columns; else ``width`` is that of prose alone."""

    width: int = PROSE
    fits: bool = False
    colour: bool = False

    def paint(self, text: str, tone: Tone) -> str:
        """A text in the colour of a tone."""
        return f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if self.colour and tone in _CODES else text

    def wrap(self, text: str) -> list[str]:
        """Prose as lines."""
        return textwrap.wrap(text, self.width, break_long_words=False, break_on_hyphens=False)

    def fit(self, text: str) -> list[str]:
        """A line as it is, or as several where it does not fit the terminal."""
        return self.wrap(text) if self.fits else [text]

    def hang(self, begin: str, text: str, least: int = _BESIDE) -> list[str]:
        """A cell and the text beside it: where lines are made to fit, those after the first are indented as deep.

        Where that would leave less than ``least`` columns for words, the text stands below, indented by four.
        """
        if not self.fits:
            return [begin + text]
        beside = len(begin) + least <= self.width
        lines = textwrap.wrap(
            text,
            self.width,
            initial_indent=begin if beside else "    ",
            subsequent_indent=" " * (len(begin) if beside else 4),
            break_long_words=False,
            break_on_hyphens=False,
        )
        if beside and lines:
            return lines
        above = begin.rstrip()
        return [*([above] if len(above) <= self.width else self.wrap(_GAPS.sub("  ", above))), *lines]

    def listing(self, rows: Sequence[Sequence[str]], least: int = _BESIDE) -> list[str]:
        """Rows in columns two blanks apart; the last column goes on below itself where a row does not fit."""
        columns = [[_one_line(cell) for cell in column] for column in zip(*rows, strict=True)]
        widths = [max(map(len, column)) for column in columns[:-1]]
        out = []
        for *cells, last in zip(*columns, strict=True):
            begin = "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths, strict=True))
            out += [line.rstrip() for line in self.hang(begin, last, least)]
        return out

    def has_room(self, begin: str) -> bool:
        """Whether a text can stand beside a cell."""
        return not self.fits or len(begin) + _BESIDE <= self.width

    def shorten(self, text: str, width: int | None = None) -> str:
        """A text on one line: of at most so many columns (the terminal's) where rows are made to fit."""
        line = _one_line(text)
        room = self.width if width is None else width
        return line if not self.fits or len(line) <= room else line[: room - 1] + "…"

    def table(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        right: Sequence[int] = (),
        elastic: Sequence[int] = (),
        spare: Sequence[int] = (),
        tone: Callable[[int, int], Tone] = lambda _row, _column: "",
    ) -> list[str]:
        """Columns two blanks apart, as wide as their widest cell.

        Args:
            head: the first line.
            rows: the others.
            right: the columns whose cells stand at their right.
            elastic: the columns that give way where a row does not fit, the first one first.
            spare: the columns that are left out where a row does not fit even so, the first one first.
            tone: of a cell, by the positions of its row and column.
        """
        whole = [[_one_line(cell) for cell in row] for row in (head, *rows)]
        widths = self._widths(whole, elastic)
        left_out = self._left_out(widths, spare)
        out = []
        for number, row in enumerate(whole):
            cells = []
            for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
                if column in left_out:
                    continue
                text = cell if len(cell) <= width else self.shorten(cell, width)
                gap = " " * (width - len(text))
                shown = self.paint(text, tone(number - 1, column) if number else "")
                cells.append(gap + shown if column in right else shown + gap)
            out.append("  ".join(cells).rstrip())
        return out

    def _widths(self, whole: Sequence[Sequence[str]], elastic: Sequence[int]) -> list[int]:
        widths = [max(map(len, column)) for column in zip(*whole, strict=True)]
        for column in elastic if self.fits else ():
            over = sum(widths) + 2 * (len(widths) - 1) - self.width
            if over > 0:
                widths[column] = max(min(_LEAST, widths[column]), widths[column] - over)
        return widths

    def _left_out(self, widths: Sequence[int], spare: Sequence[int]) -> list[int]:
        """The first of the columns that can be spared, as many as it takes until a row fits."""
        for count in range(len(spare) + 1):
            kept = [width for column, width in enumerate(widths) if column not in spare[:count]]
            if not self.fits or sum(kept) + 2 * (len(kept) - 1) <= self.width:
                return list(spare[:count])
        return list(spare)


PIPED: Final = TextStyle()
"""What is not for a terminal."""


def style_of(stream: IO[str] | None, environ: Mapping[str, str] = os.environ) -> TextStyle:
    """The look of a stream: NO_COLOR takes colours away, FORCE_COLOR gives them behind a pipe too.

    ``stream``: None where it was closed before the program began.
    """
    if stream is None:
        return PIPED
    terminal = stream.isatty()
    width = _columns(stream, environ) if terminal else PROSE
    return TextStyle(width=max(NARROWEST, width), fits=terminal, colour=has_colour(environ, terminal=terminal))


def has_colour(environ: Mapping[str, str], *, terminal: bool) -> bool:
    """Whether colours are wanted (no-color.org, force-color.org); who asks for both gets none. Pure."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return terminal and environ.get("TERM", "dumb") != "dumb"


def _one_line(text: str) -> str:
    """A text without breaks; blanks of other widths stay."""
    return _BREAKS.sub(" ", text).strip()


def _columns(stream: IO[str], environ: Mapping[str, str]) -> int:
    """COLUMNS if it is a number, else what the terminal says; some terminals say nothing."""
    said = environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(stream.fileno()).columns or PROSE
    except (OSError, ValueError):
        return PROSE
