"""A threshold as people write it: ``lost==0``, ``p99(send)<200ms``, ``rto(leader-kill)<=5s``. Pure.

    THRESHOLD = FIGURE [ "(" OF ")" ] COMPARISON LIMIT
    FIGURE    = lost | availability | p50 | p90 | p95 | p99 | max | rto | rpo | anomalies | throughput | errors
              | failovers
    COMPARISON = == | != | < | <= | > | >=

``OF`` names an operation, a fault or an anomaly, as the figure needs it. Does not judge: ``chaos.gate.judge`` does.
"""

import difflib
import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import Final, Literal, NamedTuple

from chaos.basics.amounts import DAY_S, Amount, duration

Unit = Literal["count", "duration", "share", "rate"]
Of = Literal["operation", "fault", "anomaly", ""]

COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}

_EXAMPLES: Final[Mapping[Unit, str]] = {
    "count": "a whole number, as in 0",
    "duration": "a duration, as in 200ms or 5s",
    "share": "a share, as in 99%",
    "rate": "a number a second, as in 150/s",
}


class Figure(NamedTuple):
    """What can be limited: its units (the limit says which), what may stand in brackets, whether that must be there."""

    units: tuple[Unit, ...]
    of: Of
    needs: bool
    example: str


FIGURES: Final[Mapping[str, Figure]] = {
    "lost": Figure(("count",), "", needs=False, example="lost==0"),
    "availability": Figure(("share",), "", needs=False, example="availability>=99%"),
    "p50": Figure(("duration",), "operation", needs=True, example="p50(send)<20ms"),
    "p90": Figure(("duration",), "operation", needs=True, example="p90(send)<100ms"),
    "p95": Figure(("duration",), "operation", needs=True, example="p95(send)<150ms"),
    "p99": Figure(("duration",), "operation", needs=True, example="p99(send)<200ms"),
    "max": Figure(("duration",), "operation", needs=True, example="max(send)<3s"),
    "rto": Figure(("duration",), "fault", needs=False, example="rto(leader-kill)<=5s"),
    "rpo": Figure(("count", "duration"), "fault", needs=False, example="rpo<=0"),
    "anomalies": Figure(("count",), "anomaly", needs=False, example="anomalies(stale-read)==0"),
    "throughput": Figure(("rate",), "operation", needs=True, example="throughput(send)>=150/s"),
    "errors": Figure(("share",), "operation", needs=True, example="errors(send)<1%"),
    "failovers": Figure(("count",), "", needs=False, example="failovers>=1"),
}

_SHAPE: Final = re.compile(
    r"\s*(?P<figure>[\w-]*)\s*(?:\((?P<of>[^()]*)\))?\s*(?P<comparison>==|!=|<=|>=|<|>)\s*(?P<limit>[^<>=!()]*?)\s*"
)
_SHARE: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*%")
_RATE: Final = re.compile(r"(.+?)\s*/\s*s")
_COUNT: Final = Amount("count", 0, 10**15)
_NUMBER: Final = Amount("number", 0, 10**9)
_TIME: Final = Amount("duration", 0, 30 * DAY_S)
_BARE: Final = re.compile(r"[\d._]+(?:e[+-]?\d+)?", re.IGNORECASE)
HUNDRED: Final = 100


class Threshold(NamedTuple):
    """One threshold. ``limit``: seconds, a count, a share from 0 to 1, or operations a second, as ``unit`` says."""

    text: str
    figure: str
    of: str
    comparison: str
    limit: float
    unit: Unit

    def holds(self, value: float) -> bool:
        """Whether a measured value meets it."""
        return COMPARISONS[self.comparison](value, self.limit)

    @property
    def is_budget(self) -> bool:
        """Whether it is what ``--rto-budget`` says as well."""
        return self.figure == "rto" and not self.of and self.comparison == "<="


def parse(text: str) -> Threshold:
    """The threshold that a text means.

    Raises:
        ValueError: it means none; the message names the place in the text and what may stand there.
    """
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise ValueError(_no_shape(text))
    name, of = shape["figure"], (shape["of"] or "").strip()
    figure = FIGURES.get(name)
    if figure is None:
        raise ValueError(f"no figure {name!r}{nearest(name, FIGURES)}")
    if of and not figure.of:
        raise ValueError(f"{name} takes no ({of}), as in {figure.example}")
    if not of and (figure.needs or shape["of"] is not None):
        raise ValueError(f"{name} needs {article(figure.of)} in brackets, as in {figure.example}")
    limit, unit = _limit(shape["limit"], name, figure)
    canonical = f"{name}{f'({of})' if of else ''}{shape['comparison']}{shape['limit']}"
    return Threshold(canonical, name, of, shape["comparison"], limit, unit)


def budget(value_s: float) -> str:
    """The threshold that ``--rto-budget`` stands for."""
    return f"rto<={duration(value_s)}"


def nearest(word: str, known: Collection[str]) -> str:
    """The end of an error line: the nearest known word, else all of them."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; give one of {', '.join(known)}"


def article(noun: str) -> str:
    """``an operation``, ``a fault``."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def _no_shape(text: str) -> str:
    if not re.search("[<>=]", text):
        return f"no comparison; write {FIGURES['lost'].example} or {FIGURES['p99'].example}"
    if re.search(r"(?<![<>=!])=(?!=)", text):
        return "= compares nothing; write == for equal, or <=, <, >=, >"
    return "write FIGURE(OF) COMPARISON LIMIT, as in lost==0 or p99(send)<200ms"


def _limit(text: str, name: str, figure: Figure) -> tuple[float, Unit]:
    """The number and its unit.

    Raises:
        ValueError: it is none that the figure has.
    """
    for unit in figure.units:
        value = _value(text, unit)
        if value is not None and not (name == "rpo" and unit == "duration" and value == 0):
            return value, unit
    wanted = " or ".join(_EXAMPLES[unit] for unit in figure.units)
    if name == "rpo" and _value(text, "duration") == 0:
        raise ValueError("one lost message spans no time, so 0 s says nothing; write rpo<=0 or lost==0")
    raise ValueError(f"limit {text!r}: give {wanted}")


def _value(text: str, unit: Unit) -> float | None:
    try:
        if unit == "share":
            share = _SHARE.fullmatch(text)
            return None if share is None or float(share[1]) > HUNDRED else round(float(share[1]) / HUNDRED, 12)
        if unit == "rate":
            rate = _RATE.fullmatch(text)
            return None if rate is None else float(_NUMBER.read(rate[1]))
        if unit == "duration":
            return None if _BARE.fullmatch(text) else float(_TIME.read(text))
        return float(_COUNT.read(text))
    except ValueError:
        return None
