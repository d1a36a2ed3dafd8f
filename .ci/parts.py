#!/usr/bin/env python3
"""The parts of CI beside ``make test``: which are due in which landing, their runs, and what was left out.

    .ci/parts.py check          # before anything is run: is this turn a new one?
    .ci/parts.py fetch          # get what the systems of the parts that are due need; print a line for each
    .ci/parts.py run [SECONDS]  # the parts that are due; SECONDS have gone since CI began
    .ci/parts.py run [SECONDS] --fetched FILE  # the same; FILE has what `fetch` printed
    .ci/parts.py run --part NAME ...
    .ci/parts.py next [--part NAME ...]  # take the next turn; the parts are those that found no time in the last one;
                                         # commit .ci/turn and .ci/owed with the landing

docs/results/ci.md says why the turn is a number in a file. Uses the standard library only: it runs before the
packages are installed.
"""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PARTS = ROOT / ".ci" / "parts.toml"
TURN = ROOT / ".ci" / "turn"
OWED = ROOT / ".ci" / "owed"
"""A line for each part that found no time in the last landing: it comes first in this one, and must."""
LANDED = "origin/main"
MARKER = "backends or longer or controls"
ENGINE = [str(ROOT / ".ci" / "engine"), "/var/lib/chaos-engine"]
FETCH = "ci: fetch "
FETCHED = "there"
"""How a line of ``fetch`` begins, and how it ends if all went well."""
CLOSING = re.compile(r"=+ (.*\b(?:passed|failed|errors?|skipped|no tests ran)\b.* in [\d.]+s.*?) =+\s*$")


class Part(NamedTuple):
    """A piece of CI. ``turn``: the remainder of the landing's turn at which it is due; ``minutes``: its budget.

    ``workers``: how many of its tests run at the same time. ``fetches``: options of ``chaos fetch``, a text for each
    system that takes long to get and that ``make test`` does not get.
    """

    name: str
    turn: int
    minutes: float
    tests: tuple[str, ...]
    workers: int = 1
    fetches: tuple[str, ...] = ()


class Plan(NamedTuple):
    """``.ci/parts.toml``; all limits are minutes."""

    planned_minutes: int
    last_start_minutes: int
    setup_minutes: int
    test_minutes: int
    unit_minutes: int
    turns: int
    parts: tuple[Part, ...]


class Done(NamedTuple):
    """A part that was run. ``closing``: the last line of pytest's own summary."""

    part: Part
    code: int
    minutes: float
    closing: str


def plan_of(text: str) -> Plan:
    """Pure: the plan that the text of parts.toml holds."""
    found: dict[str, Any] = tomllib.loads(text)
    parts = tuple(
        Part(**{name: tuple(said) if isinstance(said, list) else said for name, said in part.items()})
        for part in found.pop("part")
    )
    return Plan(parts=parts, **found)


def due(plan: Plan, turn: int, owed: Collection[str] = ()) -> list[Part]:
    """Pure: the parts that run in the landing of this turn: those that are owed, then its own, as in the file."""
    own = [part for part in plan.parts if part.turn == turn % plan.turns and part.name not in owed]
    return [part for part in plan.parts if part.name in owed] + own


def next_turn(plan: Plan, turn: int, part: Part) -> int:
    """Pure: the first turn after this one in which a part is due."""
    return turn + ((part.turn - turn - 1) % plan.turns) + 1


def fits(plan: Plan, part: Part, elapsed_s: float) -> bool:
    """Pure: whether a part that begins now ends in time."""
    return elapsed_s / 60 + part.minutes <= plan.last_start_minutes


def last_line(plan: Plan, turn: int, ran: Iterable[Part], missed: Iterable[Part]) -> str:
    """Pure: what this landing left out, and when it comes; ``missed``: what was due and found no time."""
    ran, missed = set(ran), list(missed)
    later = [f"{part.name} (turn {next_turn(plan, turn, part)})" for part in plan.parts if part not in {*ran, *missed}]
    line = f"ci: left out at turn {turn}: {', '.join(later) or 'nothing'}"
    names = [part.name for part in missed]
    owes = " --part ".join(["next", *names])
    return line + (f"; DUE, AND FOUND NO TIME: {', '.join(names)}; next time: .ci/parts.py {owes}" if missed else "")


def same_turn(turn: int, landed: int | None) -> str | None:
    """Pure: what is wrong with this turn, given that of the landing before; None where that is not known."""
    if landed is None or turn == landed + 1:
        return None
    return f"ci: .ci/turn is {turn} and {LANDED} has {landed}; run .ci/parts.py next on top of it and commit .ci/turn"


def closing_of(lines: Sequence[str]) -> str:
    """Pure: pytest's closing line among the lines of its output, without its rulers; empty if there is none."""
    return next((found[1] for line in reversed(lines) if (found := CLOSING.search(line))), "")


