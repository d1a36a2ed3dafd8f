r"""A reader for EDN, and for what Clojure's printer writes beyond it.

What a form becomes: nil, true, false → None, bool; integers (also ``42N``, ``0x2a``) → int; ``1.5`` ``##NaN`` → float;
``1.5M`` → Decimal; ``1/3`` → Fraction; ``"…"`` → str; ``\c`` → ``Char("c")``; ``:a`` → ``Keyword(":a")``; symbols →
``Symbol``; lists and vectors → tuple (Clojure holds them equal); maps → ``Map``; sets → frozenset; ``#inst`` →
datetime, ``#uuid`` → UUID. Any other tag and all metadata are dropped and the form behind them is the value, so that
records such as ``#jepsen.history.Op{…}`` are maps. Everything read can be a key of a map or a member of a set.

There is no recursion: nesting is bounded by memory only.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple
from uuid import UUID


class Keyword(str):
    """A keyword, colon included, so that no string but one that begins with a colon is equal to it."""

    __slots__ = ()


class Symbol(str):
    """A symbol that is not nil, true or false."""

    __slots__ = ()


class Char(str):
    """A character, which is no string of one character."""

    __slots__ = ()


class Map(dict[Any, Any]):
    """A map that can be a key of another. Nobody may change one that is."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


class EdnError(Exception):
    """Text that is not EDN.

    ``line`` and ``column`` count from 1. ``incomplete``: the text ended within a form, so that more text could mend it.
    """

    def __init__(self, text: str, at: int, fault: str, *, first_line: int = 1, incomplete: bool = False) -> None:
        super().__init__(fault)
        self.fault = fault
        self.line = first_line + text.count("\n", 0, at)
        self.column = at - (text.rfind("\n", 0, at) + 1) + 1
        self.incomplete = incomplete


class Form(NamedTuple):
    """A top-level form and the line on which it begins."""

    value: Any
    line: int


