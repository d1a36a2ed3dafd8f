"""A matrix and its jobs: the cross product of axes over a base, less what is excluded, each so and so often.

Everything here is a pure function of the file: which jobs there are, their seeds, and what shrinking makes of their
times. Does not read files and does not run.
"""

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from chaos.basics.rand import SEEDS, stream
from chaos.core.errors import UsageError
from chaos.core.matrix_results import MatrixPlan, Planned
from chaos.options.config_file import Config
from chaos.options.experiment import DEFAULTS
from chaos.options.gates import FIELDS
from chaos.options.option_names import long_option
from nemesis.plan.mix import faults_in
from nemesis.plan.sequence import UNTIL, Steps, round_s, rounds, scale_steps

FLOOR_S: Final = 10.0
"""No fault, no healthy stretch and no recovery is shrunk below this."""

RESTART_S: Final = 10.0
"""What starting a killed broker again may take of a healthy stretch: RocketMQ was seen to serve after 6 to 10 s."""

LEAST_FAULTS: Final = 2
"""A cell that is shrunk still has so many faults."""

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9+@,_-]+")


class Value(msgspec.Struct, frozen=True):
    """One value of an axis: a name, and the options and settings that it stands for."""

    name: str
    config: Config


class Axis(msgspec.Struct, frozen=True):
    """One thing that varies."""

    name: str
    values: tuple[Value, ...]


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """A file. ``exclude``: each leaves out the cells that have one of these values on every axis it names."""

    name: str
    file: str
    about: str = ""
    base: Config
    axes: tuple[Axis, ...]
    exclude: tuple[dict[str, tuple[str, ...]], ...] = ()
    repeats: int = 1
    seed: int = 0


class Job(msgspec.Struct, frozen=True):
    """One run to be made: what ``matrix.json`` says of it, and its options."""

    planned: Planned
    config: Config


def slug(text: str) -> str:
    """A name as it may stand in a file's name."""
    return _UNSAFE.sub("-", text).strip("-") or "-"


def jobs_of(matrix: Matrix, scale: float = 1.0) -> tuple[Job, ...]:
    """Every job in the order of the axes, repeats innermost.

    Raises:
        UsageError: two axes decide the same option, or nothing is left.
    """
    jobs = []
    for chosen in _product(matrix):
        names = {axis.name: value.name for axis, value in zip(matrix.axes, chosen, strict=True)}
        cell = ".".join(map(slug, names.values()))
        config = _merged(matrix, chosen)
        if scale < 1:
            config = shrunk(config, scale)
        for repeat in range(1, matrix.repeats + 1):
            seed = stream(matrix.seed, "matrix", cell, repeat).randrange(SEEDS)
            own = msgspec.structs.replace(
                config,
                values={**config.values, "seed": seed},
                origins={**dict.fromkeys(config.values, matrix.file), **config.origins, "seed": matrix.file},
            )
            planned = Planned(
                id=f"{cell}.{repeat}", cell=cell, values=names, repeat=repeat, seed=seed, fingerprint=_fingerprint(own)
            )
            jobs.append(Job(planned, own))
    if not jobs:
        raise UsageError(f"{matrix.file}: no cell is left; see exclude:")
    return tuple(jobs)


def _product(matrix: Matrix) -> Iterator[tuple[Value, ...]]:
    for chosen in itertools.product(*(axis.values for axis in matrix.axes)):
        names = {axis.name: value.name for axis, value in zip(matrix.axes, chosen, strict=True)}
        if not any(all(names[axis] in out for axis, out in rule.items()) for rule in matrix.exclude):
            yield chosen


def _merged(matrix: Matrix, chosen: tuple[Value, ...]) -> Config:
    """The base with what the values say on top; no two values may say the same thing."""
    said: dict[str, str] = {}
    config = matrix.base
    for axis, value in zip(matrix.axes, chosen, strict=True):
        own = value.config
        keys = [*own.values, *own.backend_options, *(f"settings.{name}" for name in own.settings)]
        keys += ["bug"] if own.bug else []
        for key in keys:
            if key in said:
                raise UsageError(f"{matrix.file}: axes {said[key]} and {axis.name} both decide {key}; let one")
            said[key] = axis.name
        values = {**config.values, **own.values}
        if "nemesis" in own.values and "sequence" not in own.values:
            values.pop("sequence", None)
        config = Config(
            values=values,
            backend_options={**config.backend_options, **own.backend_options},
            settings={**config.settings, **own.settings},
            bug=own.bug or config.bug,
            origins={**config.origins, **own.origins},
        )
    return config


def to_options(config: Config) -> dict[str, Any]:
    """The options as a file for ``chaos run -d`` has them."""
    values = {name: value for name, value in config.values.items() if name != "sequence"}
    if "sequence" in config.values:
        values["nemesis"] = config.values["sequence"]
    said = {**values, **config.backend_options, **({"bug": config.bug} if config.bug else {})}
    out: dict[str, Any] = msgspec.to_builtins({**said, "settings": dict(config.settings)})
    return out


