"""Kafka-style histories as text, line by line: EDN as Jepsen writes it, or its JSON twin.

The module knows notation and numbers records; it refuses to know what a history means.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from chaos.core.errors import UsageError

Message = tuple[int, int]
"""Offset and value."""

_APART_NS: Final = 50_000


class Send(msgspec.Struct, frozen=True):
    """One message; ``offset``: None where nobody was told of it."""

    key: int
    value: int
    offset: int | None = None


class Poll(msgspec.Struct, frozen=True):
    """What a poll returned, by key; None where it was only asked for."""

    messages: Mapping[int, Sequence[Message]] | None = None


Mops = Sequence[Send | Poll]


def _edn(mop: Send | Poll) -> str:
    if isinstance(mop, Send):
        return f"[:send {mop.key} {mop.value if mop.offset is None else f'[{mop.offset} {mop.value}]'}]"
    if mop.messages is None:
        return "[:poll]"
    keys = (
        f"{key} [{' '.join(f'[{offset} {value}]' for offset, value in messages)}]"
        for key, messages in mop.messages.items()
    )
    return f"[:poll {{{', '.join(keys)}}}]"


def _json(mop: Send | Poll) -> str:
    if isinstance(mop, Send):
        return f'["send", {mop.key}, {mop.value if mop.offset is None else f"[{mop.offset}, {mop.value}]"}]'
    if mop.messages is None:
        return '["poll"]'
    keys = (
        f'"{key}": [{", ".join(f"[{offset}, {value}]" for offset, value in messages)}]'
        for key, messages in mop.messages.items()
    )
    return f'["poll", {{{", ".join(keys)}}}]'


class Lines:
    """Writes records. ``begun`` counts the invocations so far.

    Args:
        out: takes a line, its end included.
        notation: ``edn`` or ``json``.
    """

    def __init__(self, out: Callable[[str], object], notation: str) -> None:
        self._out, self._edn = out, notation == "edn"
        self._index = 0
        self.begun = 0

    def transact(self, kind: str, process: int, f: str, mops: Mops) -> None:
        """A record of sends and polls. ``kind``: invoke, ok, fail or info; ``f``: send, poll or txn."""
        one, between = (_edn, " ") if self._edn else (_json, ", ")
        self._write(kind, process, f, between.join(one(mop) for mop in mops))

    def assign(self, kind: str, process: int, f: str, keys: Iterable[int]) -> None:
        """A record of an assignment or a subscription."""
        self._write(kind, process, f, (" " if self._edn else ", ").join(map(str, keys)))

    def _write(self, kind: str, process: int, f: str, value: str) -> None:
        index = self._index
        self._index += 1
        self.begun += kind == "invoke"
        if self._edn:
            self._out(
                f"{{:index {index}, :time {index * _APART_NS}, :type :{kind}, :process {process}, :f :{f},"
                f" :value [{value}]}}\n"
            )
        else:
            self._out(
                f'{{"index": {index}, "time": {index * _APART_NS}, "type": "{kind}", "process": {process}, "f": "{f}",'
                f' "value": [{value}]}}\n'
            )


def notation_of(name: str) -> str:
    """The notation that a file's name asks for.

    Raises:
        UsageError: it asks for none.
    """
    _, _, ending = name.rpartition(".")
    if ending not in ("edn", "json"):
        raise UsageError(f"--output {name}: a Kafka-style history is a file that ends in .edn or .json")
    return ending
