"""What JSON's tokens hide: whether quotes, colons and commas stand where they belong.

To ``tokens`` they are blanks, so that JSON and EDN have the same tokens. Here the lines are found in which they are
anything but the punctuation of valid JSON whose strings are single words. Does not mend any of it.
"""

from typing import Final

import numpy as np

from chaos.formats.kafka_columns import Ints
from chaos.formats.tokens import CLOSE, CLOSE_MAP, LINE, OPEN, OPEN_MAP, Mask, Text, Tokens

_QUOTE: Final = ord('"')
_CONSTANTS: Final = np.array([int.from_bytes(word, "little") for word in (b"null", b"true", b"false")], dtype=np.uint64)


def is_bare(text: Text, tokens: Tokens) -> Mask:
    """Whether words stand without quotes."""
    found: Mask = text.raw[text.start[tokens] - 1] != _QUOTE
    return found


def marked_lines(text: Text) -> Mask:
    """Lines with a quote or a colon: without a word they are still not blank."""
    found = np.zeros(len(text.breaks), dtype=np.bool_)
    found[text.lines_at(np.flatnonzero((text.raw == _QUOTE) | (text.raw == ord(":"))))] = True
    return found


def wrong_lines(text: Text, keys: Ints) -> Mask:
    """Lines whose punctuation is not that of JSON, or that hold a string of several words, or of none.

    ``keys``: the tokens that are keys of objects.
    """
    wrong = np.zeros(len(text.breaks), dtype=np.bool_)
    words = np.flatnonzero(text.word)
    opened, closed = ~is_bare(text, words), text.raw[text.end[words]] == _QUOTE
    wrong[text.line[words[opened != closed]]] = True
    quotes = np.bincount(text.lines_at(np.flatnonzero(text.raw == _QUOTE)), minlength=len(wrong))
    wrong |= quotes != 2 * np.bincount(text.line[words[opened & closed]], minlength=len(wrong))
    wrong[text.line[keys[is_bare(text, keys)]]] = True
    wrong[text.line[_no_constants(text, words[~opened])]] = True

    behind_key = np.zeros(len(text.kind), dtype=np.bool_)
    behind_key[keys + 1] = True
    first = np.isin(text.kind, (OPEN, OPEN_MAP, LINE))  # what follows these needs no comma
    needs_comma = ~np.isin(text.kind, (CLOSE, CLOSE_MAP, LINE)) & ~behind_key
    needs_comma &= ~np.concatenate([[True], first[:-1]])
    wrong[text.line[_marks(text, ":") != behind_key]] = True
    wrong[text.line[_marks(text, ",") != needs_comma]] = True
    return wrong


def _marks(text: Text, mark: str) -> Ints:
    """How many marks stand between each token and the one before."""
    following = np.searchsorted(text.start, np.flatnonzero(text.raw == ord(mark)))
    found: Ints = np.bincount(following, minlength=len(text.start) + 1)[: len(text.start)]
    return found


def _no_constants(text: Text, words: Ints) -> Ints:
    """Words without quotes that are neither constants nor numbers as JSON writes them."""
    minus = text.begins(words, "-")
    digit = text.raw[text.start[words] + minus]
    length = text.end[words] - text.start[words] - minus
    number = (digit >= ord("0")) & (digit <= ord("9")) & ((digit != ord("0")) | (length == 1))
    found: Ints = words[~number & ~np.isin(text.codes(words), _CONSTANTS)]
    return found
