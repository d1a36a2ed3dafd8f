"""Popped messages: who held which one from when to when, as far as a history can know it (SEMANTICS 20).

A *delivery* is one message in the answer to one pop. Its holder has it from some moment of the pop on for the invisible
time, or longer if it said so in time; of either end only bounds are known, and they are kept apart: what is certain at
the earliest, and what must be over at the latest. Worked out once per shard with sorts and gathers.
"""

from functools import cached_property
from typing import Final

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.models.log.words import F
from chaos.storage.history import NEVER_NS
from checkers.history.check_input import QueueShard
from checkers.history.columns import Ints, Mask

NOBODY: Final = -1
_SHIFT: Final = 40
PERHAPS: Final = (int(Type.OK), int(Type.INFO))
"""Outcomes of what took effect or may have."""


def latest_before(group: Ints, time_ns: Ints, asked: Ints, until_ns: Ints) -> Ints:
    """For each pair of ``asked`` and ``until_ns``: the row of that group that was latest by then, else -1."""
    if not len(group) or not len(asked):
        return np.full(len(asked), NOBODY, dtype=np.int64)
    moments = np.unique(np.concatenate((time_ns, until_ns)))
    _, dense = np.unique(np.concatenate((group, asked)), return_inverse=True)
    own, wanted = dense[: len(group)], dense[len(group) :]
    place = own * len(moments) + np.searchsorted(moments, time_ns)
    order = np.argsort(place, kind="stable")
    at = np.searchsorted(place[order], wanted * len(moments) + np.searchsorted(moments, until_ns), side="right") - 1
    row = order[np.maximum(at, 0)]
    return np.where((at >= 0) & (own[row] == wanted), row, NOBODY)


