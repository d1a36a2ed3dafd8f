"""What somebody wants of a run beside correctness, as it is stored: thresholds, what fails a build, what is allowed.

``Gates`` stands in ``run.json``, ``ThresholdResult`` and ``GateResult`` in ``results.json`` (SEMANTICS 27, 28).
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

State = Literal["held", "broken", "unknown"]
Answer = bool | Literal["unknown"]

ANOMALIES: Final = "anomalies"
THRESHOLDS: Final = "thresholds"
UNKNOWN: Final = "unknown"
FAIL_ON: Final = (ANOMALIES, THRESHOLDS)
"""What makes the exit code 1 unless somebody says otherwise."""


class Allowed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finding that does not fail a build: which anomaly of which system, why, and until which day (UTC, ISO)."""

    anomaly: str
    system: str
    reason: str
    until: str | None = None


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """All that somebody wants of a run. ``thresholds``: as they were written."""

    thresholds: tuple[str, ...] = ()
    fail_on: tuple[str, ...] = FAIL_ON
    allow: tuple[Allowed, ...] = ()


class ThresholdResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one threshold.

    ``measured``: the figure in words, empty if there is none. ``value``: the same as a number in seconds, messages, a
    share from 0 to 1 or operations a second; None if there is none, or if a recovery never came. ``reason``: why it is
    unknown, else empty.
    """

    text: str
    state: State
    measured: str = ""
    value: float | None = None
    reason: str = ""

    @property
    def sentence(self) -> str:
        """``lost==0 (measured 3)``, or why nothing was measured."""
        return f"{self.text} ({f'measured {self.measured}' if self.measured else self.reason})"


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether somebody has to act.

    ``valid``: what the exit code says, which may differ from the verdict. ``failed_by``: the findings that fail it.
    ``allowed``: those that would and are allowed. ``expired``: allowances whose last day is over.
    ``ignored``: findings that ``fail_on`` does not list.
    """

    valid: Answer
    fail_on: tuple[str, ...] = FAIL_ON
    failed_by: tuple[str, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    expired: tuple[Allowed, ...] = ()
    ignored: tuple[str, ...] = ()


def threshold_words(rows: Sequence[ThresholdResult]) -> list[str]:
    """The sentences that begin a verdict: what is broken, then what was not measured."""
    out = []
    for state, words in (("broken", "Broken threshold{}"), ("unknown", "Threshold{} not measured")):
        own = [row.sentence for row in rows if row.state == state]
        if own:
            out.append(f"{words.format('' if len(own) == 1 else 's')}: {', '.join(own)}.")
    return out


def gate_words(gate: GateResult | None) -> str:
    """The end of a sentence: what is allowed and why, what no longer is, and what ``fail-on`` does not list."""
    if gate is None:
        return ""
    out = [f" Allowed: {_allowed(one)}." for one in gate.allowed]
    out += [f" No longer allowed: {_allowed(one)}." for one in gate.expired]
    out += [f" Not in fail-on: {', '.join(gate.ignored)}."] if gate.ignored else []
    return "".join(out)


def _allowed(one: Allowed) -> str:
    until = f" until {one.until}" if one.until else ""
    return f"{one.anomaly} of {one.system}{until} ({one.reason.rstrip('.')})"
