"""Faults at times of somebody's choosing, one after the other or at once: steps, and the plan that they make.

A step says when (``at``: seconds from the beginning of the round; ``after``: seconds after the end of the step before),
what, and how long. A round ends with its last heal, and the next begins there. Does not cut a round short: what cannot
be healed within the time limit is not planned (SEMANTICS 24).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Subject
from nemesis.faults import params
from nemesis.occasions.occasion import occasion_of
from nemesis.plan.mix import NOTHING, parse_mix
from nemesis.plan.nemesis_names import Choice
from nemesis.plan.plan import Row, possible_of, row_of
from nemesis.targets.topology import Placed, Topology

SEQUENCE: Final = "sequence"
"""What a run whose faults are a sequence calls its nemesis."""

UNTIL: Final = "until-time-limit"
_ROUNDING_S: Final = 1e-9
_DIGITS: Final = 9


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One fault, named as on the command line, for ``duration`` seconds; one of ``at`` and ``after`` says when.

    ``when``: from then on it waits for that occasion, for ``within`` seconds at most.
    """

    nemesis: str
    duration: float
    at: float | None = None
    after: float | None = None
    when: str = ""
    within: float = 0.0

    @property
    def takes_s(self) -> float:
        """How long it takes at most."""
        return self.within + self.duration


class Steps(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Steps as they stand in a file, and how often they come."""

    steps: tuple[Step, ...]
    repeat: int | Literal["until-time-limit"] = 1


def wrong_with(step: Step) -> str | None:
    """What is wrong with a step, None if nothing is."""
    if (step.at is None) == (step.after is None):
        return "give one of at (from the beginning of the round) and after (the end of the step before)"
    if not (math.isfinite(step.duration) and step.duration > 0):
        return f"duration {step.duration:g}: give seconds above 0"
    if bool(step.when) != (step.within > 0):
        return "give when (the occasion that it waits for) and within (for how many seconds at most), or neither"
    for name, value in (("at", step.at), ("after", step.after), ("within", step.within)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            return f"{name} {value:g}: give seconds, 0 or more"
    return None


def times(steps: tuple[Step, ...]) -> tuple[float, ...]:
    """When each step begins, seconds from the beginning of its round."""
    out: list[float] = []
    end_s = 0.0
    for step in steps:
        out.append(step.at if step.at is not None else round(end_s + (step.after or 0.0), _DIGITS))
        end_s = out[-1] + step.takes_s
    return tuple(out)


def round_s(steps: tuple[Step, ...]) -> float:
    """How long a round takes, to its last heal."""
    return max(at_s + step.takes_s for at_s, step in zip(times(steps), steps, strict=True))


def rounds(asked: Steps, time_limit_s: float) -> int:
    """How many rounds there are.

    Raises:
        UsageError: they do not fit.
    """
    one_s = round_s(asked.steps)
    fitting = int((time_limit_s + _ROUNDING_S) // one_s)
    wanted = max(1, fitting) if asked.repeat == UNTIL else int(asked.repeat)
    if wanted > fitting:
        raise UsageError(
            f"--time-limit {time_limit_s:g}: {wanted} round(s) of the sequence take {wanted * one_s:g} s,"
            " the last heal included"
        )
    return wanted


def scale_steps(asked: Steps, factor: float, least_s: float) -> Steps:
    """The same sequence in less time: every time by one factor, so that what overlaps still does.

    No duration falls below ``least_s`` unless it was below before; then the factor is not as small as was asked.
    """
    shortest_s = min(step.duration for step in asked.steps)
    factor = min(1.0, max(factor, least_s / shortest_s))

    def shorter(value: float | None) -> float | None:
        return None if value is None else round(value * factor, 3)

    steps = tuple(
        msgspec.structs.replace(
            s,
            duration=round(s.duration * factor, 3),
            at=shorter(s.at),
            after=shorter(s.after),
            within=round(s.within * factor, 3),
        )
        for s in asked.steps
    )
    return msgspec.structs.replace(asked, steps=steps)


def plan_steps(
    asked: Steps,
    kinds: Mapping[str, str],
    nodes: Iterable[Placed],
    *,
    time_limit_s: float,
    seed: int,
    missing: Mapping[str, str] = NOTHING,
    fault_nodes: Sequence[str] = (),
    subjects: Sequence[Subject] = (),
) -> tuple[Row, ...]:
    """The plan of a sequence; rows may overlap. Arguments as in ``nemesis.plan.plan.make_plan``.

    Raises:
        UsageError: an unknown name or role, too few nodes, or rounds that do not fit.
    """
    topology = Topology.of(nodes, kinds, subjects)
    choices = [_choice(number, step, topology, missing, fault_nodes) for number, step in enumerate(asked.steps, 1)]
    due = sorted(_due(asked, choices, time_limit_s), key=lambda one: one[0])
    rows = (
        (row_of(number, at_s, step.duration, choice, topology, seed, fault_nodes), step)
        for number, (at_s, step, choice) in enumerate(due, 1)
    )
    return tuple(msgspec.structs.replace(row, when=step.when, within_s=step.within) for row, step in rows)


def _due(asked: Steps, choices: list[Choice], time_limit_s: float) -> Iterator[tuple[float, Step, Choice]]:
    one_s = round_s(asked.steps)
    for number in range(rounds(asked, time_limit_s)):
        for at_s, step, choice in zip(times(asked.steps), asked.steps, choices, strict=True):
            yield round(number * one_s + at_s, _DIGITS), step, choice


def _choice(number: int, step: Step, topology: Topology, missing: Mapping[str, str], fixed: Sequence[str]) -> Choice:
    mix = parse_mix(step.nemesis, topology, missing)
    if mix.every or len(mix.choices) != 1:
        raise UsageError(f"nemesis: step {number}: {step.nemesis}: a step is one fault; write one step for each")
    if step.when:
        occasion_of(step.when, topology)
    (choice,) = possible_of(mix, topology, fixed)
    if step.when and choice.entry.how.load_factor(params.read(choice.entry.how.Params, dict(choice.params))) > 1:
        raise UsageError(
            f"nemesis: step {number}: {step.nemesis}: the load is planned before it begins; it cannot wait"
        )
    return choice
