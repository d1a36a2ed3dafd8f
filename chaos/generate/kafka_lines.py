"""Kafka-style histories as text, line by line: EDN as Jepsen writes it, or its JSON twin.

Nothing here knows what a history means.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from chaos.generate.record_lines import RecordLines

Message = tuple[int, int]
"""Offset and value."""


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
    """Writes records of sends, polls and assignments."""

    def __init__(self, records: RecordLines) -> None:
        self._records = records

    @property
    def begun(self) -> int:
        """How many invocations there are so far."""
        return self._records.begun

    def transact(self, kind: str, process: int, f: str, mops: Mops) -> None:
        """A record of sends and polls. ``kind``: invoke, ok, fail or info; ``f``: send, poll or txn."""
        one, between = (_edn, " ") if self._records.edn else (_json, ", ")
        self._records.write(kind, process, f, between.join(one(mop) for mop in mops))

    def assign(self, kind: str, process: int, f: str, keys: Iterable[int]) -> None:
        """A record of an assignment or a subscription."""
        self._records.write(kind, process, f, (" " if self._records.edn else ", ").join(map(str, keys)))
