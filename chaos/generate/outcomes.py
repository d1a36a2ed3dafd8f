"""What became of each send of a piece of one queue, and what the log holds of them, anomalies included.

A *piece* is some whole cycles of a queue (the last one may be cut off). Its sends and records are known from the plan,
the queue and the number of the piece alone, so that the final reads, which return every record again, are made again
instead of kept. Times and reads are made by ``chaos.generate.rows``.
"""

from bisect import bisect_left
from operator import itemgetter
from typing import Final

import numpy as np
import numpy.typing as npt

from chaos.core.op import Type
from chaos.generate.plan import LOST, REORDERED, SENDS, SENT_BACK, Plan
from chaos.models.log.words import F

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

PIECE: Final = 1 << 15
"""Cycles of a piece: what one process holds at a time."""

WRITERS: Final = 4
"""Writers of a queue."""

FAILED: Final = 0.001
GONE: Final = 0.002
UNANSWERED: Final = 0.003
SWAPPED: Final = 0.2
_FATES: Final = 0


def draws(plan: Plan, key: int, piece: int, what: int) -> np.random.Generator:
    """The random numbers of one thing about one piece: the same in whatever order pieces are made."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence([plan.seed, key, piece, what])))


def sites_of(plan: Plan, key: int, piece: int) -> list[tuple[int, str]]:
    """The cycles of a piece, counted from its first, at which something is planted, and what."""
    begin = piece * PIECE
    own = plan.sites.get(key, ())
    low, high = (bisect_left(own, cycle, key=itemgetter(0)) for cycle in (begin, begin + PIECE))
    return [(cycle - begin, name) for cycle, name in own[low:high]]


class Fates:
    """The sends of one piece and the records that they left.

    Per send: ``f`` (send or schedule), ``type``, ``answered`` (the offset acknowledged, -1: none), ``writer`` and
    ``sequence``. ``swapped``: first sends of pairs that were given offsets in the other order. Per record, by offset
    from ``first``: ``record_writer`` (-1: damaged) and ``record_sequence``. ``before``: how many records the first n
    sends left, for n from 0.

    Args:
        plan: what is wanted.
        key: the queue.
        piece: number of the piece in its queue.
        count: how many sends it has.
        first: the offset of its first record.
    """

    def __init__(self, plan: Plan, key: int, piece: int, count: int, first: int) -> None:
        self.first = first
        rng = draws(plan, key, piece, _FATES)
        fate = rng.random(count, dtype=np.float32)
        swap = rng.random(count // 2, dtype=np.float32) < SWAPPED
        sites = sites_of(plan, key, piece)
        # Nothing else happens where an anomaly is, so that it is alone.
        quiet = [cycle for cycle, _ in sites] + ([0] if piece == 0 and key in plan.unseen else [])
        for cycle in quiet:
            fate[cycle * SENDS : (cycle + 1) * SENDS] = 1.0
            swap[cycle * SENDS // 2 : (cycle + 1) * SENDS // 2] = False
        self.f: npt.NDArray[np.int8] = np.full(count, F.SEND, dtype=np.int8)
        self.type: npt.NDArray[np.int8] = np.full(count, Type.OK, dtype=np.int8)
        self.type[fate < UNANSWERED] = Type.INFO
        self.type[fate < FAILED] = Type.FAIL
        self.lands: Mask = fate >= GONE
        pairs = np.flatnonzero(swap & (fate[0 : count - 1 : 2] >= UNANSWERED) & (fate[1::2] >= UNANSWERED)) * 2
        number = np.arange(piece * PIECE * SENDS, piece * PIECE * SENDS + count, dtype=np.int64)
        self.writer: Ints = key * WRITERS + number % WRITERS
        self.sequence: Ints = number // WRITERS
        source = np.arange(count)
        for cycle, name in sites:
            self._plant(name, cycle * SENDS, source)
        pairs = np.concatenate((pairs, [at * SENDS + 4 for at, name in sites if name in (REORDERED, SENT_BACK)]))
        self.swapped: Ints = np.sort(pairs).astype(np.int64)
        self.before: Ints = np.concatenate(([0], np.cumsum(self.lands)))
        self.offset: Ints = first + self.before[:-1]
        self.offset[self.swapped] += 1
        self.offset[self.swapped + 1] -= 1
        self.answered: Ints = np.where((self.type == Type.OK) & (self.f == F.SEND), self.offset, -1)
        self._records(source)
        for cycle, name in sites:
            self._spoil(plan, name, cycle * SENDS + 6)

    def _plant(self, name: str, begin: int, source: Ints) -> None:
        """Change what became of sends of a cycle; ``source``: whose value a send's record holds."""
        six = begin + 6
        if name == LOST:  # delayed: the acknowledgement names no offset, so no read can pass over one
            self.f[six], self.lands[six] = F.SCHEDULE, False
        elif name == "inconsistent-offsets":  # two without an answer share one offset; rows shows the other to a poll
            self.type[six : six + 2], self.lands[six] = Type.INFO, False
        elif name == "corrupt":
            self.type[six] = Type.INFO
        elif name in ("G1a", "duplicate", "phantom"):
            self.type[six] = Type.FAIL
            source[six] -= name == "duplicate"

    def _records(self, source: Ints) -> None:
        landed = np.flatnonzero(self.lands)
        sends = np.empty(len(landed), dtype=np.int64)
        sends[self.offset[landed] - self.first] = source[landed]
        self.record_writer: Ints = self.writer[sends]
        self.record_sequence: Ints = self.sequence[sends]

    def _spoil(self, plan: Plan, name: str, send: int) -> None:
        """Change the content of a send's record."""
        at = int(self.offset[send]) - self.first
        if name == "phantom":
            self.record_writer[at] = plan.keys * WRITERS  # behind all writers: nobody
        elif name == "corrupt":
            self.record_writer[at] = self.record_sequence[at] = -1