def git(*argv: str) -> str | None:
    """What git says; None if it cannot."""
    done = subprocess.run(["git", *argv], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def landed_turn() -> int | None:
    """The turn of the landing before this one; None if this clone does not know it, or is that landing itself."""
    before = git("rev-parse", "--verify", "--quiet", LANDED)
    if before is None or before == git("rev-parse", "HEAD"):
        return None
    found = git("show", f"{LANDED}:.ci/turn")
    return int(found) if found else None


def fetch(wanted: Sequence[Part], timeout_s: float) -> None:
    """Get what the systems of parts need, one after the other, and print one line for each.

    ``timeout_s``: for all of it; what is not there by then has failed.
    """
    end = time.monotonic() + timeout_s
    for options in dict.fromkeys(options for part in wanted for options in part.fetches):
        outcome = fetch_one(options, max(0.0, end - time.monotonic()))
        print(f"{FETCH}{options}: {outcome}", flush=True)


def fetch_one(options: str, timeout_s: float) -> str:
    """Get what one system needs: ``FETCHED``, or what failed, in one line. Ends what the command started with it."""
    argv = [str(ROOT / ".venv" / "bin" / "chaos"), "fetch", *options.split()]
    # A session of its own, so that the tools which it starts can be ended too.
    with subprocess.Popen(
        argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        try:
            _, errors = run.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return "FAILED: all that is fetched took longer than make test may"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
    if run.returncode == 0:
        return FETCHED
    lines = errors.split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "it printed no reason")
    return f"FAILED with exit {run.returncode}: {said}"


def unfetched(part: Part, lines: Sequence[str]) -> str:
    """Pure: what could not be had for a part, given what ``fetch`` printed; empty if all is there."""
    for options in part.fetches:
        found = [line.removeprefix(start) for line in lines if line.startswith(start := f"{FETCH}{options}: ")]
        if found != [FETCHED]:
            return f"chaos fetch {options}: {found[0] if found else 'it did not end'}"
    return ""


def perform(part: Part) -> Done:
    """Run a part's tests with a Docker engine; all they print is printed."""
    argv = [
        *ENGINE,
        str(ROOT / ".venv" / "bin" / "python"),
        "-m",
        "pytest",
        "--durations",
        "12",
        "-m",
        MARKER,
        *part.tests,
    ]
    argv += ["-n", str(part.workers)] if part.workers > 1 else []
    print(f"ci: {part.name}: {part.minutes:g} minutes planned", flush=True)
    began, lines = time.monotonic(), []
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
    return Done(part, run.returncode, (time.monotonic() - began) / 60, closing_of(lines))


def run(
    plan: Plan,
    turn: int,
    wanted: Sequence[Part],
    gone_s: float,
    must: Collection[str],
    fetched: Sequence[str] | None = None,
) -> int:
    """Run parts until a test fails; gives the exit code. The last line printed says what was left out.

    ``must``: the names of those without which CI fails. ``fetched``: what ``fetch`` printed, if it ran before. A part
    for which something could not be had fails, and the others still run.
    """
    began = time.monotonic() - gone_s
    done: list[Done] = []
    failed = False
    for part in wanted:
        if failed:
            break
        if fetched is not None and (missing := unfetched(part, fetched)):
            done.append(Done(part, 1, 0.0, f"not run, {missing}"))
        elif fits(plan, part, time.monotonic() - began):
            done.append(perform(part))
            failed = done[-1].code != 0
    print(f"ci: at commit {git('rev-parse', '--short=10', 'HEAD') or 'unknown'}")
    print(f"ci: {gone_s / 60:.1f} of {plan.setup_minutes + plan.test_minutes} minutes until the parts began")
    for one in done:
        failed = f", FAILED with exit {one.code}" if one.code else ""
        print(f"ci: {one.part.name}: {one.minutes:.1f} of {one.part.minutes:g} minutes, {one.closing}{failed}")
    missed = [part for part in wanted if part not in {one.part for one in done}]
    minutes = (time.monotonic() - began) / 60
    slow = ", TOO SLOW" if minutes > plan.planned_minutes else ""
    print(f"ci: {minutes:.1f} of {plan.planned_minutes} minutes in all{slow}")
    print(last_line(plan, turn, [one.part for one in done], missed), flush=True)
    return max([one.code for one in done] + [1 if any(part.name in must for part in missed) else 0])


def main() -> int:
    """Parse and act."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["check", "fetch", "run", "next"])
    options.add_argument("seconds", nargs="?", type=float, default=0.0, help="seconds since CI began")
    options.add_argument("--part", action="append", metavar="NAME", help="run these, whatever is due")
    options.add_argument("--fetched", type=Path, metavar="FILE", help="run: what fetch printed")
    args = options.parse_args()
    plan, turn = plan_of(PARTS.read_text()), int(TURN.read_text())
    owed = (args.part or []) if args.what == "next" else OWED.read_text().split()
    unknown = {*(args.part or ()), *owed} - {part.name for part in plan.parts}
    if unknown:
        print(f"ci: no part is called {', '.join(sorted(unknown))}; .ci/parts.toml has them", file=sys.stderr)
        return 254
    if args.what == "next":
        turn = (turn if (landed := landed_turn()) is None else landed) + 1
        TURN.write_text(f"{turn}\n")
        OWED.write_text("".join(f"{name}\n" for name in owed))
    wrong = same_turn(turn, landed_turn()) if args.what == "check" else None
    if wrong:
        print(wrong, file=sys.stderr)
        return 254
    by_hand = args.what == "run" and args.part
    wanted = due(plan, turn, owed)
    if by_hand:
        wanted = [part for part in plan.parts if part.name in args.part]
    if args.what == "fetch":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends what is being fetched
        fetch(wanted, 60 * plan.test_minutes)
        return 0
    if args.what != "run":
        print(f"ci: turn {turn}: {', '.join(part.name for part in wanted)}", flush=True)
        return 0
    fetched = None if args.fetched is None else args.fetched.read_text().splitlines()
    if fetched:
        print("\n".join(fetched), flush=True)
    return run(plan, turn, wanted, args.seconds, args.part if by_hand else owed, fetched)


if __name__ == "__main__":
    sys.exit(main())
