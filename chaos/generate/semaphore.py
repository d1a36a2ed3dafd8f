"""Made-up histories of semaphores: a run folder, recorded operation by operation as a worker records it.

Each semaphore repeats one cycle: clients take all of its permits, and one more is refused; all permits are given back,
one of them twice, which is refused. Memory holds what is under way, whatever the number of operations.
"""

import heapq
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.errors import UsageError
from chaos.core.op import Completion, Invocation, Type
from chaos.core.recorder import Recorder
from chaos.core.runinfo import Promises
from chaos.generate.generator import HistorySpec
from chaos.generate.plan import ENOUGH, LONGEST_NS, ORIGIN_NS, PER_S, SETTLE_NS, SHORTEST_NS, TIMEOUT_NS
from chaos.generate.run_folder import folder_in_progress, write_events, write_run_of
from chaos.models.coordination.semaphore import SEMAPHORE, F, Permit, Wanted
from chaos.testing.literal_operations import NODES

EXCEEDED: Final = "permits-exceeded"
GIVEN_TWICE: Final = "permit-given-twice"
RELEASED_TWICE: Final = "permit-released-twice"
PLANTED: Final = (EXCEEDED, GIVEN_TWICE, RELEASED_TWICE)
"""The anomalies that can be asked for."""

CHECKS: Final = ("assumptions", "semaphore")
PERMITS: Final = 3
LEASE_MS: Final = 4000
CLIENTS: Final = PERMITS + 1
"""Clients of a semaphore: one more than it has permits."""
TAKE, GIVE = F.ACQUIRE, F.GIVE_BACK
CYCLE: Final = (
    *((TAKE, client) for client in range(CLIENTS)),
    (GIVE, 0),
    (TAKE, PERMITS),
    *((GIVE, client) for client in range(1, CLIENTS)),
    (GIVE, 0),
)
"""What is asked, and by which client. The take of the last client is refused, and granted once a permit is free."""
SLOTS: Final = len(CYCLE)
_REFUSED: Final = CLIENTS - 1
_GRANTED: Final = CLIENTS + 1
_ONCE_MORE: Final = SLOTS - 1
_UNANSWERED: Final = 0.01
_NONE_FREE: Final = "all permits are held"
_NOT_HELD: Final = "the permit is not held"
_NO_ANSWER: Final = "no answer within 3 s"
_NODE: Final = "b1"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A history to be made. ``sites``: (semaphore, cycle) → the anomaly that is planted there."""

    keys: int
    cycles: int
    seed: int
    sites: dict[tuple[int, int], str]

    @property
    def load_ns(self) -> int:
        """How long the load lasts."""
        return min(max(self.keys * self.cycles * SLOTS * NS_PER_S // PER_S, SHORTEST_NS), LONGEST_NS)

    @property
    def step_ns(self) -> int:
        """From one operation of a semaphore to the next."""
        return self.load_ns // (self.cycles * SLOTS)

    @property
    def wanted(self) -> Wanted:
        """What is asked for: no lease ends within a cycle."""
        return Wanted(lease_ms=max(LEASE_MS, 2 * SLOTS * self.step_ns // 1_000_000), permits=PERMITS)

    @property
    def end_ns(self) -> int:
        """When the last permits are taken."""
        return ORIGIN_NS + self.load_ns + SETTLE_NS + NS_PER_S


def plan_of(ops: int, keys: int, seed: int, anomalies: Mapping[str, int]) -> Plan:
    """Draw where the anomalies go.

    Args:
        ops: operations in all, the last takes among them; what is over at the end of a cycle is left out.
        keys: semaphores.
        seed: of every draw.
        anomalies: name → count.

    Raises:
        UsageError: too few operations for the semaphores or for the anomalies.
    """
    least = keys * (SLOTS * -(-ENOUGH // keys) + PERMITS)
    if ops < least:
        raise UsageError(f"--ops {ops}: too few for a verdict over --keys {keys}; take at least {least}")
    cycles = (ops // keys - PERMITS) // SLOTS
    total = sum(anomalies.values())
    if total > keys * cycles:
        raise UsageError(f"--anomaly: {total} do not fit into {ops} operations, which hold {keys * cycles}; more --ops")
    names = [name for name, count in sorted(anomalies.items()) for _ in range(count)]
    places = random.Random(seed).sample(range(keys * cycles), total)
    sites = {divmod(place, cycles): name for place, name in zip(places, names, strict=True)}
    return Plan(keys=keys, cycles=cycles, seed=seed, sites=sites)


class Step(NamedTuple):
    """One operation: when it is asked and answered, by whom, at which semaphore, for what, and its end."""

    asked_ns: int
    answered_ns: int
    key: int
    client: int
    f: F
    argument: Wanted | Permit
    done: Completion


def _ok(permit: int | None = None) -> Completion:
    return Completion(type=Type.OK, node=_NODE, result=None if permit is None else Permit(permit))


def _fail(why: str) -> Completion:
    return Completion(type=Type.FAIL, node=_NODE, error=why)


def cycle_of(plan: Plan, key: int, cycle: int) -> Iterator[Step]:
    """The operations of one cycle of a semaphore; the same whatever was made before."""
    site = plan.sites.get((key, cycle), "")
    rng = random.Random(f"{plan.seed}/{key}/{cycle}")
    own = [cycle * CLIENTS + client for client in range(CLIENTS)]
    own[PERMITS] = own[0] if site == GIVEN_TWICE else own[PERMITS]
    begin_ns = ORIGIN_NS + cycle * SLOTS * plan.step_ns + key * plan.step_ns // plan.keys
    for slot, (f, client) in enumerate(CYCLE):
        done = _ok(own[client] if f is TAKE else None)
        if slot == (_GRANTED if site == EXCEEDED else _REFUSED):
            done = _fail(_NONE_FREE)
        elif slot == _ONCE_MORE and site != RELEASED_TWICE:
            done = _fail(_NOT_HELD)
        asked_ns = begin_ns + slot * plan.step_ns
        answered_ns = asked_ns + 1 + int(rng.uniform(0.2, 0.9) * plan.step_ns)
        if not site and rng.random() < _UNANSWERED and (f is GIVE or slot == _REFUSED):
            done = Completion(type=Type.INFO, error=_NO_ANSWER)
            answered_ns = asked_ns + TIMEOUT_NS
        yield Step(asked_ns, answered_ns, key, client, f, plan.wanted if f is TAKE else Permit(own[client]), done)


def last_takes(plan: Plan, key: int) -> Iterator[Step]:
    """At the end all permits of a semaphore are taken at once."""
    at_ns = ORIGIN_NS + plan.load_ns + SETTLE_NS + key
    for number in range(PERMITS):
        done = _ok((plan.cycles + 1) * CLIENTS + number)
        yield Step(at_ns, at_ns + NS_PER_S // 50, key, CLIENTS + number, TAKE, plan.wanted, done)


def steps_of(plan: Plan) -> Iterator[Step]:
    """Everything in the order in which it is asked."""
    for cycle in range(plan.cycles):
        yield from heapq.merge(*(cycle_of(plan, key, cycle) for key in range(plan.keys)), key=lambda one: one.asked_ns)
    yield from heapq.merge(*(last_takes(plan, key) for key in range(plan.keys)), key=lambda one: one.asked_ns)


def _record(plan: Plan, history: Path) -> int:
    """Record all steps in order of time; how many there are. A process whose answer is missing never comes back."""
    recorder = Recorder(history, 0, tuple(node.name for node in NODES), SEMAPHORE)
    processes: dict[tuple[int, int], int] = {}
    open_ones: list[tuple[int, int, Invocation, Completion]] = []
    count = taken = 0

    def answered_until(now_ns: int) -> None:
        while open_ones and open_ones[0][0] < now_ns:
            at_ns, number, op, done = heapq.heappop(open_ones)
            recorder.complete(number, op, done, at_ns=at_ns)

    for step in steps_of(plan):
        answered_until(step.asked_ns)
        place = step.key, step.client
        if place not in processes:
            processes[place], taken = taken, taken + 1
        op = Invocation(
            process=processes[place],
            client=step.client,
            f=step.f,
            key=step.key,
            deadline_ns=step.asked_ns + TIMEOUT_NS,
            argument=step.argument,
        )
        number, _ = recorder.invoke(op, step.asked_ns, pinned=False, at_ns=step.asked_ns)
        heapq.heappush(open_ones, (step.answered_ns, number, op, step.done))
        if step.done.type is Type.INFO:
            del processes[place]
        count += 1
    answered_until(plan.end_ns)
    recorder.close()
    return count


def write(plan: Plan, folder: Path, argv: tuple[str, ...]) -> int:
    """Write the history into a folder that does not exist; how many operations it has.

    Raises:
        ChaosError: it could not be written to its end.
        UsageError: the folder exists, or cannot be made.
    """
    with folder_in_progress(folder) as partial:
        count = _record(plan, partial / "history")
        write_events(partial / "history", plan.load_ns, plan.end_ns)
        takes = sum(f is TAKE for f, _ in CYCLE)
        write_run_of(
            partial,
            folder.name,
            argv,
            SEMAPHORE,
            workload=SEMAPHORE.name,
            checks=CHECKS,
            mix={TAKE.word: takes / SLOTS, GIVE.word: 1 - takes / SLOTS},
            seed=plan.seed,
            keys=plan.keys,
            rate=plan.keys * plan.cycles * SLOTS * NS_PER_S / plan.load_ns,
            clients=CLIENTS,
            workers=1,
            load_ns=plan.load_ns,
            promises=Promises(),
        )
    return count


class SemaphoreGenerator:
    """Run folders of semaphores whose permits are taken and given back."""

    planted = PLANTED
    options: tuple[str, ...] = ()

    def write(self, spec: HistorySpec, output: Path) -> str:
        """Write a run folder."""
        plan = plan_of(spec.ops, spec.keys, spec.seed, spec.anomalies)
        return f"{write(plan, output, spec.argv)} operations"


GENERATOR: Final = SemaphoreGenerator()