class Leases:
    """The deliveries of one queue, and what their holders said of them.

    Columns of deliveries: ``op`` (the pop), ``vid`` (-1: nobody sent it here, or damaged), ``damaged``, ``place``
    (the offset it was given from, -1 unknown), ``invoke``, ``complete``, ``node``, ``client``. ``acks`` and
    ``extends`` are ops, with the vid and the delivery that they are about in ``ack_vid``, ``ack_of`` and so on.
    """

    def __init__(self, shard: QueueShard, spread_ns: int = 0) -> None:
        """``spread_ns``: so much the clocks differ by which brokers begin and end a holder's time."""
        self._spread_ns = spread_ns
        self._log = log = shard.log
        own, reads = shard.operations, shard.reads
        self.pops: Ints = np.flatnonzero(log.f == F.POP)
        rows = np.flatnonzero(reads["f"] == F.POP)
        self.op = self._ops_of(shard, rows)
        writer = reads["writer"][rows].astype(np.int64)
        self.writer, self.sequence = writer, reads["sequence"][rows]
        self.vid = log.vids(writer, self.sequence)
        self.damaged: Mask = writer < 0
        self.place: Ints = reads["offset"][rows]
        self.invoke, self.complete = log.invoke[self.op], log.complete[self.op]
        self.node = log.node[self.op].astype(np.int64)
        self.client = own["client"].astype(np.int64)[self.op]
        self._span: Ints = own["argument"]
        self.acks, self.ack_vid, self.ack_of = self._said(shard, F.ACK)
        self.extends, self.extend_vid, self.extend_of = self._said(shard, F.EXTEND)

    def _ops_of(self, shard: QueueShard, rows: Ints) -> Ints:
        """The pops that returned these read rows."""
        own, reads = shard.operations, shard.reads
        names = (own["worker"][self.pops].astype(np.int64) << _SHIFT) | own["op"][self.pops]
        wanted = (reads["worker"][rows].astype(np.int64) << _SHIFT) | reads["op"][rows]
        order = np.argsort(names)
        at = np.searchsorted(names[order], wanted)
        if len(wanted) and (at.max() >= len(names) or not np.array_equal(names[order][at], wanted)):
            raise HistoryError("a popped record belongs to no pop; the tables were altered")
        return self.pops[order][at] if len(wanted) else np.zeros(0, dtype=np.int64)

    def _said(self, shard: QueueShard, f: F) -> tuple[Ints, Ints, Ints]:
        """The ops of a kind, the vids they name, and the delivery to the same client that each is about."""
        log, own = self._log, shard.operations
        ops = np.flatnonzero(log.f == f)
        vid = log.vids(own["writer"][ops].astype(np.int64), own["sequence"][ops])
        clients = int(own["client"].max(initial=0)) + 2
        client = own["client"].astype(np.int64)[ops]
        of = latest_before(self.vid * clients + self.client, self.complete, vid * clients + client, log.invoke[ops])
        return ops, vid, np.where(vid >= 0, of, NOBODY)

    @cached_property
    def _until(self) -> tuple[Ints, Ints, Mask]:
        """Per delivery the earliest and the latest end of its holder's time; per value whether a doubt is left.

        A time is kept longer for certain by an extend that was answered ok within the time; one that may have come
        late leaves a doubt about everything that happens to its message later.
        """
        log, span = self._log, self._span
        spread = self._spread_ns
        first = self.invoke + span[self.op] - spread
        last = self.complete + span[self.op] + spread
        doubt = np.zeros(log.values + 1, dtype=np.bool_)
        tried = (self.extend_of >= 0) & np.isin(log.type[self.extends], PERHAPS)
        ops, of = self.extends[tried], self.extend_of[tried]
        in_time = (log.type[ops] == Type.OK) & (log.complete[ops] < first[of])
        doubt[self.extend_vid[tried][~in_time]] = True
        said = np.bincount(of, minlength=len(first))
        once = in_time & (said[of] == 1)
        least = first.copy()
        np.minimum.at(least, of, log.invoke[ops] + span[ops] - spread)
        least[of[once]] = log.invoke[ops[once]] + span[ops[once]] - spread
        answered = np.where(log.complete[ops] == NEVER_NS, log.deadline[ops], log.complete[ops])
        until = np.maximum(answered, log.deadline[ops] * (log.type[ops] == Type.INFO)) + span[ops]
        np.maximum.at(last, of, until + spread)
        return least, last, doubt

    @property
    def earliest(self) -> Ints:
        """Per delivery: until then its holder has it for certain."""
        return self._until[0]

    @property
    def latest(self) -> Ints:
        """Per delivery: from then on its holder has it no more, for certain."""
        return self._until[1]

    @property
    def doubtful(self) -> Mask:
        """Per vid: it may have been kept longer after its time was over."""
        return self._until[2]

    @cached_property
    def acked_ns(self) -> Ints:
        """Per vid: when the first ack that was certainly in time was answered ok, NEVER_NS if none was."""
        log = self._log
        out = np.full(log.values + 1, NEVER_NS, dtype=np.int64)
        good = (self.ack_of >= 0) & (log.type[self.acks] == Type.OK)
        good[good] = log.complete[self.acks[good]] < self.earliest[self.ack_of[good]]
        np.minimum.at(out, self.ack_vid[good], log.complete[self.acks[good]])
        return out

    @cached_property
    def perhaps_acked(self) -> Mask:
        """Per vid: some ack of it took effect or may have, whenever it came."""
        out = np.zeros(self._log.values + 1, dtype=np.bool_)
        out[self.ack_vid[(self.ack_vid >= 0) & np.isin(self._log.type[self.acks], PERHAPS)]] = True
        return out

    @cached_property
    def given(self) -> Mask:
        """Per vid: some pop returned it."""
        out = np.zeros(self._log.values + 1, dtype=np.bool_)
        out[self.vid[self.vid >= 0]] = True
        return out

    @cached_property
    def over_ns(self) -> Ints:
        """Per vid: when nobody has it any more for certain, 0 if nobody ever had."""
        out = np.zeros(self._log.values + 1, dtype=np.int64)
        known = self.vid >= 0
        np.maximum.at(out, self.vid[known], self.latest[known])
        return out

    @cached_property
    def unheard_ns(self) -> int:
        """When what a pop without an answer may have taken is nobody's any more, 0 without such a pop."""
        log = self._log
        open_pops = self.pops[log.type[self.pops] == Type.INFO]
        ended = np.where(log.complete[open_pops] == NEVER_NS, 0, log.complete[open_pops])
        if not len(open_pops):
            return 0
        return int((np.maximum(ended, log.deadline[open_pops]) + self._span[open_pops]).max()) + self._spread_ns

    def redeliveries(self) -> tuple[Ints, Ints]:
        """Deliveries of a message that was given before, and the one before, by invocation."""
        known = np.flatnonzero(self.vid >= 0)
        order = known[np.lexsort((self.complete[known], self.invoke[known], self.vid[known]))]
        same = self.vid[order][1:] == self.vid[order][:-1]
        return order[1:][same], order[:-1][same]
