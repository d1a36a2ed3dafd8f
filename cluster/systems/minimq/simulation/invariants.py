"""What must hold of minimq's cores after every step, seen from where all of them can be seen at once: a simulation.

Raft's election safety, leader completeness and log agreement (Ongaro and Ousterhout, "In Search of an Understandable
Consensus Algorithm", USENIX ATC 2014, figure 3). The same of brokers: one master per epoch, which has all that was
confirmed in earlier ones; one SyncStateSet per version, whose members hold all that was confirmed; and that what
brokers took for confirmed is the same everywhere. What depends on a broker's disk is looked at with
``broker.flush=sync`` alone. The module judges no run: a verdict comes from the history.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from cluster.systems.minimq.consensus.controller import Controller
from cluster.systems.minimq.replication.broker import Broker


class Invariants:
    """The invariants of one run."""

    def __init__(self) -> None:
        self._leaders: dict[int, str] = {}
        self._committed: list[tuple[Any, int]] = []
        """Entries from index 1 on, each with the term of whoever was seen first to have it committed."""
        self._masters: dict[tuple[str, int], str] = {}
        self._sets: dict[tuple[str, int], tuple[str, ...]] = {}
        self._confirmed: dict[str, list[tuple[Any, int]]] = {}
        """Of each group the records from position 0 on, likewise with epochs."""
        self._brokers: dict[str, Broker] = {}
        """The newest life of each broker that was looked at; it changes on."""
        self._looked: dict[str, tuple[object, int]] = {}
        self._last: dict[str, tuple[Any, ...]] = {}
        """What of each core an invariant speaks of, when it was looked at last."""

    def look(self, core: Broker | Controller) -> str | None:
        """After an event of a core: what does not hold, None if all does."""
        seen: tuple[Any, ...]
        if isinstance(core, Broker):
            replica = core.replica
            seen = core, core.role, core.epoch, replica.confirmed, replica.held > replica.log.end, core.sync_state_set
        else:
            raft = core.raft
            seen = core, raft.role, raft.term, raft.commit, *core.metadata.values()
        if self._last.get(core.name) == seen:  # what held then holds now
            return None
        self._last[core.name] = seen
        return self._of_broker(core) if isinstance(core, Broker) else self._of_controller(core)

    def _new(self, core: Broker | Controller, until: int) -> range:
        """The positions up to ``until`` that were not looked at in this life of the core."""
        life, begin = self._looked.get(core.name, (core, 0))
        begin = begin if life is core else 0
        self._looked[core.name] = core, until
        return range(begin, until)

    def _of_controller(self, core: Controller) -> str | None:
        raft = core.raft
        if raft.role == "leader":
            if raft.term not in self._leaders and (lacks := self._lacks_entry(core)) is not None:
                return f"{core.name} leads term {raft.term} without the entry {lacks + 1} that was committed"
            if self._leaders.setdefault(raft.term, core.name) != core.name:
                return f"{core.name} and {self._leaders[raft.term]} lead term {raft.term}"
        broken = None
        for index in self._new(core, min(raft.commit, raft.log.last_index)):
            (entry,) = raft.log.after(index, 1)
            if index == len(self._committed):
                self._committed.append((entry, raft.term))
            elif broken is None and self._committed[index][0] != entry:
                broken = f"{core.name} committed {entry} where another committed {self._committed[index][0]}"
        if broken is not None:
            return broken
        for name, metadata in core.metadata.items():
            group = metadata.group
            members = tuple(sorted(group.sync_state_set))
            if self._sets.setdefault((name, group.sss_epoch), members) != members:
                return f"{core.name} has {members} for version {group.sss_epoch} of the SyncStateSet of {name}"
        return None

    def _lacks_entry(self, core: Controller) -> int | None:
        """The first entry that was committed in an earlier term and that a controller's log does not have."""
        raft = core.raft
        own = raft.log.after(0, raft.log.last_index)
        return _first_lacking(self._committed, raft.term, lambda at: own[at] if at < len(own) else None)

    def _of_broker(self, core: Broker) -> str | None:
        self._brokers[core.name] = core
        own, replica = (core.group, core.epoch), core.replica
        if max(replica.held, replica.confirmed) > replica.log.end:
            return f"{core.name} counts records up to {max(replica.held, replica.confirmed)} and has {replica.log.end}"
        confirmed = self._confirmed.setdefault(core.group, [])
        if core.role == "master":
            if own not in self._masters and (lacks := self._lacks_record(core, confirmed)) is not None:
                return f"{core.name} is master of epoch {core.epoch} without the record {lacks} that was confirmed"
            if self._masters.setdefault(own, core.name) != core.name:
                return f"{core.name} and {self._masters[own]} are masters of {core.group} in epoch {core.epoch}"
        broken = None
        for position in self._new(core, replica.confirmed):
            record = replica.log.at(position)
            if position == len(confirmed):
                confirmed.append((record, core.epoch))
            elif broken is None and confirmed[position][0] != record:
                broken = f"{core.name} confirmed another record at {position} than a broker before it"
        if broken is not None:
            return broken
        return self._of_members(core, confirmed) if core.role == "master" else None

    @staticmethod
    def _lacks_record(core: Broker, confirmed: Sequence[tuple[Any, int]]) -> int | None:
        """The first record that was confirmed in an earlier epoch and that a master's log does not have."""
        log = core.replica.log
        if not core.replica.settings.sync_flush:
            return None
        return _first_lacking(confirmed, core.epoch, lambda at: log.at(at) if at < log.end else None)

    def _of_members(self, core: Broker, confirmed: Sequence[tuple[Any, int]]) -> str | None:
        """Whether all members of the SyncStateSet hold what was confirmed, by their master and those before it."""
        if not core.replica.settings.sync_flush:
            return None
        until = bisect_right(confirmed, core.epoch, key=itemgetter(1))
        for name in core.sync_state_set:
            member = self._brokers.get(name)
            if member is not None and member.replica.held < until:
                return f"{name}, in sync with {core.name}, holds {member.replica.held} of {until} confirmed records"
        return None


def _first_lacking(known: Sequence[tuple[Any, int]], number: int, own: Callable[[int], Any]) -> int | None:
    """The first place of what was known before the term or epoch ``number`` at which ``own`` has another or nothing."""
    places = (at for at, (one, seen_in) in enumerate(known) if seen_in < number and own(at) != one)
    return next(places, None)
