"""Parameters of faults: read from text or a mapping, checked against the fault's own struct, said in words.

A fault's parameters are a msgspec struct. Its fields have defaults and bounds (``Annotated[float, Meta(gt=0, le=1,
description="…")]``); ``extra={"unit": "ms"}`` names a unit.
"""

import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

import msgspec
from msgspec.inspect import FloatType, IntType, Metadata, StructType, type_info

from chaos.core.errors import UsageError

EXAMPLE: Final = "random-loss:probability=0.5"


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
    values: dict[str, float] = {}
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            helps = f"did you mean {near[0]}?" if near else f"parameters: {', '.join(known) or 'none'}"
            raise UsageError(f"no parameter {name!r}; {helps}")
        number = known[name].number(value)
        if number is None:
            raise UsageError(f"{name} {value}: give {known[name].range}")
        values[name] = number
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:  # what the struct itself says of several together
        raise UsageError(str(error)) from None


class Param(msgspec.Struct, frozen=True):
    """One parameter: its default, what it may be and what it means, in words; ``field`` is msgspec's view of it."""

    name: str
    default: Any
    range: str
    help: str
    field: Any

    def number(self, value: Any) -> float | None:
        """A value that is a number or text, as a number; None if it may not be that."""
        if isinstance(value, bool):
            return None
        try:
            number = float(value)
        except (TypeError, ValueError):
            return None
        bounds, whole = self.field, isinstance(self.field, IntType)
        good = (
            math.isfinite(number)
            and (number.is_integer() or not whole)
            and (bounds.gt is None or number > bounds.gt)
            and (bounds.ge is None or number >= bounds.ge)
            and (bounds.lt is None or number < bounds.lt)
            and (bounds.le is None or number <= bounds.le)
        )
        return (int(number) if whole else number) if good else None


def params_of(kind: type[msgspec.Struct]) -> tuple[Param, ...]:
    """The parameters of a fault, in their order.

    Raises:
        TypeError: one that is no number, or that has no default.
    """
    info = type_info(kind)
    assert isinstance(info, StructType)
    found = []
    for field in info.fields:
        meta, inner = (field.type, field.type.type) if isinstance(field.type, Metadata) else (None, field.type)
        if not isinstance(inner, IntType | FloatType) or field.default is msgspec.NODEFAULT:
            raise TypeError(f"{kind.__name__}.{field.name}: a parameter of a fault is a number with a default")
        schema = (meta.extra_json_schema if meta is not None else None) or {}
        unit = ((meta.extra if meta is not None else None) or {}).get("unit", "")
        found.append(Param(field.name, field.default, _range(inner, unit), schema.get("description", ""), inner))
    return tuple(found)


def _range(field: Any, unit: str) -> str:
    """``a number above 0 and up to 1``, ``a whole number of ms from 1 to 10000``."""
    what = "a whole number" if isinstance(field, IntType) else "a number"
    least = f"above {field.gt:g}" if field.gt is not None else f"from {field.ge:g}" if field.ge is not None else ""
    most = f"below {field.lt:g}" if field.lt is not None else f"up to {field.le:g}" if field.le is not None else ""
    return " ".join(filter(None, (what, f"of {unit}" if unit else "", least, "and" if least and most else "", most)))
