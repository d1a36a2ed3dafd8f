"""How numbers, times and commands are spelled, alike on the page and in the terminal.

Pure.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from chaos.core.clock import NS_PER_S
from chaos.core.verdict import Valid

THIN: Final = "\u202f"
"""Narrow no-break space between groups of three digits."""

PASS: Final = "PASS"  # noqa: S105 - a verdict
FAIL: Final = "FAIL"
UNKNOWN: Final = "UNKNOWN"
BROKE: Final = "BROKE"
VERDICTS: Final[dict[str, str]] = {"valid": PASS, "invalid": FAIL, "unknown": UNKNOWN, "broke": BROKE}
"""The verdict of a run of a matrix, as its files have it, and as people read it."""

_TEN_THOUSAND: Final = 10_000
_MINUTES_FROM_S: Final = 600


def verdict(valid: Valid) -> str:
    """A verdict as people read it: PASS, FAIL or UNKNOWN; files have true, false and "unknown"."""
    return PASS if valid is True else FAIL if valid is False else UNKNOWN


def count(number: int) -> str:
    """``27600`` → ``27 600`` (four digits stay together)."""
    return str(number) if abs(number) < _TEN_THOUSAND else f"{number:,}".replace(",", THIN)


def plural(number: int, noun: str) -> str:
    """``1 fault``, ``3 faults``."""
    return f"{count(number)} {noun}" + ("" if number == 1 else "s")


def seconds(value_s: float) -> str:
    """A duration in seconds with the digits that matter: ``12 ms``, ``2.6 s``, ``240 s``, ``75 min``."""
    size = abs(value_s)
    if size >= 10 * _MINUTES_FROM_S:
        return f"{value_s / 60:.0f} min"
    if size >= 100:  # noqa: PLR2004 - three digits are enough
        return f"{value_s:.0f} s"
    if size >= 1 or size == 0:
        return f"{value_s:.1f} s"
    return f"{value_s * 1000:.0f} ms" if size >= 0.01 else f"{value_s * 1000:.1f} ms"  # noqa: PLR2004 - ten milliseconds


def duration(value_s: float) -> str:
    """A duration somebody chose, as it was chosen: ``20 s``, ``0.5 s``."""
    return f"{value_s:g} s"


def moment(value_s: float | None) -> str:
    """A point in time relative to the start of the load: ``24.3 s``, ``0.3 s before the load``; a dash for none."""
    if value_s is None:
        return "—"
    return f"{-value_s:.1f} s before the load" if value_s <= -0.05 else f"{abs(value_s):.1f} s"  # noqa: PLR2004


def seconds_since(time_ns: int | None, origin_ns: int) -> float | None:
    """A time of the run's clock as seconds since ``origin_ns``."""
    return None if time_ns is None else (time_ns - origin_ns) / NS_PER_S


def file_size(number_bytes: int) -> str:
    """A file's size: ``812 B``, ``4.1 kB``, ``1.6 MB``."""
    value = float(number_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":  # noqa: PLR2004 - the step of the units
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def cell_text(value: Any) -> str:
    """A JSON value as a table shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(cell_text, value))
    return str(value)


def flat_rows(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    """A JSON object as (dotted name, value) rows."""
    if isinstance(value, dict) and value:
        return [
            row for key, inner in value.items() for row in flat_rows(inner, f"{prefix}.{key}" if prefix else str(key))
        ]
    return [(prefix, cell_text(value))] if prefix else []


def rule(name: str) -> str:
    """Where the rule of an anomaly is written: ``rule 6 of docs/semantics.md``, or a page of docs/reference."""
    if not name or name.startswith("docs"):
        return name
    return f"docs/reference/{name}.md" if name.isalpha() else f"rule {name} of docs/semantics.md"


def run_again(argv: Sequence[str], seed: int, settled: Mapping[str, str] | None = None) -> str:
    """The command line that makes this run, or this generated history, again: the stored one, with its seed.

    ``settled``: options of a run, and their values, that another option brought; those that are not named are added.
    """
    rest = list(argv)
    command = "generate" if "generate" in rest[:3] else "run"
    rest = rest[rest.index(command) + 1 :] if command in rest[:3] else rest[1:]
    kept: list[str] = []
    skip = False
    for word in rest:
        if skip:
            skip = False
        elif word == "--seed":
            skip = True
        elif not word.startswith("--seed="):
            kept.append(word)
    named = {word.partition("=")[0] for word in kept}
    brought = settled.items() if settled is not None and command == "run" else ()
    kept += [word for option, value in brought if option not in named for word in (option, value)]
    return shlex.join(["chaos", command, *kept, "--seed", str(seed)])
