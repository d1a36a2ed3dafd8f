"""A broker as follower: it fetches from the master of its epoch, cuts what differs, and says what it holds.

One fetch is outstanding at a time; a lost one is repeated after a time. An answer counts only if it is of this epoch
and of exactly the position where this log ends now, so late and repeated answers change nothing. Does not serve
clients.
"""

from typing import Final

from cluster.systems.minimq.protocol.broker_messages import Fetch, FetchAnswer, Held
from cluster.systems.minimq.replication import broker_rules
from cluster.systems.minimq.replication.replica_state import Replica
from cluster.systems.minimq.storage.commit_log import is_intact

FETCH: Final = "fetch"


class Follower:
    """The replica under one master in one epoch."""

    def __init__(self, replica: Replica, master: str) -> None:
        self._replica = replica
        self._master = master
        self._round = 0
        self._agreed = False
        self._told = 0
        self.fetch()

    def fetch(self) -> None:
        """Ask for what follows."""
        replica = self._replica
        self._told = replica.held
        body = Fetch(
            epoch=replica.epoch,
            end=replica.log.end,
            last_epoch=replica.log.last_epoch,
            held=replica.held,
            round=self._round,
            confirmed=replica.confirmed,
        )
        replica.send(self._master, body)
        replica.set_timer(FETCH, replica.settings.fetch_retry_ms)

    def on_answer(self, sender: str, answer: FetchAnswer) -> None:
        """Append, or cut, what the master says, and ask again."""
        replica = self._replica
        log = replica.log
        here = answer.end == log.end and answer.last_epoch == log.last_epoch
        if sender != self._master or not broker_rules.obeys(answer.epoch, replica.epoch) or not here:
            return
        self._round = max(self._round, answer.round)
        if answer.divergence is not None:
            replica.truncate(broker_rules.truncated_end(log.epochs, log.end, answer.divergence))
        else:
            self._agreed = True
            for record in broker_rules.batch_to_append(answer.records):
                if not is_intact(record):
                    break
                replica.append(record)
            replica.confirm(answer.confirmed)
        self.fetch()

    def tell_held(self) -> None:
        """Say what became durable since the last message, if the log is known to be the master's."""
        replica = self._replica
        if self._agreed and replica.held > self._told:
            self._told = replica.held
            replica.send(self._master, Held(epoch=replica.epoch, held=replica.held, round=self._round))
