"""What a node's processes are told of the time, read by a probe on its host, and what may be said of it.

A reading lies between two reads of the kernel's own clock, so it bounds how far the wall clock is ahead without any
tolerance being assumed: on a busy machine the bounds are wider, and what they leave open is not proven.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.errors import DeployError
from cluster.host import Host
from nemesis.faults.clocks import clock_probe
from nemesis.faults.clocks.mover import TIMEOUT_S
from nemesis.proof.evidence import first_few

PROGRAM: Final = Path(clock_probe.__file__)
_ROUNDING_NS: Final = 2
_LEAST_SHARE: Final = 0.1
_NAMED: Final = 3

Span = tuple[float, float]
"""At least and at most."""


class Reading(msgspec.Struct, frozen=True):
    """What one process is told. ``samples``: the kernel's wall clock before, what is told, and the kernel's after, ns.

    ``steady``: the monotonic clock is the kernel's own. ``error``: why nothing could be read.
    """

    name: str = ""
    samples: tuple[tuple[int, int, int], ...] = ()
    steady: bool = True
    error: str = ""

    def ahead_ns(self) -> list[Span]:
        """For each sample how far the clock was ahead of the kernel's, at least and at most."""
        return [(seen - after, seen - before) for before, seen, after in self.samples]


Readings = Mapping[int, Reading]
"""By pid."""

Judge = Callable[[int, Reading], tuple[bool, str]]
"""Whether the process of that pid is told what it should be, and what it is told, for people."""


def read_clocks(host: Host, pid: int, start_time: int, looks: int, span_s: float) -> Readings:
    """Read the clock of all processes of a node on its host, ``looks`` times within ``span_s``.

    Raises:
        ChaosError: the host does not answer, or the probe cannot run there.
    """
    orders = json.dumps({"pid": pid, "start": start_time, "looks": looks, "span_s": span_s})
    argv = ("python3", "-I", "-S", "-", orders)
    done = host.run(*argv, stdin=PROGRAM.read_bytes(), timeout_s=TIMEOUT_S + span_s)
    said = done.check(f"{host.name}: reading its clock").stdout
    try:
        return msgspec.json.decode(said, type=dict[int, Reading])
    except msgspec.DecodeError:
        raise DeployError(f"{host.name}: the probe of its clock said {said[:100]!r}") from None


def judge_readings(readings: Readings, judge: Judge) -> tuple[bool, str]:
    """Whether every process of a node is told what it should be, and what the first, or a wrong one, is told."""
    said = {pid: _judged(pid, one, judge) for pid, one in readings.items()}
    wrong = [f"pid {pid} ({readings[pid].name}) {text}" for pid, (good, text) in said.items() if not good]
    if wrong or not said:
        return False, first_few(wrong, shown=_NAMED) or "has no process"
    pid, (_, text) = next(iter(said.items()))
    beside = f" and {len(said) - 1} beside it" if len(said) > 1 else ""
    return True, f"pid {pid}{beside} {text}, monotonic time untouched"


def _judged(pid: int, reading: Reading, judge: Judge) -> tuple[bool, str]:
    if reading.error:
        return False, f"could not be read: {reading.error}"
    good, text = judge(pid, reading)
    return (good, text) if reading.steady else (False, f"{text}, and its monotonic time is disturbed")


def ahead_by(reading: Reading, wanted_ns: int, told_apart_ns: int) -> tuple[bool, str]:
    """Pure: whether the clock is so much ahead, in every sample that can tell ``told_apart_ns`` from nothing."""
    sharp = _sharp(reading, told_apart_ns)
    good = bool(sharp) and all(_within(wanted_ns, span) for span in sharp)
    return good, f"sees its clock {seconds(_narrowest(reading.ahead_ns()))} ahead"


def runs_at(reading: Reading, rate: float) -> tuple[bool, str]:
    """Pure: whether the clock gains that share of real time: the bounds hold it, and do not hold none."""
    low, high = rate_of(reading)
    good = low <= rate <= high and not low <= 0 <= high
    return good, f"sees its clock gain {low * 1e6:+.6g} to {high * 1e6:+.6g} ppm"


def rate_of(reading: Reading) -> Span:
    """Pure: what share of real time the clock gains, at least and at most.

    Each early sample with each late one bounds it; what all of these allow is the answer.
    """
    pairs = list(zip(reading.samples, reading.ahead_ns(), strict=True))
    quarter = max(1, len(pairs) // 4)
    low, high = -float("inf"), float("inf")
    for (first, gained), (last, gained_then) in product(pairs[:quarter], pairs[-quarter:]):
        if last[0] <= first[2]:
            continue
        passed = (last[0] - first[2], last[2] - first[0])
        least = gained_then[0] - gained[1] - _ROUNDING_NS
        most = gained_then[1] - gained[0] + _ROUNDING_NS
        low = max(low, min(least / span for span in passed))
        high = min(high, max(most / span for span in passed))
    return low, high


def swings_to(reading: Reading, delta_ns: int) -> tuple[bool, str]:
    """Pure: whether the clock is right in a part of the samples, and so much ahead in the others."""
    sharp = _sharp(reading, delta_ns)
    away = sum(_within(delta_ns, span) for span in sharp)
    right = sum(_within(0, span) for span in sharp)
    good = away + right == len(sharp) > 0 and min(away, right) >= _LEAST_SHARE * len(sharp)
    return good, f"sees its clock {delta_ns / NS_PER_S:+g} s ahead in {away} and right in {right} of {len(sharp)} looks"


def is_right(reading: Reading, told_apart_ns: int) -> tuple[bool, str]:
    """Pure: whether the clock is the kernel's, in every sample that can tell ``told_apart_ns`` from nothing."""
    good, text = ahead_by(reading, 0, told_apart_ns)
    return good, "has the machine's clock" if good else text


def plain(readings: Readings) -> dict[str, object]:
    """What is stored of a node's readings: by pid the name, and how far ahead the clock was, in s, least and most."""
    return {
        str(pid): {"name": one.name, "error": one.error}
        if one.error
        else {
            "name": one.name,
            "monotonic": "untouched" if one.steady else "disturbed",
            "ahead_s": [round(bound / NS_PER_S, 9) for bound in hull(one.ahead_ns())],
            "samples": len(one.samples),
        }
        for pid, one in readings.items()
    }


def hull(spans: Iterable[Span]) -> Span:
    """Pure: the least and the most of all; nothing of none."""
    all_of_them = list(spans)
    return min((one[0] for one in all_of_them), default=0), max((one[1] for one in all_of_them), default=0)


def seconds(span: Span) -> str:
    """A span for people: its middle, with as many digits as it is known to."""
    middle, half = (span[0] + span[1]) / 2 / NS_PER_S, _width(span) / 2 / NS_PER_S
    return f"{middle:+.6f} s (± {half:.6f} s)"


def _sharp(reading: Reading, told_apart_ns: int) -> list[Span]:
    """The samples that tell so much from nothing; all where there is nothing to be told."""
    return [span for span in reading.ahead_ns() if 2 * _width(span) < abs(told_apart_ns) or not told_apart_ns]


def _narrowest(spans: Iterable[Span]) -> Span:
    return min(spans, key=_width, default=(-float("inf"), float("inf")))


def _width(span: Span) -> float:
    return span[1] - span[0]


def _within(value: float, span: Span) -> bool:
    return span[0] - _ROUNDING_NS <= value <= span[1] + _ROUNDING_NS