def with_gates(matrix: Matrix, asked: Mapping[str, Any]) -> Matrix:
    """The matrix with what the command line wants of every run, by field name; it wins over base and axes."""
    given = {name: value for name, value in asked.items() if value is not None}

    def config(before: Config, own: Mapping[str, Any]) -> Config:
        kept = {name: value for name, value in before.values.items() if name not in given}
        origins = {**before.origins, **{name: f"--{long_option(name)}" for name in own}}
        return msgspec.structs.replace(before, values={**kept, **own}, origins=origins)

    axes = tuple(
        Axis(axis.name, tuple(Value(value.name, config(value.config, {})) for value in axis.values))
        for axis in matrix.axes
    )
    return msgspec.structs.replace(matrix, base=config(matrix.base, given), axes=axes)


def _fingerprint(config: Config) -> str:
    """What a row must have been made of to count for a job: all options, in no order.

    What is wanted of a run changes nothing of how it is made: it is judged again (``--judge-again``), not run again.
    """
    made = {name: value for name, value in to_options(config).items() if name not in FIELDS}
    text = msgspec.json.encode(made, order="sorted")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def shrunk(config: Config, scale: float) -> Config:
    """The same run in less time: times of faults and recovery by the scale, and fewer faults, each with its floor.

    Where nodes are started again the floor of a healthy stretch is ``RESTART_S`` longer, so that of it, too,
    ``FLOOR_S`` are left to the whole cluster: nobody has caught up before, and a second fault then meets another
    cluster than the one it was meant for. A sequence shrinks by one factor, so its faults are longer then as well.
    """

    def time(name: str, default: float) -> float:
        return float(config.values.get(name, default))

    def less(value_s: float, floor_s: float = FLOOR_S) -> float:
        return min(value_s, max(floor_s, value_s * scale))

    healthy_s = FLOOR_S + RESTART_S if restarts(config) else FLOOR_S

    interval_s = time("fault_interval_s", DEFAULTS["fault_interval_s"])
    duration_s = time("fault_duration_s", interval_s)
    limit_s = time("time_limit_s", DEFAULTS["time_limit_s"])
    recovery_s = less(time("recovery_s", DEFAULTS["recovery_s"]))
    values = {**config.values, "recovery_s": recovery_s}
    steps: Steps | None = config.values.get("sequence")
    if steps is not None:
        short = msgspec.structs.replace(scale_steps(steps, scale, healthy_s), repeat=UNTIL)
        many = fewer(rounds(steps, limit_s), scale, -(-LEAST_FAULTS // len(steps.steps)))
        values |= {"sequence": short, "time_limit_s": round(many * round_s(short.steps), 3)}
    else:
        waits_s = time("fault_within_s", interval_s) if config.values.get("fault_when") else 0.0
        many = fewer(int(limit_s // (interval_s + waits_s + duration_s)), scale, LEAST_FAULTS)
        short_s, wait_s, fault_s = less(interval_s, healthy_s), less(waits_s), less(duration_s)
        values |= {"fault_interval_s": short_s, "fault_duration_s": fault_s}
        values |= {"time_limit_s": many * (short_s + wait_s + fault_s)}
        values |= {"fault_within_s": wait_s} if waits_s else {}
    return msgspec.structs.replace(config, values=values)


def restarts(config: Config) -> bool:
    """Whether a fault of this run ends nodes that are then started again."""
    steps: Steps | None = config.values.get("sequence")
    named = str(config.values.get("nemesis", DEFAULTS["nemesis"]))
    texts = [named] if steps is None else [step.nemesis for step in steps.steps]
    return any(fault.restarts for text in texts for fault in faults_in(text))


def fewer(number: int, scale: float, least: int) -> int:
    """So many of ``number`` faults or rounds are left."""
    return max(least, round(number * scale))


def plan_of(matrix: Matrix, jobs: tuple[Job, ...], scale: float) -> MatrixPlan:
    """What ``matrix.json`` says."""
    return MatrixPlan(
        name=matrix.name,
        about=matrix.about,
        file=matrix.file,
        repeats=matrix.repeats,
        seed=matrix.seed,
        scale=scale,
        axes={axis.name: tuple(value.name for value in axis.values) for axis in matrix.axes},
        jobs=tuple(job.planned for job in jobs),
    )


def select_jobs(jobs: tuple[Job, ...], pattern: str | None) -> tuple[Job, ...]:
    """The jobs whose id or cell matches: a part of it, or the whole where there is a wildcard.

    Raises:
        UsageError: none does.
    """
    if pattern is None:
        return jobs
    glob = pattern if any(sign in pattern for sign in "*?[") else f"*{pattern}*"
    found = tuple(job for job in jobs if any(fnmatchcase(name, glob) for name in (job.planned.id, job.planned.cell)))
    if not found:
        raise UsageError(f"--only {pattern}: no cell is named so, e.g. {jobs[0].planned.id}; see --dry-run")
    return found


def load_s(config: Config) -> float:
    """How long the load of a job lasts."""
    times: Mapping[str, Any] = {**DEFAULTS, **config.values}
    return float(times["time_limit_s"]) + float(times["recovery_s"])
