"""Lines of text as records: maps of a few known members, found many at once.

``maps`` takes the lines that are one map of words, whose ``value`` may be more than a word; ``integers_of`` and
``words_of`` read members. Does not read a line that may mean something else: it names the line, and the general reader
reads it.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from chaos.core.op import Type
from chaos.formats import json_punctuation
from chaos.formats.kafka_columns import NONE, Ints, Small
from chaos.formats.tokens import CLOSE, CLOSE_MAP, EDN, JSON, KEYS, NAMES, OPEN, OPEN_MAP, Mask, Text, Tokens

IN_RECORD, IN_VALUE = 1, 2
"""How many brackets are open behind a token: in the record's map, in its value."""
_OUTSIDE: Final = 2  # tokens of a line with no bracket open behind them: the map's last bracket and the line's end
INDEX, TIME, TYPE, PROCESS, F, VALUE = range(6)  # positions in KEYS
_OF_VECTORS: Final = np.array([{OPEN: 1, CLOSE: -1}.get(kind, 0) for kind in range(CLOSE_MAP + 1)], dtype=np.int8)
"""Of each kind of token whether it opens or closes a vector; where these match, and all brackets do, so do maps'."""
_SEEK: Final = NAMES.index("seek-to-beginning?")
_REBALANCES: Final = NAMES.index("rebalance-log")


def numbers_by_name(words: dict[str, int]) -> Small:
    """A table for ``words_of``: the number of each position in ``NAMES``, 0 for all others."""
    table = np.zeros(len(NAMES) + 1, dtype=np.int8)
    for word, number in words.items():
        table[NAMES.index(word)] = number
    return table


TYPES: Final = numbers_by_name({"invoke": Type.INVOKE, "ok": Type.OK, "fail": Type.FAIL, "info": Type.INFO})


@dataclass(slots=True, eq=False)
class Lines:
    """What is known of each line; ``refused`` grows as lines prove to be for the general reader."""

    refused: Mask
    blank: Mask
    places: npt.NDArray[np.int32]  # (line, one of KEYS) -> token of the value, -1 without
    keys: Ints  # tokens that are keys of the maps of lines that may be taken
    empty: Ints  # tokens that begin a log of no rebalances


def maps(text: Text, *, others: bool) -> Lines:
    """Lines that are one map of keywords, and where the values are that matter.

    ``others``: whether a line may have members beyond the known ones (words, which nobody will read).
    """
    count = len(text.breaks)
    refused = text.odd_lines()
    firsts = np.concatenate([[0], text.breaks[:-1] + 1])
    blank = firsts == text.breaks
    if text.notation is JSON:
        blank &= ~json_punctuation.marked_lines(text)
    refused |= (text.kind[firsts] != OPEN_MAP) | (text.kind[text.breaks - 1] != CLOSE_MAP)
    refused |= text.depth[text.breaks] != 0
    brackets = np.flatnonzero(_OF_VECTORS[text.kind])
    refused |= np.bincount(text.line[brackets], _OF_VECTORS[text.kind[brackets]], minlength=count) != 0
    inside = text.depth > 0
    outside = np.bincount(text.line[~inside], minlength=count)
    refused |= outside != _OUTSIDE
    members = np.flatnonzero((text.depth == IN_RECORD) & text.word | (text.depth == IN_VALUE) & _opens(text.kind))
    line = text.line[members]
    refused |= np.bincount(line, minlength=count) % 2 == 1
    members = members[~refused[line]]
    keys, values = members[::2], members[1::2]
    line = text.line[keys]
    names = text.names(keys).astype(np.int32)
    known = names <= VALUE
    is_key = text.word[keys]
    if text.notation is EDN:
        is_key &= text.begins(keys, ":")
    # A log of no rebalances stands on every record of a client that subscribes.
    nothing = (names == _REBALANCES) & text.is_kind(values, OPEN) & text.is_kind(values + 1, CLOSE)
    wrong = ~is_key | (names == _SEEK) | ((names == _REBALANCES) & ~nothing)
    wrong |= ~text.word[values] & (names != VALUE) & ~nothing
    if not others:
        wrong |= ~known
    strange = np.flatnonzero(~known & ~wrong & ~nothing)
    wrong[strange] = ~is_name(text, keys[strange]) | ~_is_plain(text, values[strange])
    refused[line[wrong]] = True
    places = np.full((count, len(KEYS)), -1, dtype=np.int32)
    places[line[known], names[known]] = values[known]
    refused |= np.bincount(line[known], minlength=count) != (places >= 0).sum(axis=1)
    return Lines(refused=refused, blank=blank, places=places, keys=keys, empty=values[nothing])


def is_name(text: Text, tokens: Ints) -> Mask:
    """Whether words are names beyond doubt: a letter first, behind a keyword's colon, and a letter or digit last."""
    first, last = text.start[tokens], text.end[tokens] - 1
    if text.notation is EDN:
        first = first + text.begins(tokens, ":")
    found: Mask = _LETTERS[text.raw[first]] & (_LETTERS | _DECIMALS)[text.raw[last]]
    return found


def _is_plain(text: Text, tokens: Ints) -> Mask:
    """Whether words are names or integers."""
    return is_name(text, tokens) | text.integers(tokens)[1]


_LETTERS: Final = np.array([byte < 128 and chr(byte).isalpha() for byte in range(256)])  # noqa: PLR2004 - ASCII
_DECIMALS: Final = np.array([chr(byte) in "0123456789" for byte in range(256)])


def _opens(kind: npt.NDArray[np.uint8]) -> Mask:
    found: Mask = (kind == OPEN) | (kind == OPEN_MAP)
    return found


def integers_of(text: Text, lines: Lines, which: int) -> Ints:
    """The integers of one member of the maps; ``NONE`` without, and lines with anything else are refused."""
    found = np.full(len(lines.places), NONE, dtype=np.int64)
    at = np.flatnonzero(~lines.refused & (lines.places[:, which] >= 0))
    values, good = bare_integers(text, lines.places[at, which])
    found[at] = values
    lines.refused[at[~good]] = True
    return found


def stamps(text: Text, lines: Lines) -> tuple[Ints, Ints, Ints]:
    """Of each line index, time and process; lines whose process is no client's are refused."""
    index, time_ns, process = (integers_of(text, lines, which) for which in (INDEX, TIME, PROCESS))
    time_ns[time_ns == -1] = NONE  # how old files say that they do not know
    lines.refused |= process < 0
    return index, time_ns, process


def is_list(text: Text, lines: Lines) -> Mask:
    """Of each line whether its value is a list; lines whose value is neither a list nor nil are refused."""
    value = lines.places[:, VALUE]
    found: Mask = (value >= 0) & text.is_kind(value, OPEN)
    number, good = bare_integers(text, np.maximum(value, 0))
    lines.refused |= ~found & (value >= 0) & ~(text.is_word(value) & good & (number == NONE))
    return found


def bare_integers(text: Text, tokens: Tokens) -> tuple[Ints, Mask]:
    """Integers; in JSON one in quotes is a string and none."""
    values, good = text.integers(tokens)
    return values, good & json_punctuation.is_bare(text, tokens) if text.notation is JSON else good


def words_of(text: Text, lines: Lines, which: int, table: Small) -> Small:
    """The words of one member of the maps by a table; lines with another word or none are refused."""
    found = np.zeros(len(lines.places), dtype=np.int8)
    at = np.flatnonzero(~lines.refused & (lines.places[:, which] >= 0))
    found[at] = table[text.names(lines.places[at, which])]
    lines.refused |= found == 0
    return found
