"""Parameters of faults: read from text or a mapping, checked against the fault's own struct, said in words.

A fault's parameters are a msgspec struct whose fields have defaults. A number has bounds (``Annotated[float, Meta(gt=0,
le=1, description="…")]``); ``extra={"unit": "ms"}`` names a unit. A word is one of a ``Literal``. A tuple of such words
is typed with ``+`` between them (``call=write+fsync``). A number may also be a word (``int | Literal["all"]``). A text
is of a pattern and has an example (``Annotated[str, Meta(pattern="…", extra={"example": "3.5.9"})] = ""``); without a
default of its own somebody must give it.
"""

import math
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec.inspect import (
    FloatType,
    IntType,
    LiteralType,
    Metadata,
    StrType,
    StructType,
    UnionType,
    VarTupleType,
    type_info,
)

from chaos.core.errors import UsageError

EXAMPLE: Final = "random-loss:probability=0.5"
JOIN: Final = "+"
"""Stands between the words of a parameter that takes several."""

_WORD: Final = re.compile(r"[A-Za-z]\w*")
_SHOWN_MOST: Final = 20
_SHOWN_OF_MORE: Final = 6


class NoParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For a fault without parameters."""


def split(text: str) -> dict[str, str]:
    """The parameters of ``a=1,b=2``; nothing for an empty text.

    Raises:
        UsageError: a part is no ``NAME=VALUE``, or a name comes twice.
    """
    found: dict[str, str] = {}
    for part in text.split(",") if text else []:
        name, equals, value = (word.strip() for word in part.partition("="))
        if not (name and equals and value):
            raise UsageError(f"{part!r}: write parameters as NAME=VALUE, e.g. {EXAMPLE}")
        if name in found:
            raise UsageError(f"{name} is given twice")
        found[name] = value
    return found


def read(kind: type[msgspec.Struct], given: Mapping[str, Any]) -> Any:
    """The parameters as a struct; values may be text.

    Raises:
        UsageError: one line with the parameter, what it may be and what was given.
    """
    known = {one.name: one for one in params_of(kind)}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            helps = f"did you mean {near[0]}?" if near else f"parameters: {', '.join(known) or 'none'}"
            raise UsageError(f"no parameter {name!r}; {helps}")
        found = known[name].value(value)
        if found is None:
            raise UsageError(f"{name} {value}: {known[name].instead_of(value)}")
        values[name] = found
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:  # what the struct itself says of several together
        raise UsageError(str(error)) from None


def plain(params: msgspec.Struct) -> dict[str, Any]:
    """Name and value of every parameter, as plans and events have them: numbers, and words as they are typed."""
    values = msgspec.structs.asdict(params)
    return {name: JOIN.join(value) if isinstance(value, tuple) else value for name, value in values.items()}


class Param(msgspec.Struct, frozen=True):
    """One parameter: its default, what it may be and what it means, in words.

    ``number``: msgspec's view of the number that it may be. ``words``: those that it may be. ``several``: also some of
    these together. ``pattern``: of a text, the expression that all of it must match; ``example``: such a text.
    """

    name: str
    default: Any
    range: str
    help: str
    number: IntType | FloatType | None = None
    words: tuple[str, ...] = ()
    several: bool = False
    pattern: str = ""
    example: str = ""

    @property
    def must_be_given(self) -> bool:
        """Whether nothing is done without a value from somebody."""
        return bool(self.pattern) and not self.default

    @property
    def typed_default(self) -> str:
        """The default as it is typed."""
        if isinstance(self.default, tuple):
            return JOIN.join(self.default)
        return self.default if isinstance(self.default, str) else f"{self.default:g}"

    def value(self, given: Any) -> Any:
        """What was given, as the struct has it; None if it may not be that."""
        if self.several:
            found = _parted(given)
            good = len(set(found)) == len(found) and set(found) <= set(self.words)
            return tuple(word for word in self.words if word in found) if good else None
        if given in self.words:
            return given
        if self.pattern:
            return str(given) if re.fullmatch(self.pattern, str(given)) else None
        return None if self.number is None else _number(self.number, given)

    def instead_of(self, given: Any) -> str:
        """What to give in place of a wrong value, and the word that is nearest to it."""
        if self.pattern:
            return f"give {self.range}"
        found = _parted(given) if self.several else [str(given)]
        wrong = next((word for word in found if word not in self.words), None)
        if wrong is None:
            return f"{next(word for word in found if found.count(word) > 1)} is given twice"
        spelled = {word.lower(): word for word in self.words}
        near = get_close_matches(wrong.lower(), spelled, n=1)
        return f"give {self.range}{f'; did you mean {spelled[near[0]]}?' if near else ''}"


@cache
def params_of(kind: type[msgspec.Struct]) -> tuple[Param, ...]:
    """The parameters of a fault, in their order.

    Raises:
        TypeError: one that is neither a number nor words, or that has no default.
    """
    info = type_info(kind)
    assert isinstance(info, StructType)
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for field in info.fields:
        meta, inner = (field.type, field.type.type) if isinstance(field.type, Metadata) else (None, field.type)
        words = _words(hints[field.name])
        pattern, example = _text(meta, inner)
        good = bool(pattern) or (_is_param(inner) and all(map(_WORD.fullmatch, words)))
        if not good or field.default is msgspec.NODEFAULT:
            where = f"{kind.__name__}.{field.name}"
            raise TypeError(f"{where}: a parameter of a fault is a number, words or text by a pattern, with a default")
        schema = (meta.extra_json_schema if meta is not None else None) or {}
        unit = ((meta.extra if meta is not None else None) or {}).get("unit", "")
        number, several = _number_in(inner), isinstance(inner, VarTupleType)
        ranges = (_range(number, unit) if number is not None else "", words_range(words, several=several))
        may_be = f"text, e.g. {example}" if pattern else ", or ".join(filter(None, ranges))
        said = schema.get("description", "")
        found.append(Param(field.name, field.default, may_be, said, number, words, several, pattern, example))
    return tuple(found)


def must_be_given(kind: type[msgspec.Struct]) -> tuple[Param, ...]:
    """The parameters of a fault without which nothing is done."""
    return tuple(one for one in params_of(kind) if one.must_be_given)


def check_given(kind: type[msgspec.Struct], given: Mapping[str, Any]) -> None:
    """See that nothing is missing that somebody must give. Raises UsageError: it is."""
    for one in must_be_given(kind):
        if one.name not in given:
            raise UsageError(f"give {one.name}: {one.help}, e.g. {one.name}={one.example}")


def words_range(words: Sequence[str], *, several: bool) -> str:
    """``link or node``; of many words only some; nothing for none."""
    if not words:
        return ""
    shown = words if len(words) <= _SHOWN_MOST else (*words[:_SHOWN_OF_MORE], f"{len(words) - _SHOWN_OF_MORE} others")
    said = " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
    return f"{said}, or several joined by {JOIN}" if several else said


def _parted(given: Any) -> list[str]:
    return [word.strip() for word in str(given).split(JOIN)]


def _number(bounds: Any, given: Any) -> float | None:
    """A value that is a number or text, as a number; None if it is outside of the bounds."""
    if isinstance(given, bool):
        return None
    try:
        number = float(given)
    except (TypeError, ValueError):
        return None
    whole = isinstance(bounds, IntType)
    good = (
        math.isfinite(number)
        and (number.is_integer() or not whole)
        and (bounds.gt is None or number > bounds.gt)
        and (bounds.ge is None or number >= bounds.ge)
        and (bounds.lt is None or number < bounds.lt)
        and (bounds.le is None or number <= bounds.le)
    )
    return (int(number) if whole else number) if good else None


def _is_param(kind: Any) -> bool:
    """Whether a field of that type is a number, a word, either of both, or several words."""
    if isinstance(kind, VarTupleType):
        return isinstance(kind.item_type, LiteralType)
    kinds = kind.types if isinstance(kind, UnionType) else (kind,)
    numbers = sum(isinstance(one, IntType | FloatType) for one in kinds)
    return numbers <= 1 and numbers + sum(isinstance(one, LiteralType) for one in kinds) == len(kinds)


def _text(meta: Metadata | None, kind: Any) -> tuple[str, str]:
    """The pattern and the example of a text; empty of anything else."""
    if meta is None or not isinstance(kind, StrType) or not kind.pattern:
        return "", ""
    return kind.pattern, (meta.extra or {}).get("example", "")


def _number_in(kind: Any) -> IntType | FloatType | None:
    kinds = kind.types if isinstance(kind, UnionType) else (kind,)
    return next((one for one in kinds if isinstance(one, IntType | FloatType)), None)


def _words(hint: Any) -> tuple[str, ...]:
    """The words of a type, in the order in which it names them."""
    if get_origin(hint) is Literal:
        return tuple(map(str, get_args(hint)))
    return tuple(word for inner in get_args(hint) for word in _words(inner))


def _range(field: Any, unit: str) -> str:
    """``a number above 0 and up to 1``, ``a whole number of ms from 1 to 10000``."""
    what = "a whole number" if isinstance(field, IntType) else "a number"
    least = f"above {field.gt:g}" if field.gt is not None else f"from {field.ge:g}" if field.ge is not None else ""
    most = f"below {field.lt:g}" if field.lt is not None else f"up to {field.le:g}" if field.le is not None else ""
    return " ".join(filter(None, (what, f"of {unit}" if unit else "", least, "and" if least and most else "", most)))
