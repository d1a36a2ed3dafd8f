"""What must hold of minimq's cores after every step, seen from where all of them can be seen at once: a simulation.

Raft's election safety and log agreement (Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm",
USENIX ATC 2014, figure 3), one master per epoch, one SyncStateSet per version, and that what brokers took for confirmed
is the same everywhere. The module judges no run: a verdict comes from the history.
"""

from typing import Any

from cluster.systems.minimq.consensus.controller import Controller
from cluster.systems.minimq.replication.broker import Broker


class Invariants:
    """The invariants of one run."""

    def __init__(self) -> None:
        self._leaders: dict[int, str] = {}
        self._committed: dict[int, Any] = {}
        self._masters: dict[tuple[str, int], str] = {}
        self._sets: dict[tuple[str, int], tuple[str, ...]] = {}
        self._confirmed: dict[tuple[str, int], Any] = {}
        self._looked: dict[str, tuple[object, int]] = {}
        self._last: dict[str, tuple[Any, ...]] = {}
        """What of each core an invariant speaks of, when it was looked at last."""

    def look(self, core: Broker | Controller) -> str | None:
        """After an event of a core: what does not hold, None if all does."""
        seen: tuple[Any, ...]
        if isinstance(core, Broker):
            seen = core, core.role, core.epoch, core.replica.confirmed
        else:
            seen = core, core.raft.role, core.raft.term, core.raft.commit, *core.metadata.values()
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
        if raft.role == "leader" and self._leaders.setdefault(raft.term, core.name) != core.name:
            return f"{core.name} and {self._leaders[raft.term]} lead term {raft.term}"
        for index in self._new(core, raft.commit):
            (entry,) = raft.log.after(index, 1)
            if self._committed.setdefault(index, entry) != entry:
                return f"{core.name} committed {entry} where another committed {self._committed[index]}"
        for name, metadata in core.metadata.items():
            group = metadata.group
            members = tuple(sorted(group.sync_state_set))
            if self._sets.setdefault((name, group.sss_epoch), members) != members:
                return f"{core.name} has {members} for version {group.sss_epoch} of the SyncStateSet of {name}"
        return None

    def _of_broker(self, core: Broker) -> str | None:
        own = (core.group, core.epoch)
        if core.role == "master" and self._masters.setdefault(own, core.name) != core.name:
            return f"{core.name} and {self._masters[own]} are masters of {core.group} in epoch {core.epoch}"
        replica = core.replica
        for position in self._new(core, replica.confirmed):
            record = replica.log.at(position)
            if self._confirmed.setdefault((core.group, position), record) != record:
                return f"{core.name} confirmed another record at {position} than a broker before it"
        return None
