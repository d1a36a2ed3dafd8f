"""Kafka-style histories that nobody ran, as Jepsen's Kafka workload writes them: valid but for planted anomalies.

Ten clients take turns: in each round all invoke, all take effect one after the other, all are answered. Every log has
one consumer among them, which polls on until it has everything, so a history of any length is written in the memory of
what was sent and not polled yet.
"""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from chaos.core.errors import UsageError
from chaos.generate.generator import HistorySpec
from chaos.generate.kafka_lines import Lines, Message, Mops, Poll, Send
from chaos.generate.kafka_stories import LONGEST, PLANTED, STORIES, UNSEEN
from chaos.generate.record_lines import RecordLines, describe_file, write_file

CLIENTS: Final = 10
MOST_POLLED: Final = 20
"""Messages of one log that a poll returns at most."""

POLLS: Final = 0.5
FAILED: Final = 0.001
UNANSWERED: Final = 0.003
LANDED: Final = 0.5
"""Of the sends without an answer, so many are in the log."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted.

    ``ops``: operations in all. ``keys``: logs. ``txn_length``: sends and polls of a transaction at most; 1: operations
    of one each, which are no transactions. ``sub_via``: how consumers get their logs.
    """

    ops: int
    keys: int
    seed: int
    anomalies: Mapping[str, int]
    txn_length: int = 1
    sub_via: Literal["assign", "subscribe"] = "assign"

    @property
    def last(self) -> int:
        """Operations behind the load: two of each client, and the sends that nobody polls."""
        return 2 * CLIENTS + self.anomalies.get(UNSEEN, 0)

    @property
    def room(self) -> int:
        """Operations of the load that may come before the last story begins; too few if below one round of each."""
        stories = sum(count for name, count in self.anomalies.items() if name != UNSEEN)
        return self.ops - self.last - stories * LONGEST - CLIENTS


class _Client:
    """One of those that take turns: its process, whether that is assigned its logs, and what it has yet to poll."""

    def __init__(self, process: int, keys: range) -> None:
        self.process, self.keys = process, keys
        self.assigned = False
        self.waiting: dict[int, list[Message]] = {}

    def take(self, keys: list[int], most: int | None) -> dict[int, list[Message]]:
        """The next messages of some logs."""
        out = {}
        for key in keys:
            messages = self.waiting.pop(key)
            out[key] = messages[:most]
            if most is not None and len(messages) > most:
                self.waiting[key] = messages[most:]
        return out


