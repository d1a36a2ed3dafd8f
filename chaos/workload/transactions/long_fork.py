"""The workload ``long-fork``: keys that are written once, and groups of them that are read at one moment.

Clients of a space are in teams. A team has a group of keys for some while, each of which one client writes; everybody
reads groups that are being written. Two reads that each miss a write of the other are a long fork.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from chaos.basics.rand import stream
from chaos.core.op import Completion, Invocation
from chaos.models.transactions.words import CHANGES, MODEL, Do, F, Micro
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.transactions.register_groups import NEEDS, LastGroups, reads_of_group
from chaos.workload.transactions.transactions import TransactionLoad

TEAM: Final = 4
"""Keys of a group, and clients that write them at most."""
TRIES: Final = 1.5
"""So many writes are due of each client while its team has a group: the first of them is asked."""


class Teams:
    """Who writes what of how many groups: pure arithmetic.

    Args:
        clients: how many there are in all.
        spaces: how many key spaces.
    """

    def __init__(self, clients: int, spaces: int) -> None:
        self._spaces = spaces
        self.members = max(1, -(-clients // spaces))
        self.teams = -(-self.members // TEAM)

    def own(self, client: int, turn: int) -> tuple[int, int]:
        """The group that a client's team has, and the key in it that the client writes."""
        rank = client // self._spaces
        group = turn * self.teams + rank % self.teams
        return group, group * TEAM + rank // self.teams


class LongForkWorkload:
    """Keys that are written once each, and reads of groups of them; then every group is read once more."""

    name = "long-fork"
    help = "keys that are written once each, and reads of groups of them; then every group is read once more"
    model = MODEL
    mix: Mapping[F, float] = {F.REGISTER_TXN: 0.5, F.REGISTER_READ: 1.0}
    keys = 1
    needs = NEEDS
    checks = ("assumptions", "long-fork", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of both."""
        return TransactionLoad(spec, self.mix, _Rule(spec))

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every group is read once more."""
        return (LastGroups(spec, TEAM),)


class _Rule:
    """A client writes its key of a group once; reads are of this group or of one before it."""

    def __init__(self, spec: LoadSpec) -> None:
        self._teams = Teams(spec.clients, spec.keys)
        self._draws = stream(spec.seed, "group")
        self._wrote: dict[int, int] = {}
        self._first_is_written = spec.earlier.numbers > 0

    def micros(self, arrival: Arrival, written_per_s: float) -> Sequence[Micro]:
        teams = self._teams
        turn = arrival.turn(TRIES * teams.members, written_per_s)
        if arrival.f in CHANGES:
            group, key = teams.own(arrival.client, turn)
            new = arrival.client not in self._wrote
            if self._wrote.get(arrival.client) == group or (new and self._first_is_written):
                self._wrote[arrival.client] = group  # an earlier life of this client may have written it
                return ()
            self._wrote[arrival.client] = group
            return (Micro(Do.WRITE, key, 1),)
        earlier = self._draws.random() < 1 / 4
        group = max(0, turn - earlier) * teams.teams + self._draws.randrange(teams.teams)
        return reads_of_group(group, TEAM)

    def learn(self, op: Invocation, done: Completion) -> None:
        """No answer changes what is asked next."""
