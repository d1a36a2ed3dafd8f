"""Durations, counts and rates as people write them (``90``, ``1h30m``, ``500ms``, ``10k``, ``1e6``), with bounds. Pure.

The same on the command line and in files. Imports nothing heavy, for ``--help`` needs it.
"""

import math
import re
from typing import Final, Literal

import msgspec

Kind = Literal["duration", "count", "number"]

MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAY_S: Final = 86400
_UNITS_S: Final = {"ms": 0.001, "s": 1, "m": MINUTE_S, "min": MINUTE_S, "h": HOUR_S, "d": DAY_S}
_MULTIPLES: Final = {"": 1, "k": 1000, "m": 1_000_000}
_NUMBER: Final = r"(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
_PIECE: Final = re.compile(rf"({_NUMBER})\s*([a-z]+)\s*", re.IGNORECASE)
_PLAIN: Final = re.compile(rf"({_NUMBER})\s*([km]?)", re.IGNORECASE)


class Amount(msgspec.Struct, frozen=True):
    """What one number may be: from ``least`` (``above``: more than it) to ``most``; durations in seconds."""

    kind: Kind
    least: float
    most: float
    above: bool = False

    @property
    def wanted(self) -> str:
        """What to give, in words: ``a whole number from 1 to 64``."""
        noun = {"duration": "a duration", "count": "a whole number", "number": "a number"}[self.kind]
        bounds = f"above {self._said(self.least)} and up to" if self.above else f"from {self._said(self.least)} to"
        example = ", as in 90, 500ms, 10m or 1h30m" if self.kind == "duration" else ""
        return f"{noun} {bounds} {self._said(self.most)}{example}"

    def read(self, text: str) -> float | int:
        """The number that a text means: seconds, or a count as an int.

        Raises:
            ValueError: it means none, or one out of bounds; the message is ``wanted``.
        """
        value = _signed(text, self.kind)
        if value is None or not self.holds(value):
            raise ValueError(self.wanted)
        return int(value) if self.kind == "count" else float(value)

    def holds(self, value: float) -> bool:
        """Whether a number is within the bounds; a count also has to be whole."""
        if not math.isfinite(value) or (self.kind == "count" and value != int(value)):
            return False
        return (value > self.least if self.above else value >= self.least) and value <= self.most

    def _said(self, value: float) -> str:
        if self.kind == "duration" and value:
            return duration(value)
        return str(value) if isinstance(value, int) else f"{value:.15g}"


def _signed(text: str, kind: Kind) -> float | int | None:
    """The number that a text means, whatever its bounds are; None if it means none."""
    bare = text.strip()
    sign = -1 if bare.startswith("-") else 1
    value = _read(bare[1:] if bare[:1] in ("-", "+") else bare, kind)
    return None if value is None else sign * value


def _read(text: str, kind: Kind) -> float | int | None:
    plain = _PLAIN.fullmatch(text)
    if kind != "duration":
        return _number(plain[1]) * _MULTIPLES[plain[2].lower()] if plain is not None else None
    if plain is not None and not plain[2]:
        return _number(plain[1])
    pieces = _PIECE.findall(text)
    if not pieces or _PIECE.sub("", text) or any(unit.lower() not in _UNITS_S for _, unit in pieces):
        return None
    return math.fsum(_number(number) * _UNITS_S[unit.lower()] for number, unit in pieces)


def _number(text: str) -> float | int:
    """A plain number; a whole one exactly, however long it is."""
    digits = text.replace("_", "")
    return int(digits) if digits.isdecimal() else float(digits)


def duration(value_s: float) -> str:
    """Seconds as people write them: ``1h30m``, ``90.5s``, ``500ms``; what is no whole number of them stays seconds."""
    if value_s < 0:
        return f"-{duration(-value_s)}"
    if 0 < value_s < 1 and float(value_s * 1000).is_integer():
        return f"{value_s * 1000:g}ms"
    if value_s < MINUTE_S or not float(value_s).is_integer():
        return f"{value_s:.15g}s"
    rest, out = int(value_s), ""
    for unit, size in (("d", DAY_S), ("h", HOUR_S), ("m", MINUTE_S), ("s", 1)):
        whole, rest = divmod(rest, size)
        out += f"{whole}{unit}" if whole else ""
    return out


_LOAD_S: Final = 30 * DAY_S
SEED: Final = Amount("count", 0, (1 << 63) - 1)
JOBS: Final = Amount("count", 1, 64)
"""Runs at the same time, in a process each."""
REPEATS: Final = Amount("count", 1, 1_000_000)
"""Runs of one command, each with the next seed."""
HUNTED: Final = Amount("count", 1, 100_000)
"""Runs of one hunt: a corpus has no room for more records."""
BOUNDS: Final[dict[str, Amount]] = {
    "rate": Amount("number", 0, 1_000_000, above=True),
    "clients": Amount("count", 1, 10_000),
    "workers": Amount("count", 1, 64),
    "keys": Amount("count", 1, 1024),
    "body_bytes": Amount("count", 0, 4 << 20),
    "op_timeout_s": Amount("duration", 0, HOUR_S, above=True),
    "time_limit_s": Amount("duration", 0, _LOAD_S, above=True),
    "fault_interval_s": Amount("duration", 0, _LOAD_S, above=True),
    "fault_duration_s": Amount("duration", 0, _LOAD_S, above=True),
    "fault_within_s": Amount("duration", 0, _LOAD_S, above=True),
    "recovery_s": Amount("duration", 0, DAY_S),
    "drain_deadline_s": Amount("duration", 0, DAY_S, above=True),
    "ready_deadline_s": Amount("duration", 0, DAY_S, above=True),
    "rto_budget_s": Amount("duration", 0, DAY_S),
    "seed": SEED,
    "port": Amount("count", 1, 65535),
    "watchdog_s": Amount("duration", 0, DAY_S, above=True),
}
"""Every number that decides a run, by field, of the experiment or of a backend."""
ASKED: Final[dict[str, Amount]] = {**BOUNDS, "drain_deadline_s": Amount("duration", 120, DAY_S)}
"""What people may ask for: final reads get two minutes at least (SEMANTICS 10); tests of the harness may give less."""
