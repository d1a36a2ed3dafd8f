"""Writes made-up histories of transactions as Jepsen does: strictly serializable but for planted anomalies.

Ten clients take turns: in each round all invoke, all take effect one after the other, all are answered. A key is
written a number of times and then replaced by a new one, as in Jepsen's workloads, so lists stay short and a history of
any length is written in the memory of the keys that are in use.
"""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from chaos.core.errors import UsageError
from chaos.generate.generator import HistorySpec
from chaos.generate.kafka import CLIENTS, FAILED, LANDED, UNANSWERED
from chaos.generate.record_lines import RecordLines, describe_file, write_file
from chaos.generate.txn_stories import LONGEST, PLANTED, STORIES, Part, micros

WRITES: Final = 32
"""How often a key is written before another one takes its place."""
READS: Final = 0.5


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted.

    ``model``: list-append or rw-register. ``ops``: transactions in all. ``keys``: how many are in use at a time.
    ``txn_length``: micro-operations of a transaction at most.
    """

    model: str
    ops: int
    keys: int
    seed: int
    anomalies: Mapping[str, int]
    txn_length: int = 4

    @property
    def room(self) -> int:
        """Transactions of the load that may come before the last story begins."""
        return self.ops - sum(self.anomalies.values()) * LONGEST - CLIENTS


class _Asked(NamedTuple):
    """A micro-operation of the load. ``value``: what it brings; None for a read."""

    key: int
    value: int | None


class _Key:
    """A key in use. ``held``: what a read gives now, as text within a list's brackets; ``next``: the next value."""

    def __init__(self, number: int) -> None:
        self.number, self.held, self.next = number, "", 1


