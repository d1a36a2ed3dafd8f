"""What is to be generated: how many operations of which queue when, and where which anomaly is planted.

A queue's load repeats one cycle of slots, an operation each, so that every place follows from its number and any
piece of a history can be made without the pieces before it. The module draws the sites of the anomalies and refuses
what cannot be had: more of them than there are cycles, or one that never comes alone.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.errors import UsageError
from chaos.models.log.words import F
from chaos.plugins import did_you_mean

CYCLE: Final = (
    *(F.SEND,) * 4,
    F.POLL,
    *(F.SEND,) * 4,
    F.POLL,
    F.READ,
    *(F.SEND,) * 4,
    F.SLAVE_READ,
    F.POLL,
)
SLOTS: Final = len(CYCLE)
SENDS: Final = CYCLE.count(F.SEND)
MIX: Final = {f.word: CYCLE.count(f) / SENDS for f in dict.fromkeys(CYCLE)}
PASSES: Final = 2
ENOUGH: Final = 11
"""Cycles below which a history would show too little of some kind (SEMANTICS 12)."""

MAX_OPS: Final = 2_000_000_000
MAX_KEYS: Final = 100_000
MAX_SEED: Final = (1 << 63) - 1
WORKERS: Final = 4
PER_S: Final = 1_000
"""Operations a second, as long as the load then ends within its longest time."""

SHORTEST_NS: Final = 20 * NS_PER_S
LONGEST_NS: Final = 600 * NS_PER_S
ORIGIN_NS: Final = 1_000 * NS_PER_S
TIMEOUT_NS: Final = 3 * NS_PER_S
SETTLE_NS: Final = 8 * NS_PER_S
"""From the load to the final reads: every open operation's deadline, and five seconds of a stable leader."""