class _History:
    """The history as it grows; the ``Stage`` of its stories."""

    def __init__(self, wish: Wish, lines: Lines) -> None:
        self._wish, self._lines = wish, lines
        self._draw = random.Random(wish.seed)
        self._clients = [_Client(i, range(i, wish.keys, CLIENTS)) for i in range(CLIENTS)]
        self._tail = [0] * wish.keys
        self._next_value = [0] * wish.keys
        self._processes = CLIENTS

    def write(self) -> None:
        """All of it."""
        wish, lines = self._wish, self._lines
        names = [name for name in STORIES for _ in range(wish.anomalies.get(name, 0))]
        self._draw.shuffle(names)
        places = sorted(self._draw.randrange(CLIENTS, wish.room) for _ in names)
        for name, place in zip(names, places, strict=True):
            while lines.begun < place:
                self._round(CLIENTS)
            self._plant(name)
        while (left := wish.ops - wish.last - lines.begun) > 0:
            self._round(min(CLIENTS, left))
        for client in self._clients:
            self._assign(client, client.keys)  # again, or at last if its process is a new one
            if client.waiting:
                self._do(client.process, "poll", [Poll(client.take(list(client.waiting), None))])
            else:  # an assignment more, so that all operations are as many as was asked for
                self._assign(client, client.keys)
        for number in range(wish.anomalies.get(UNSEEN, 0)):
            key = number % wish.keys
            self.send(key, self.offsets(key, 1)[0], self.value(key))

    # The load

    def _round(self, count: int) -> None:
        """An operation of each of the first clients."""
        turns = []
        for client in self._draw.sample(self._clients, count):
            if not client.assigned:
                self._assign(client, client.keys)
                continue
            f, mops = self._choice(client)
            turns.append((client, f, mops))
            self._lines.transact("invoke", client.process, f, mops)
        answers = [(client, f, *self._effect(client, mops)) for client, f, mops in turns]
        self._draw.shuffle(answers)
        for client, f, kind, mops in answers:
            self._lines.transact(kind, client.process, f, mops)
            if kind == "info":  # its process never comes back
                client.process, client.assigned = self._fresh(), False

    def _choice(self, client: _Client) -> tuple[str, Mops]:
        """What a client asks for next. It polls only what has something for it: an empty poll would say a lot."""
        draw, length = self._draw, self._draw.randint(1, self._wish.txn_length)
        mops: list[Send | Poll] = []
        if client.waiting and draw.random() < POLLS:
            mops.append(Poll())
        while len(mops) < length:
            key = draw.randrange(self._wish.keys)
            mops.append(Send(key, self.value(key)))
        draw.shuffle(mops)
        if self._wish.txn_length > 1:
            return "txn", mops
        return ("poll" if isinstance(mops[0], Poll) else "send"), mops

    def _effect(self, client: _Client, mops: Mops) -> tuple[str, Mops]:
        """How an operation ends, and what its answer says."""
        fate = 1.0 if any(isinstance(mop, Poll) for mop in mops) else self._draw.random()
        if fate < FAILED:
            return "fail", mops
        if fate < UNANSWERED:
            if self._draw.random() < LANDED:
                self._append(mops)
            return "info", mops
        polled = Poll(client.take(list(client.waiting), MOST_POLLED)) if fate == 1.0 else None
        sent = iter(self._append([mop for mop in mops if isinstance(mop, Send)]))
        return "ok", [polled if polled is not None and isinstance(mop, Poll) else next(sent) for mop in mops]

    def _append(self, mops: Mops) -> list[Send]:
        """Put messages into their logs; a transaction's end takes an offset of each log as well, as in Kafka."""
        sends = [mop for mop in mops if isinstance(mop, Send)]
        out = []
        for send in sends:
            offset = self.offsets(send.key, 1)[0]
            consumer = self._clients[send.key % CLIENTS]
            consumer.waiting.setdefault(send.key, []).append((offset, send.value))
            out.append(Send(send.key, send.value, offset))
        if self._wish.txn_length > 1:
            for key in {send.key for send in sends}:
                self._tail[key] += 1
        return out

    def _assign(self, client: _Client, keys: range | list[int]) -> None:
        self._get(client.process, keys)
        client.assigned = True

    def _get(self, process: int, keys: range | list[int]) -> None:
        for kind in ("invoke", "ok"):
            self._lines.assign(kind, process, self._wish.sub_via, keys)

    def _do(self, process: int, f: str, mops: Mops, kind: str = "ok") -> None:
        """One operation while nobody else has one under way."""
        self._lines.transact("invoke", process, f, [_asked(mop) for mop in mops])
        self._lines.transact(kind, process, f, mops)

    def _fresh(self) -> int:
        self._processes += 1
        return self._processes - 1

    # The stories

    def _plant(self, name: str) -> None:
        key = self._draw.randrange(self._wish.keys)
        consumer = self._clients[key % CLIENTS]
        if not consumer.assigned:
            self._assign(consumer, consumer.keys)
        if key in consumer.waiting:
            self._do(consumer.process, "poll", [Poll(consumer.take([key], None))])
        self._assign(consumer, [one for one in consumer.keys if one != key])
        STORIES[name](self, key)
        self._assign(consumer, consumer.keys)

    def send(self, key: int, offset: int | None, value: int, process: int | None = None, kind: str = "ok") -> int:
        """As of ``Stage``."""
        process = self._fresh() if process is None else process
        self._do(process, "send", [Send(key, value, offset)], kind)
        return process

    def poll(self, key: int, *polls: list[Message], kind: str = "ok") -> None:
        """As of ``Stage``."""
        process = self._fresh()
        self._get(process, [key])
        for messages in polls:
            self._do(process, "poll", [Poll({key: messages})], kind)

    def run_at_once(self, *transactions: tuple[str, str, Mops]) -> None:
        """As of ``Stage``."""
        processes = [self._fresh() for _ in transactions]
        for process, (_, f, mops) in zip(processes, transactions, strict=True):
            self._lines.transact("invoke", process, f, [_asked(mop) for mop in mops])
        for process, (kind, f, mops) in zip(processes, transactions, strict=True):
            self._lines.transact(kind, process, f, mops)

    def value(self, key: int) -> int:
        """As of ``Stage``."""
        self._next_value[key] += 1
        return self._next_value[key] - 1

    def offsets(self, key: int, count: int) -> range:
        """As of ``Stage``."""
        self._tail[key] += count
        return range(self._tail[key] - count, self._tail[key])


def _asked(mop: Send | Poll) -> Send | Poll:
    """A micro-operation as its invocation says it."""
    return Send(mop.key, mop.value) if isinstance(mop, Send) else Poll()


def write(wish: Wish, path: Path) -> int:
    """Write a history into a file that does not exist, .edn or .json by its name; how many bytes it has.

    Raises:
        ChaosError: it could not be written to its end.
        UsageError: as ``write_file``, or the operations are too few for what is wanted.
    """
    if wish.room <= 2 * CLIENTS:
        raise UsageError(f"--ops {wish.ops}: too few for that; take at least {wish.ops + 2 * CLIENTS + 1 - wish.room}")
    return write_file(path, lambda out, notation: _History(wish, Lines(RecordLines(out, notation))).write())


class KafkaGenerator:
    """Files as Jepsen's workload kafka writes them."""

    planted = PLANTED
    options = ("txn_length", "sub_via")

    def write(self, spec: HistorySpec, output: Path) -> str:
        """Write a file."""
        wish = Wish(ops=spec.ops, keys=spec.keys, seed=spec.seed, anomalies=spec.anomalies, **dict(spec.options))
        return describe_file(spec.ops, write(wish, output))


GENERATOR: Final = KafkaGenerator()