class _History:
    """The history as it grows."""

    def __init__(self, wish: Wish, lines: RecordLines) -> None:
        self._wish, self._lines, self._lists = wish, lines, wish.model == "list-append"
        self._draw = random.Random(wish.seed)
        self._keys: list[_Key] = []
        self._held: dict[int, _Key] = {}
        self._next_key = 0
        for _ in range(wish.keys):
            self._keys.append(self._fresh_key())
        self._processes = list(range(CLIENTS))
        self._next_process = CLIENTS
        between, nil = (" ", "nil") if lines.edn else (", ", "null")
        self._between, self._nil = between, nil
        self._read = "[:r {} {}]" if lines.edn else '["r", {}, {}]'
        word = "append" if self._lists else "w"
        self._write = f"[:{word} {{}} {{}}]" if lines.edn else f'["{word}", {{}}, {{}}]'

    def write(self) -> None:
        """All of it."""
        wish, lines = self._wish, self._lines
        names = [name for name, count in wish.anomalies.items() for _ in range(count)]
        self._draw.shuffle(names)
        places = sorted(self._draw.randrange(CLIENTS, wish.room) for _ in names)
        for name, place in zip(names, places, strict=True):
            while lines.begun < place:
                self._round(CLIENTS)
            self._plant(STORIES[wish.model][name])
        while (left := wish.ops - lines.begun) > 0:
            self._round(min(CLIENTS, left))

    def _fresh_key(self) -> _Key:
        self._next_key += 1
        key = self._held[self._next_key] = _Key(self._next_key)
        return key

    def _round(self, count: int) -> None:
        """A transaction of each of the first clients."""
        draw = self._draw
        turns = [(client, self._choice()) for client in draw.sample(range(CLIENTS), count)]
        for client, asked in turns:
            self._record("invoke", self._processes[client], self._asked(asked))
        answers = [(client, *self._effect(asked)) for client, asked in turns]
        draw.shuffle(answers)
        for client, kind, told in answers:
            self._record(kind, self._processes[client], told)
            if kind == "info":  # its process never comes back
                self._processes[client] = self._fresh_process()
        self._held = {key.number: key for key in self._keys}  # others are not asked for again

    def _choice(self) -> list[_Asked]:
        """What a client asks for next."""
        draw, found = self._draw, []
        for _ in range(draw.randint(1, self._wish.txn_length)):
            at = draw.randrange(len(self._keys))
            key = self._keys[at]
            if draw.random() < READS:
                found.append(_Asked(key.number, None))
                continue
            found.append(_Asked(key.number, key.next))
            key.next += 1
            if key.next > WRITES:
                self._keys[at] = self._fresh_key()
        return found

    def _effect(self, asked: Sequence[_Asked]) -> tuple[str, list[str]]:
        """How a transaction ends, and what its answer says."""
        fate = self._draw.random()
        if fate < FAILED:
            return "fail", self._asked(asked)
        if fate < UNANSWERED:
            if self._draw.random() < LANDED:
                self._done(asked)
            return "info", self._asked(asked)
        return "ok", self._done(asked)

    def _done(self, asked: Sequence[_Asked]) -> list[str]:
        """Do it; what is told of it."""
        told = []
        for number, value in asked:
            key = self._held[number]
            if value is None:
                told.append(self._read.format(number, self._shown(key.held)))
                continue
            key.held = f"{key.held}{self._between}{value}" if self._lists and key.held else str(value)
            told.append(self._write.format(number, value))
        return told

    def _shown(self, held: str) -> str:
        """What a read gives."""
        return f"[{held}]" if self._lists else held or self._nil

    def _asked(self, asked: Sequence[_Asked]) -> list[str]:
        return [
            self._read.format(key, self._nil) if value is None else self._write.format(key, value)
            for key, value in asked
        ]

    def _record(self, kind: str, process: int, told: Sequence[str]) -> None:
        self._lines.write(kind, process, "txn", self._between.join(told))

    def _fresh_process(self) -> int:
        self._next_process += 1
        return self._next_process - 1

    def _plant(self, story: Sequence[Part]) -> None:
        """A story, while everybody else waits; each of its transactions is of a process of its own."""
        keys: dict[str, int] = {}
        for part in story:
            for micro in micros(part):
                if micro.key not in keys:
                    keys[micro.key] = self._fresh_key().number
        processes = [self._fresh_process() for _ in story]
        ends = [(part.begin, "invoke", number) for number, part in enumerate(story)]
        ends += [(part.end, part.fate, number) for number, part in enumerate(story)]
        for _, kind, number in sorted(ends):
            self._record(kind, processes[number], self._told(story[number], keys, known=kind == "ok"))

    def _told(self, part: Part, keys: Mapping[str, int], *, known: bool) -> list[str]:
        """A part as a record says it. ``known``: whether it says what was read."""
        told = []
        for word, key, digits in micros(part):
            if word != "r":
                told.append(self._write.format(keys[key], digits))
            else:
                held = self._between.join(digits)
                told.append(self._read.format(keys[key], self._shown(held) if known else self._nil))
        return told


def write(wish: Wish, path: Path) -> int:
    """Write a history into a file that does not exist, .edn or .json by its name; how many bytes it has.

    Raises:
        ChaosError: it could not be written to its end.
        UsageError: as ``write_file``, or the transactions are too few for what is wanted.
    """
    if wish.room <= CLIENTS:
        raise UsageError(f"--ops {wish.ops}: too few for that; take at least {wish.ops + CLIENTS + 1 - wish.room}")
    return write_file(path, lambda out, notation: _History(wish, RecordLines(out, notation)).write())


class TransactionsGenerator:
    """Files as Jepsen's workload of that name writes them.

    Args:
        model: list-append or rw-register.
    """

    options = ("txn_length",)

    def __init__(self, model: str) -> None:
        self._model = model
        self.planted = PLANTED[model]

    def write(self, spec: HistorySpec, output: Path) -> str:
        """Write a file."""
        wish = Wish(
            model=self._model,
            ops=spec.ops,
            keys=spec.keys,
            seed=spec.seed,
            anomalies=spec.anomalies,
            **dict(spec.options),
        )
        return describe_file(spec.ops, write(wish, output))


LIST_APPEND: Final = TransactionsGenerator("list-append")
RW_REGISTER: Final = TransactionsGenerator("rw-register")