UNSEEN_PER_KEY: Final = 3
LOST: Final = "lost-write"
UNSEEN: Final = "unseen"
REORDERED: Final = "nonlinearizable-offset"
SENT_BACK: Final = "nonmonotonic-send"
PLANTED: Final = (
    LOST,
    UNSEEN,
    "duplicate",
    "phantom",
    "corrupt",
    "G1a",
    "inconsistent-offsets",
    REORDERED,
    SENT_BACK,
    "stale-tail",
    "nonmonotonic-poll",
    "poll-skip",
    "int-nonmonotonic-poll",
    "int-poll-skip",
)
"""The anomalies that can be asked for."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A history to be made.

    ``ops``: operations in all, the final reads among them. ``sites``: queue → cycles, ascending, and the anomaly
    that is planted there. ``unseen``: queue → how many of its first messages are gone before anybody reads them.
    """

    ops: int
    keys: int
    seed: int
    anomalies: dict[str, int]
    sites: dict[int, tuple[tuple[int, str], ...]]
    unseen: dict[int, int]

    @property
    def workers(self) -> int:
        """Workers; each has queues of its own."""
        return min(self.keys, WORKERS)

    def keys_of(self, worker: int) -> range:
        """The queues of a worker."""
        return range(worker, self.keys, self.workers)

    @property
    def load(self) -> int:
        """Operations without the final reads."""
        return self.ops - PASSES * self.keys

    def slots_of(self, key: int) -> int:
        """Operations of a queue's load."""
        return self.load // self.keys + (key < self.load % self.keys)

    def slots_of_worker(self, worker: int) -> int:
        """Operations of a worker's load."""
        longer = len(range(worker, self.load % self.keys, self.workers))
        return len(self.keys_of(worker)) * (self.load // self.keys) + longer

    @property
    def load_ns(self) -> int:
        """How long the load lasts."""
        return min(max(self.load * NS_PER_S // PER_S, SHORTEST_NS), LONGEST_NS)

    @property
    def step_ns(self) -> int:
        """From one operation of a queue to the next."""
        return self.load_ns // self.slots_of(0)

    @property
    def pass_ns(self) -> int:
        """How long one final read takes."""
        return NS_PER_S // 50 + self.slots_of(0) * 1_000

    @property
    def apart_ns(self) -> int:
        """From the end of the first final read to the second: two minutes where a loss is to be certain (20)."""
        return (121 if LOST in self.anomalies else 6) * NS_PER_S

    def pass_at(self, number: int, place: int) -> int:
        """When a final read begins, by the place of its queue among those of its worker."""
        stagger_ns = 10_000
        widest = self.keys * stagger_ns
        return (
            ORIGIN_NS + self.load_ns + SETTLE_NS + place * stagger_ns + number * (widest + self.pass_ns + self.apart_ns)
        )

    @property
    def end_ns(self) -> int:
        """When the last final read is over."""
        return self.pass_at(PASSES - 1, self.keys) + self.pass_ns + NS_PER_S


def parse_anomalies(texts: Iterable[str], planted: Sequence[str] = PLANTED) -> dict[str, int]:
    """``lost-write=3,stale-tail=1`` as names with counts; ``planted``: the names there are.

    Raises:
        UsageError: an unknown name, one given twice, or no count of at least 1.
    """
    out: dict[str, int] = {}
    for word in (word.strip() for text in texts for word in text.split(",")):
        name, _, count = word.partition("=")
        if name not in planted:
            raise UsageError(f"--anomaly {word}: no {name!r} can be planted{did_you_mean(name, planted)}")
        if not count.isdecimal() or int(count) < 1:
            raise UsageError(f"--anomaly {word}: say how many, as in {name}=3")
        if name in out:
            raise UsageError(f"--anomaly {word}: {name} is given twice")
        out[name] = int(count)
    return out


def plan_of(ops: int, keys: int, seed: int, anomalies: Mapping[str, int]) -> Plan:
    """Draw where the anomalies go.

    Args:
        ops: operations in all.
        keys: queues.
        seed: of every draw.
        anomalies: name → count, as ``parse_anomalies`` gives them.

    Raises:
        UsageError: too few operations for the queues or for the anomalies, or an anomaly that never comes alone.
    """
    # Every queue has a full cycle, and all together have enough of each kind of operation.
    least = keys * (SLOTS * -(-ENOUGH // keys) + PASSES)
    if ops < least:
        raise UsageError(f"--ops {ops}: too few for a verdict over --keys {keys}; take at least {least}")
    plan = Plan(ops=ops, keys=keys, seed=seed, anomalies=dict(anomalies), sites={}, unseen={})
    back, reordered = anomalies.get(SENT_BACK, 0), anomalies.get(REORDERED, 0)
    if back > reordered:
        raise UsageError(
            f"--anomaly {SENT_BACK}={back}: each is a {REORDERED} as well, since a process sends one after the other; "
            f"ask for {REORDERED}={back} or more beside it"
        )
    wanted = {name: count for name, count in anomalies.items() if name != UNSEEN} | {REORDERED: reordered - back}
    total = sum(wanted.values())
    cycles = plan.load // keys // SLOTS
    if total > keys * cycles:
        raise UsageError(f"--anomaly: {total} do not fit into {ops} operations, which hold {keys * cycles}; more --ops")
    if (unseen := anomalies.get(UNSEEN, 0)) > keys * UNSEEN_PER_KEY:
        raise UsageError(
            f"--anomaly {UNSEEN}={unseen}: only the first {UNSEEN_PER_KEY} messages of a queue can be; "
            f"take --keys {-(-unseen // UNSEEN_PER_KEY)} or more"
        )
    gone = {key: min(UNSEEN_PER_KEY, unseen - key * UNSEEN_PER_KEY) for key in range(-(-unseen // UNSEEN_PER_KEY))}
    if (lost := wanted.get(LOST, 0)) > (keys - len(gone)) * cycles:
        raise UsageError(
            f"--anomaly {LOST}={lost}: in a queue with {UNSEEN} messages no loss is certain, and {len(gone)} of "
            f"--keys {keys} have some; take more --keys"
        )
    return msgspec.structs.replace(plan, sites=_sites(plan, cycles, wanted, len(gone)), unseen=gone)


def _sites(plan: Plan, cycles: int, wanted: Mapping[str, int], gone: int) -> dict[int, tuple[tuple[int, str], ...]]:
    """Cycles for all anomalies, none twice; no loss in the first ``gone`` queues."""
    rng = random.Random(plan.seed)
    places = range(plan.keys * cycles)
    lost = rng.sample(places[gone * cycles :], wanted.get(LOST, 0))
    taken = set(lost)
    others = (place for place in rng.sample(places, sum(wanted.values())) if place not in taken)
    out: dict[int, list[tuple[int, str]]] = {}
    for name in PLANTED:
        for place in lost if name == LOST else (next(others) for _ in range(wanted.get(name, 0))):
            out.setdefault(place // cycles, []).append((place % cycles, name))
    return {key: tuple(sorted(own)) for key, own in out.items()}