_TOKEN: Final = re.compile(
    r"""(?>[\s,]+|;[^\n]*)*+(?:
      (?P<atom>(?:\#')?[^\s,;"\\()\[\]{}\#^'@`~][^\s,;"\\()\[\]{}]*)
    | (?P<open>[\[({]|\#\{)
    | (?P<close>[\])}])
    | (?P<string>\#?"(?>[^"\\]+|\\.)*+")
    | (?P<char>\\(?:u[0-9a-fA-F]{4}|o[0-7]{1,3}|newline|space|tab|return|formfeed|backspace|.)
        (?=[\s,;"\\()\[\]{}]|\Z))
    | (?P<discard>\#_)
    | (?P<number>\#\#(?:NaN|-?Inf))
    | (?P<space>\#:(?P<namespace>:?[^\s,;"\\()\[\]{}]*)(?=[\s,]*\{))
    | (?P<meta>\#?\^)
    | (?P<tag>\#[a-zA-Z=*<>!?$%&+_.-][^\s,;"\\()\[\]{}]*)
    | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
_BLANK: Final = re.compile(r"(?>[\s,]+|;[^\n]*)*+")
_NUMBER: Final = re.compile(
    r"(?P<int>[+-]?\d+)N?\Z|(?P<float>[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(?P<exact>M)?\Z"
    r"|(?P<ratio>[+-]?\d+/\d+)\Z|(?P<hex>[+-]?0[xX][0-9a-fA-F]+)N?\Z"
)
_CONSTANTS: Final = {"nil": None, "true": True, "false": False}
_CLOSES: Final = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_CHARS: Final = {
    "newline": "\n",
    "space": " ",
    "tab": "\t",
    "return": "\r",
    "formfeed": "\f",
    "backspace": "\b",
}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b", '"': '"', "\\": "\\"}
_SURROGATES: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_MAX_DIGITS: Final = 4000  # Python's own limit for an int from text is 4300


def _unescaped(match: re.Match[str]) -> str:
    hexadecimal, octal, letter = match.groups()
    if hexadecimal is not None:
        return chr(int(hexadecimal, 16))
    return chr(int(octal, 8)) if octal is not None else _ESCAPES[letter]


def _joined(pair: re.Match[str]) -> str:
    return pair.group().encode("utf-16", "surrogatepass").decode("utf-16")


def _string(body: str) -> str:
    if "\\" not in body:
        return body
    return _SURROGATES.sub(_joined, _ESCAPE.sub(_unescaped, body))


def _character(name: str) -> str:
    if len(name) == 1:
        return name
    if name[0] == "u":
        return chr(int(name[1:], 16))
    return chr(int(name[1:], 8)) if name[0] == "o" else _CHARS[name]


def _number(text: str) -> Any:
    match = _NUMBER.match(text)
    if match is None or len(text) > _MAX_DIGITS:
        raise ValueError(f"{text[:40]} is no number")
    if match["ratio"]:
        above, below = match["ratio"].split("/")
        if int(below) == 0:
            raise ValueError(f"{text} divides by zero")
        return Fraction(int(above), int(below))
    if match["float"]:
        return Decimal(match["float"]) if match["exact"] else float(match["float"])
    return int(match["int"]) if match["int"] else int(match["hex"], 16)


def atom(text: str) -> Any:
    """A number, keyword, symbol or constant.

    Raises:
        ValueError: saying what is wrong with it.
    """
    first = text[0]
    if first == ":":
        if text.endswith(":"):
            raise ValueError(f"{text} is no keyword")
        return Keyword(text)
    if first.isdigit() or (first in "+-" and text[1:2].isdigit()):
        return _number(text)
    return _CONSTANTS[text] if text in _CONSTANTS else Symbol(text)


class _Frame:
    """A form that is not finished: a collection with what it holds so far, or a prefix that waits for its form."""

    __slots__ = ("at", "items", "kind", "name")

    def __init__(self, kind: str, at: int, name: str, items: list[Any] | None) -> None:
        self.kind = kind
        self.at = at
        self.name = name
        self.items = items  # None: a prefix


def _qualified(key: Any, namespace: str) -> Any:
    """A key of ``#:namespace{…}``; ``_`` as a namespace means none."""
    if not isinstance(key, Keyword | Symbol):
        return key
    sigil = ":" if isinstance(key, Keyword) else ""
    name = key[len(sigil) :]
    if name.startswith("_/"):
        return type(key)(sigil + name[2:])
    return key if "/" in name else type(key)(f"{sigil}{namespace.lstrip(':')}/{name}")


def _collection(frame: _Frame) -> Any:
    """What a closed collection is. Raises ValueError with what is wrong."""
    items = frame.items or []
    if frame.kind in "[(":
        return tuple(items)
    if frame.kind == "#{":
        members = frozenset(items)
        if len(members) != len(items):
            raise ValueError("a set holds a member twice")
        return members
    if len(items) % 2:
        raise ValueError("a map holds a key without a value")
    keys = items[::2]
    if frame.name:
        keys = [_qualified(key, frame.name) for key in keys]
    found = Map(zip(keys, items[1::2], strict=True))
    if len(found) * 2 != len(items):
        raise ValueError("a map holds a key twice")
    return found


def _tagged(tag: str, value: Any) -> Any:
    """The value behind a tag. Raises ValueError if #inst or #uuid stand before something else."""
    if tag in ("#inst", "#uuid"):
        if not isinstance(value, str):
            raise ValueError(f"{tag} wants a string")
        return UUID(value) if tag == "#uuid" else datetime.fromisoformat(value)
    return value


_DROPPED: Final = object()  # what a token gives that finishes no form
_END: Final = object()


class _Reader:
    """One pass over a text."""

    def __init__(self, text: str, first_line: int) -> None:
        self.text = text
        self.first_line = first_line
        self.stack: list[_Frame] = []
        self.namespace = ""
        self.atoms: dict[str, Any] = dict(_CONSTANTS)

    def fault(self, at: int, words: str, *, incomplete: bool = False) -> EdnError:
        return EdnError(self.text, at, words, first_line=self.first_line, incomplete=incomplete)

    def forms(self) -> Iterator[tuple[Any, int]]:
        """Top-level forms and where they begin."""
        stack, atoms, token = self.stack, self.atoms, _TOKEN.scanner(self.text).match  # type: ignore[attr-defined]
        start, last = 0, None
        while (match := token()) is not None:
            last, kind = match, match.lastgroup
            if not stack:
                start = match.start(kind)
            try:
                if kind == "atom":
                    word = match[1]
                    value = atoms.get(word, _DROPPED)
                    if value is _DROPPED:
                        value = int(word) if word.isdecimal() else self.atom(word)
                else:
                    value = _TOKENS[kind](self, match[kind], match)
                    if value is _DROPPED:
                        continue
                if stack and stack[-1].items is not None:
                    stack[-1].items.append(value)
                    continue
                value = self.settle(value)
            except (ValueError, OverflowError, KeyError) as error:
                # A token at the text's very end may be a part of one.
                partly = kind == "atom" and match.end() == len(self.text)
                raise self.fault(match.start(kind), _words(error), incomplete=partly) from error
            if value is _END:
                return
            if value is not _DROPPED:
                yield value, start
        raise self.unreadable(last.end() if last is not None else 0)

    def atom(self, text: str) -> Any:
        """An atom; keywords are made once, since a history has few of them."""
        made = atom(text)
        if text[0] == ":":
            self.atoms[text] = made
        return made

    def settle(self, value: Any) -> Any:
        """Give a finished form to the prefixes that wait for it.

        What is left, if it belongs to no collection: a form of the top level.
        """
        stack = self.stack
        while stack and stack[-1].items is None:
            frame = stack[-1]
            if frame.kind == "meta":
                frame.kind = "form"  # that was the metadata; the form it belongs to is still to come
                return _DROPPED
            stack.pop()
            if frame.kind == "discard":
                return _DROPPED
            if frame.kind == "tag":
                value = _tagged(frame.name, value)
        if stack:
            (stack[-1].items or []).append(value)
            return _DROPPED
        return value

    def opened(self, found: str, match: re.Match[str]) -> Any:
        self.stack.append(_Frame(found, match.start("open"), self.namespace if found == "{" else "", []))
        self.namespace = ""
        return _DROPPED

    def prefixed(self, found: str, match: re.Match[str]) -> Any:
        kind = match.lastgroup or ""
        self.stack.append(_Frame(kind, match.start(kind), found, None))
        return _DROPPED

    def spaced(self, _: str, match: re.Match[str]) -> Any:
        self.namespace = match["namespace"]
        return _DROPPED

    def closed(self, found: str, match: re.Match[str]) -> Any:
        begin = match.start("close")
        if not self.stack:
            raise self.fault(begin, f"{found} closes nothing")
        frame = self.stack.pop()
        if _CLOSES.get(frame.kind) != found:
            raise self.fault(begin, f"{found} stands where {_named(frame)} is not finished")
        return _collection(frame)

    def ended(self, _: str, __: re.Match[str]) -> Any:
        if self.stack:
            raise self.fault(self.stack[-1].at, f"{_named(self.stack[-1])} is not finished", incomplete=True)
        return _END

    def string(self, found: str, _: re.Match[str]) -> Any:
        return found[2:-1] if found[0] == "#" else _string(found[1:-1])

    def character(self, found: str, _: re.Match[str]) -> Any:
        return Char(_character(found[1:]))

    def number(self, found: str, _: re.Match[str]) -> Any:
        return float(found[2:].lower())

    def unreadable(self, at: int) -> EdnError:
        blank = _BLANK.match(self.text, at)
        begin = blank.end() if blank else at
        if self.text.startswith(('"', '#"'), begin):
            return self.fault(begin, "a string is not finished", incomplete=True)
        if self.text[begin:] in ("#", "\\", "##"):
            return self.fault(begin, "the text ends within a token", incomplete=True)
        return self.fault(begin, f"{self.text[begin : begin + 12].split()[0]!r} is no EDN")


_TOKENS: Final[dict[str, Callable[[_Reader, str, re.Match[str]], Any]]] = {
    "open": _Reader.opened,
    "close": _Reader.closed,
    "string": _Reader.string,
    "char": _Reader.character,
    "number": _Reader.number,
    "space": _Reader.spaced,
    "discard": _Reader.prefixed,
    "meta": _Reader.prefixed,
    "tag": _Reader.prefixed,
    "end": _Reader.ended,
}


def _named(frame: _Frame) -> str:
    return f"what {frame.kind if frame.kind in _CLOSES else frame.name} began"


def _words(error: Exception) -> str:
    return f"no such escape: \\{error.args[0]}" if isinstance(error, KeyError) else str(error)


def forms(text: str, first_line: int = 1) -> Iterator[Form]:
    """The top-level forms of a text, in order.

    Raises:
        EdnError: at the first place that is not EDN; the forms before it were given.
    """
    line, counted = first_line, 0
    for value, begin in _Reader(text, first_line).forms():
        line += text.count("\n", counted, begin)
        counted = begin
        yield Form(value, line)


def read(text: str, first_line: int = 1) -> Any:
    """The one form of a text.

    Raises:
        EdnError: if it holds none, more than one, or no EDN.
    """
    found = [form.value for form in forms(text, first_line)]
    if len(found) != 1:
        raise EdnError(text, len(text), f"{len(found)} forms where one belongs", first_line=first_line)
    return found[0]
