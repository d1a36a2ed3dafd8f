"""What is to be generated of objects: how many there are, how long each lives, and where which anomaly is planted.

An object's load repeats one cycle of slots, an operation each, so that every instant follows from the number of its
slot. Draws where the anomalies go, and refuses what cannot be had.
"""

import random
from collections.abc import Iterator
from typing import Final

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.errors import UsageError
from chaos.generate.generator import HistorySpec
from chaos.generate.plan import ENOUGH, LONGEST_NS, ORIGIN_NS, PER_S, SETTLE_NS, SHORTEST_NS, WORKERS

LAST_NS: Final = NS_PER_S // 50
"""From one of an object's last operations to the next."""
APART_NS: Final = 1_000
"""From one object's last operations to the next object's."""
MS: Final = 1_000_000


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How a model's histories are built.

    ``slots``: operations of a cycle. ``last``: operations of an object after the load. ``longest``: cycles that an
    object lives at most; then another takes its place. ``once``: an anomaly is reported once of each object, so no
    object has two. ``least_step_ns``: from one operation of an object to the next at least.
    """

    slots: int
    last: int
    longest: int
    once: bool
    least_step_ns: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A history to be made.

    ``at_once``: objects in use at a time. ``generations``: so many take each other's place. ``cycles``: of each object.
    ``sites``: object → cycles, ascending, and the anomaly that is planted there.
    """

    shape: Shape
    at_once: int
    generations: int
    cycles: int
    seed: int
    sites: dict[int, tuple[tuple[int, str], ...]]

    @property
    def keys(self) -> int:
        """Objects in all."""
        return self.at_once * self.generations

    @property
    def slots(self) -> int:
        """Operations of an object's load."""
        return self.cycles * self.shape.slots

    @property
    def load(self) -> int:
        """Operations without the last ones."""
        return self.keys * self.slots

    @property
    def ops(self) -> int:
        """Operations in all."""
        return self.load + self.keys * self.shape.last

    @property
    def workers(self) -> int:
        """Workers; each has objects of its own."""
        return min(self.at_once, WORKERS)

    def keys_of(self, worker: int) -> range:
        """The objects of a worker."""
        return range(worker, self.keys, self.workers)

    @property
    def step_ns(self) -> int:
        """From one operation of an object to the next."""
        load_ns = min(max(self.load * NS_PER_S // PER_S, SHORTEST_NS), LONGEST_NS)
        return max(load_ns // (self.generations * self.slots), self.shape.least_step_ns)

    @property
    def load_ns(self) -> int:
        """How long the load lasts."""
        return self.step_ns * self.generations * self.slots

    def begin_ns(self, key: int) -> int:
        """When an object's load begins; objects in use at the same time take turns within a step."""
        generation, place = divmod(key, self.at_once)
        return ORIGIN_NS + generation * self.slots * self.step_ns + place * self.step_ns // self.at_once

    def last_ns(self, key: int) -> int:
        """When an object's last operations begin."""
        return ORIGIN_NS + self.load_ns + SETTLE_NS + key * APART_NS

    @property
    def end_ns(self) -> int:
        """When the last operations are over."""
        return self.last_ns(self.keys) + self.shape.last * LAST_NS + NS_PER_S

    @property
    def lease_ms(self) -> int:
        """How long anything is granted for: longer than a cycle lasts."""
        return max(4000, 2 * self.shape.slots * self.step_ns // MS)


def plan_of(shape: Shape, spec: HistorySpec) -> Plan:
    """Draw where the anomalies go.

    Operations of a cycle that is not whole are left out.

    Raises:
        UsageError: too few operations for the objects or for the anomalies.
    """
    least = spec.keys * (shape.slots * -(-ENOUGH // spec.keys) + shape.last)
    if spec.ops < least:
        raise UsageError(f"--ops {spec.ops}: too few for a verdict over --keys {spec.keys}; take at least {least}")
    each = spec.ops // spec.keys
    generations = -(-each // (shape.slots * shape.longest + shape.last))
    cycles = (each // generations - shape.last) // shape.slots
    plan = Plan(shape=shape, at_once=spec.keys, generations=generations, cycles=cycles, seed=spec.seed, sites={})
    total = sum(spec.anomalies.values())
    room = plan.keys if shape.once else plan.keys * cycles
    if total > room:
        why = "one of each object is reported" if shape.once else f"{spec.ops} operations have {room} cycles"
        raise UsageError(f"--anomaly: {total} do not fit, {why}; take more --{'keys' if shape.once else 'ops'}")
    return msgspec.structs.replace(plan, sites=_sites(plan, spec, room))


def _sites(plan: Plan, spec: HistorySpec, room: int) -> dict[int, tuple[tuple[int, str], ...]]:
    """Cycles for all anomalies, none twice."""
    rng = random.Random(spec.seed)
    names = [name for name, count in sorted(spec.anomalies.items()) for _ in range(count)]
    out: dict[int, list[tuple[int, str]]] = {}
    for place, name in zip(rng.sample(range(room), len(names)), names, strict=True):
        key, cycle = (place, rng.randrange(plan.cycles)) if plan.shape.once else divmod(place, plan.cycles)
        out.setdefault(key, []).append((cycle, name))
    return {key: tuple(sorted(own)) for key, own in out.items()}


def pieces(plan: Plan, cycles: int) -> Iterator[range]:
    """The cycles of an object, so many at a time."""
    for first in range(0, plan.cycles, cycles):
        yield range(first, min(first + cycles, plan.cycles))
